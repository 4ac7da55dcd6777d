//! `bench-gate` on files written by criterion, gungraun and divan themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use criterion::Criterion;
use plimsoll::criterion::{IterEach, Measured, PeakRssGrowth, group};
use plimsoll::gate::Outcome;
use plimsoll::gate::bench::BenchGate;
use tempfile::TempDir;

use crate::support::{plimsoll, run};

/// The environment of a seeded benchmark: criterion's folder, the MiB to take, and criterion's flag.
const FOLDER: &str = "SEEDED_BENCHMARK_FOLDER";
const MIB: &str = "SEEDED_BENCHMARK_MIB";
const SAVE: &str = "SEEDED_BENCHMARK_SAVE";

/// Not a test: the benchmark that other tests run in its own process, as `cargo bench` would.
#[test]
#[ignore = "run by the tests below"]
fn seeded_benchmark() {
    let env = |name| std::env::var(name).expect("set by the test that runs this");
    let mib: usize = env(MIB).parse().unwrap();
    let criterion = Criterion::default()
        .output_directory(Path::new(&env(FOLDER)))
        .without_plots()
        .warm_up_time(Duration::from_millis(20))
        .measurement_time(Duration::from_millis(60))
        .sample_size(10)
        .nresamples(1001);
    let criterion = match &*env(SAVE) {
        "base" => criterion,
        name => criterion.save_baseline(name.to_owned()),
    };
    take::<PeakRssGrowth>(&mut criterion.with_measurement(PeakRssGrowth), mib);
}

fn take<M: Measured + 'static>(criterion: &mut Criterion<M>, mib: usize) {
    let mut group = group(criterion, "take");
    group.bench_function("pages", |b| {
        b.iter_each(|| {
            let mut block = memmap2::MmapMut::map_anon(mib << 20).unwrap();
            block.fill(1);
            block
        });
    });
    group.finish();
}

struct Bench(TempDir);

impl Bench {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Runs the benchmark with `mib` MiB; gives its exit code and what criterion printed.
    fn run(&self, mib: usize, save: &str) -> (i32, String) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "bench_gate::seeded_benchmark", "--nocapture"]);
        command.env(FOLDER, self.0.path()).env(MIB, mib.to_string()).env(SAVE, save);
        let (code, out, err) = run(&mut command);
        (code, out + &err)
    }

    /// `plimsoll bench-gate` with `flags`; gives its exit code and the judgement.
    fn gate(&self, flags: &[&str]) -> (i32, BenchGate) {
        let (code, out, err) = run(plimsoll().arg("bench-gate").arg(self.0.path()).args(flags).arg("--json"));
        (code, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}")))
    }
}

#[test]
fn a_regression_that_criterion_exits_0_on_is_1() {
    let bench = Bench::new();
    assert_eq!(bench.run(16, "main").0, 0);
    assert_eq!(bench.run(16, "again").0, 0);
    let (code, gate) = bench.gate(&["--baseline", "main"]);
    assert_eq!((code, &*gate.message), (0, "none of 1 benchmark regressed against `main`"), "{gate:#?}");
    let (code, gate) = bench.gate(&["--baseline", "again"]);
    assert_eq!((code, gate.benchmarks[0].note.as_deref()), (3, Some("the baseline `again` is a copy of this run")));

    // Criterion compares with the baseline that it is about to overwrite.
    let (code, said) = bench.run(20, "again");
    assert!(code == 0 && said.contains("Performance has regressed"), "{said}");
    let (code, gate) = bench.gate(&["--baseline", "main"]);
    assert_eq!((code, &*gate.message), (1, "1 of 1 benchmark regressed against `main`"), "{gate:#?}");
    let verdict = &gate.benchmarks[0];
    assert_eq!((&*verdict.id, verdict.metric.as_deref()), ("take peak_rss_growth/pages", Some("peak_rss_growth")));
    let shift = verdict.comparison.as_ref().unwrap().shift.unwrap();
    assert!((shift - 4.0 * 1024.0 * 1024.0).abs() < 65536.0, "{shift}");

    for (limit, expected) in [("50%", 0), ("16 MiB", 0), ("5% | 1 MiB", 1), ("take*=50%", 0), ("50%,*pages=1%", 1)] {
        assert_eq!(bench.gate(&["--baseline", "main", "--limit", limit]).0, expected, "{limit}");
    }
    let (_, out, _) = run(plimsoll().arg("bench-gate").arg(bench.0.path()).args(["--baseline", "main"]));
    assert!(out.contains("✗ fail") && out.contains("FAILS") && out.contains("(exit 1)"), "{out}");
}

