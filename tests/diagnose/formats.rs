//! Layouts in which monitors, runtimes and programs print memory over time, each filled with readings of several courses.
//!
//! `formats.txt` has a layout for each `=== NAME`, with the lines of a reading below `--- row`. Behind a bar stands why a
//! rise is not found. `{m.1}` is an amount in MiB with one decimal; `b`, `k`, `g` and `mb` are bytes, KiB, GiB and 10^6 bytes,
//! with `c` for digits in groups and `e` for an exponent, with `free` for what is left of 4 GiB, and with `+` for a quarter
//! more.

use plimsoll::diagnose::Verdict;

use super::support::findings;

const READINGS: usize = 12;
const WHOLE: f64 = 4096.0;
const MIB: f64 = 1_048_576.0;

struct Layout {
    name: &'static str,
    found: bool,
    head: Vec<&'static str>,
    row: Vec<&'static str>,
}

fn layouts() -> Vec<Layout> {
    let mut found: Vec<Layout> = Vec::new();
    let mut below = false;
    for line in include_str!("formats.txt").lines() {
        if let Some(title) = line.strip_prefix("=== ") {
            let (name, why) = title.split_once(" | ").map_or((title, None), |(name, why)| (name, Some(why)));
            found.push(Layout { name, found: why.is_none(), head: Vec::new(), row: Vec::new() });
            below = false;
        } else if line == "--- row" {
            below = true;
        } else if let Some(layout) = found.last_mut() {
            if below { layout.row.push(line) } else { layout.head.push(line) }
        }
    }
    found
}

impl Layout {
    /// The text with these readings, in MiB.
    fn filled(&self, readings: &[f64]) -> String {
        // Less than a gibibyte on a device is what any program takes.
        let device = ["smi", "nvidia", "gpustat", "dcgm", "fairseq", "axolotl"];
        let times = if device.iter().any(|name| self.name.contains(name)) { 4.0 } else { 1.0 };
        let mut lines: Vec<String> = self.head.iter().map(|line| fill(line, readings[0], 0)).collect();
        for (at, reading) in readings.iter().enumerate() {
            lines.extend(self.row.iter().map(|line| fill(line, times * reading, at)));
        }
        lines.join("\n") + "\n"
    }
}

fn fill(line: &str, mib: f64, at: usize) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once('{') {
        out.push_str(before);
        let known = behind.split_once('}').and_then(|(name, behind)| Some((value(name, mib, at)?, behind)));
        match known {
            Some((value, behind)) => {
                out.push_str(&value);
                rest = behind;
            }
            None => {
                out.push('{');
                rest = behind;
            }
        }
    }
    out + rest
}

fn value(name: &str, mib: f64, at: usize) -> Option<String> {
    let (name, mib) = name.strip_suffix('+').map_or((name, mib), |name| (name, 1.25 * mib));
    let left = WHOLE - mib;
    let grouped = |value: f64| {
        let digits = format!("{value:.0}");
        let parts: Vec<&str> =
            digits.as_bytes().rchunks(3).rev().map(|part| std::str::from_utf8(part).unwrap()).collect();
        parts.join(",")
    };
    Some(match name {
        "n" => format!("{}", at + 1),
        "n1" => format!("{}", (at + 1) % 10),
        "n2" => format!("{}", at + 10),
        "s" => format!("{}", 300 * (at + 1)),
        "r" => format!("{}", 10 + at * 37 % 90),
        "t0" => "07:50:00".to_owned(),
        "t" => format!("{:02}:{}0:00", 8 + at / 6, at % 6),
        "share" => format!("{:.2}", 100.0 * mib / WHOLE),
        "percent" => format!("{:.0}", 100.0 * mib / WHOLE),
        "k" => format!("{:.0}", mib * 1024.0),
        "kc" => grouped(mib * 1024.0),
        "b" => format!("{:.0}", mib * MIB),
        "bc" => grouped(mib * MIB),
        "e" => format!("{:e}", (mib * MIB).round()).replace('e', "e+0").replace("e+00", "e+0"),
        "kfree" => format!("{:.0}", left * 1024.0),
        "mfree" => format!("{left:.0}"),
        "bfree" => format!("{:.0}", left * 60.0),
        "gfree.1" => format!("{:.1}", 40.0 - 2.0 * mib / 1024.0),
        _ => {
            let (unit, decimals) = name.split_once('.').unwrap_or((name, "0"));
            let value = match unit {
                "m" => mib,
                "g" => mib / 1024.0,
                "mb" => mib * MIB / 1e6,
                _ => return None,
            };
            format!("{value:.*}", decimals.parse().ok()?)
        }
    })
}

/// As much as `scatter` above or below, always the same.
fn noise(at: usize, scatter: f64) -> f64 {
    scatter * ((at * 7 + 3) % 11) as f64 / 5.0 - scatter
}

fn is_growth(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Leak | Verdict::HostGrowth)
}

#[test]
fn what_rises_is_found_in_the_layout_of_any_monitor() {
    let readings: Vec<f64> = (0..READINGS).map(|at| 400.0 + 70.0 * at as f64 + noise(at, 6.0)).collect();
    let mut wrong = Vec::new();
    for layout in layouts() {
        let found = findings(layout.filled(&readings).as_bytes());
        if is_growth(found.verdict) != layout.found {
            wrong.push(format!("{}: {:?}", layout.name, found.verdict));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_steady_warms_up_or_goes_up_and_down_is_no_growth_in_any_layout() {
    let steady = |at: usize| 900.0 + noise(at, 27.0);
    let warm = |at: usize| [500.0, 800.0, 930.0].get(at).copied().unwrap_or_else(|| 960.0 + noise(at, 19.0));
    let saw = |at: usize| 600.0 + 120.0 * (at % 4) as f64 + noise(at, 9.0);
    let courses: [(&str, &dyn Fn(usize) -> f64); 3] = [("steady", &steady), ("warm", &warm), ("saw", &saw)];
    let mut wrong = Vec::new();
    for layout in layouts() {
        for (course, of) in courses {
            let readings: Vec<f64> = (0..READINGS).map(of).collect();
            let found = findings(layout.filled(&readings).as_bytes());
            let nothing = matches!(found.verdict, Verdict::NotOom | Verdict::ReportOnly | Verdict::CacheNotLeak);
            if !nothing {
                wrong.push(format!("{} {course}: {:?}", layout.name, found.verdict));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
