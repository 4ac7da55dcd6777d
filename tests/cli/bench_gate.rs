//! `bench-gate` on files written by criterion itself.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use criterion::Criterion;
use plimsoll::criterion::{IterEach, Measured, PeakRssGrowth, group};
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