#[test]
fn the_run_before_is_judged_by_criterion_s_own_comparison() {
    let bench = Bench::new();
    bench.run(16, "base");
    let (code, gate) = bench.gate(&[]);
    assert_eq!(code, 3, "{gate:#?}");
    assert!(gate.message.contains("--save-baseline NAME"), "{}", gate.message);
    let (code, said) = bench.run(20, "base");
    assert!(code == 0 && said.contains("Performance has regressed"), "{said}");
    let (code, gate) = bench.gate(&[]);
    assert_eq!(code, 1, "{gate:#?}");
    let message = &gate.benchmarks[0].comparison.as_ref().unwrap().message;
    assert!(message.starts_with("grew by 25.0 %, 95% interval +25.0 % to +25.0 %, more than 5%"), "{message}");
    // A comparison older than the samples does not belong to this run.
    let change = bench.0.path().join("take peak_rss_growth/pages/change/estimates.json");
    fs::File::open(change).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(bench.gate(&[]).0, 3);
}

#[test]
fn a_baseline_that_is_not_there_is_told_with_those_that_are() {
    let bench = Bench::new();
    bench.run(1, "main");
    let (code, gate) = bench.gate(&["--baseline", "mian"]);
    assert_eq!(code, 3);
    assert!(gate.message.contains("baseline `mian`; there is `main`."), "{}", gate.message);
    assert_eq!(gate.benchmarks[0].note.as_deref(), Some("no such benchmark in the baseline `mian`"));
}

#[test]
fn what_cannot_be_read_is_2_and_nothing_to_read_is_3() {
    let bench = Bench::new();
    let gate = |dir: &Path, flags: &[&str]| run(plimsoll().arg("bench-gate").arg(dir).args(flags));
    let (code, out, _) = gate(bench.0.path(), &[]);
    assert!(code == 3 && out.contains("there is no benchmark in"), "{out}");
    let (code, _, err) = gate(&bench.0.path().join("missing"), &[]);
    assert!(code == 2 && err.contains("missing") && err.contains("No such file"), "{err}");

    bench.run(1, "main");
    bench.run(1, "again");
    let sample = bench.0.path().join("take peak_rss_growth/pages/main/sample.json");
    fs::write(&sample, "{\"iters\": [1.0], \"times\": [").unwrap();
    let (code, _, err) = gate(bench.0.path(), &["--baseline", "main"]);
    assert!(code == 2 && err.contains("main/sample.json is not in the format of criterion"), "{err}");

    for flags in [["--limit", "five"], ["--confidence", "1.5"], ["--limit", "=5%"]] {
        let (code, _, err) = gate(bench.0.path(), &flags);
        assert!(code == 2 && err.contains(flags[1]), "{err}");
    }
}

/// A file or folder that divan 0.1.21, gungraun 0.20.0 or iai-callgrind 0.16.1 wrote.
fn output(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/benches").join(name)
}

fn judged(path: &Path, flags: &[&str]) -> (i32, BenchGate) {
    let (code, out, err) = run(plimsoll().arg("bench-gate").arg(path).args(flags).arg("--json"));
    (code, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}")))
}

