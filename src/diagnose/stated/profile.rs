//! The difference of two profiles of a heap, an early and a late one: Go's `pprof -base`, Python's `tracemalloc`.

use super::amount::amounts;
use super::regex;
use super::rows::Series;

/// A smaller difference may have any cause, in bytes.
const LEAST: f64 = (16 << 20) as f64;
/// How far below a command its totals may be, in lines.
const BELOW: usize = 12;

/// What the late profile has more, if the lines are such a difference.
pub(super) fn difference(lines: &[&str]) -> Option<Series> {
    let (first, last, more) = of_pprof(lines).or_else(|| of_tracemalloc(lines))?;
    Some(Series {
        lines: [first, last],
        first: "the earlier profile".to_owned(),
        last: format!("{more} more"),
        readings: 2,
        ratio: None,
        name: "heap".to_owned(),
    })
}

fn of_pprof(lines: &[&str]) -> Option<(usize, usize, String)> {
    let command = lines.iter().position(|line| {
        regex!(r"\bpprof\b.* --?(?:diff_)?base[ =]").is_match(line) && !regex!(r"alloc_|cpu|profile\?").is_match(line)
    })?;
    let total = regex!(r"^\s*Showing nodes accounting for \d[^,]*, [\d.]+% of (\d[\d.]*[kMGT]B) total");
    let mut below = lines.iter().enumerate().skip(command).take(BELOW);
    let (at, total) = below.find_map(|(at, line)| Some((at, total.captures(line)?.get(1)?.as_str())))?;
    (amounts(total).first()?.bytes >= LEAST).then(|| (command, at, total.to_owned()))
}

fn of_tracemalloc(lines: &[&str]) -> Option<(usize, usize, String)> {
    let row = regex!(r": size=(\d[\d.]* [KMG]?i?B) \(([+-])(\d[\d.]* [KMG]?i?B)\), count=\d+ \([+-]\d+\)");
    let rows: Vec<_> = lines.iter().enumerate().filter_map(|(at, line)| Some((at, row.captures(line)?))).collect();
    let bytes = |text: &str| amounts(text).first().map_or(0.0, |amount| amount.bytes);
    let held: f64 = rows.iter().map(|(_, row)| bytes(&row[1])).sum();
    let more: f64 = rows.iter().map(|(_, row)| if &row[2] == "+" { bytes(&row[3]) } else { -bytes(&row[3]) }).sum();
    let (first, largest) = rows.first()?;
    // Between two equal moments of the work: a program that starts takes memory, too.
    let work = regex!(r"(?i)\b(?:requests?|iterations?|epochs?|hours?|identical|cycles|rounds|calls|jobs|messages)\b");
    let above = first.checked_sub(1).filter(|_| lines[..*first].iter().any(|line| work.is_match(line)))?;
    (more >= LEAST && 2.0 * more >= held).then(|| (above, *first, largest[3].to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_late_profile_has_more_is_growth() {
        let of = |text: &str| difference(&text.lines().collect::<Vec<_>>()).map(|found| found.last);
        let pprof = |command: &str, shown: &str| {
            of(&format!("$ go tool pprof {command}\nType: inuse_space\nShowing nodes accounting for {shown} total\n"))
        };
        assert_eq!(
            pprof("-top -base a.pb.gz b.pb.gz", "913.52MB, 98.41% of 928.30MB"),
            Some("928.30MB more".to_owned())
        );
        assert_eq!(pprof("-diff_base=a.pb.gz b.pb.gz", "1.52GB, 98.41% of 1.60GB"), Some("1.60GB more".to_owned()));
        assert_eq!(pprof("-top -base a.pb.gz b.pb.gz", "-3.52MB, 98.41% of 928.30MB"), None);
        assert_eq!(pprof("-top -base a.pb.gz b.pb.gz", "3.52MB, 98.41% of 3.60MB"), None);
        assert_eq!(pprof("-top b.pb.gz", "913.52MB, 98.41% of 928.30MB"), None);
        assert_eq!(pprof("-alloc_space -base a.pb.gz b.pb.gz", "913.52MB, 98.41% of 928.30MB"), None);
        let python = |above: &str, row: &str| of(&format!("{above}\n/app/a.py:48: {row}, average=133 B\n"));
        let grown = "size=311 MiB (+305 MiB), count=2450112 (+2401108)";
        assert_eq!(python("between 1,000 and 50,000 requests", grown), Some("305 MiB more".to_owned()));
        assert_eq!(python("after the start", grown), None);
        assert_eq!(python("after 10 requests", "size=311 MiB (+12 MiB), count=2450112 (+2401108)"), None);
        assert_eq!(python("after 10 requests", "size=311 MiB (-305 MiB), count=2450112 (-2401108)"), None);
    }
}