#[test]
fn a_table_of_divan_is_judged_against_an_earlier_one() {
    let [before, after] = ["divan-before.txt", "divan-after.txt"].map(output);
    let baseline = before.to_str().unwrap();
    let (code, gate) = judged(&after, &["--baseline", baseline]);
    let failed: Vec<&str> = gate
        .benchmarks
        .iter()
        .filter(|one| one.comparison.as_ref().unwrap().outcome == Outcome::Fail)
        .map(|one| &*one.id)
        .collect();
    assert_eq!(code, 1, "{gate:#?}");
    assert!(failed.contains(&"allocs::table::10000 max_alloc_bytes") && !failed.contains(&"times::sum"), "{failed:?}");

    let [many_before, many_after] = ["divan-before-6.txt", "divan-after-6.txt"].map(output);
    let (code, gate) = judged(&many_after, &["--baseline", many_before.to_str().unwrap()]);
    let sum = gate.benchmarks.iter().find(|one| one.id == "times::sum").unwrap();
    assert_eq!((code, sum.comparison.as_ref().unwrap().outcome), (1, Outcome::Fail), "{sum:#?}");

    // The same allocations pass, however times differ.
    let (code, gate) = judged(&before, &["--baseline", baseline, "--limit", "9000%,*_bytes=0%,*_count=0%"]);
    assert_eq!((code, gate.outcome), (0, Outcome::Pass), "{}", gate.message);
    let (_, out, _) = run(plimsoll().arg("bench-gate").arg(&after).args(["--baseline", baseline]));
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("times::sum") && words.contains("5 runs a side would narrow it"), "{out}");

    let (code, gate) = judged(&after, &[]);
    assert_eq!(code, 3);
    assert!(
        gate.message.ends_with("name the saved output of an earlier `cargo bench` with --baseline FILE"),
        "{gate:#?}"
    );
}

#[test]
fn summaries_of_gungraun_are_judged_by_their_counts() {
    for (name, benchmarks) in [("gungraun", 8), ("iai", 6)] {
        let (code, gate) = judged(&output(name), &[]);
        assert_eq!((code, gate.benchmarks.len(), &*gate.baseline), (1, benchmarks, "old"), "{gate:#?}");
        assert_eq!(judged(&output(name), &["--limit", "300%"]).0, 0);
        let (code, gate) = judged(&output(name), &["--baseline", "main"]);
        assert!(code == 3 && gate.message.starts_with("nothing was compared: "), "{gate:#?}");
    }
    let [before, after] = ["gungraun-before.json", "gungraun-after.json"].map(output);
    assert_eq!(judged(&before, &["--limit", "0%"]).0, 0);
    assert_eq!(judged(&after, &["--baseline", before.to_str().unwrap()]).0, 1);
    let (code, gate) = judged(&before, &["--baseline", after.to_str().unwrap()]);
    assert!(code == 0 && gate.message.starts_with("none of 10 benchmarks regressed"), "{}", gate.message);
}

#[test]
fn an_output_of_no_harness_is_2() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("new.txt");
    let table = output("divan-before.txt");
    let rows = fs::read_to_string(&table).unwrap();
    for (text, says) in [
        ("running 3 tests".to_owned(), "new.txt is neither divan's table nor a summary of gungraun"),
        (String::new(), "new.txt is neither divan's table nor a summary of gungraun"),
        ("{\"version\": \"1\"}".to_owned(), "new.txt is a summary of version `1`"),
        ("{\"results\": []}".to_owned(), "new.txt is not a summary of gungraun: missing field `version`"),
        (rows.replacen("2.813 µs", "2.813 parsecs", 1), "2.813 parsecs` is not a time; save the output"),
    ] {
        fs::write(&file, text).unwrap();
        let (code, _, err) = run(plimsoll().arg("bench-gate").arg(&file));
        assert!(code == 2 && err.contains(says), "{says}: {err}");
        let (code, _, err) = run(plimsoll().arg("bench-gate").arg(&table).arg("--baseline").arg(&file));
        assert!(code == 2 && err.contains(says), "{says}: {err}");
    }
    let (code, _, err) = run(plimsoll().arg("bench-gate").arg(&table).args(["--baseline", "gone.txt"]));
    assert!(code == 2 && err.contains("cannot read gone.txt"), "{err}");
    let (code, _, err) = run(plimsoll().arg("bench-gate").arg(&table).arg("--baseline").arg(output("iai")));
    assert!(code == 2 && err.contains("is the output of another harness"), "{err}");
}
