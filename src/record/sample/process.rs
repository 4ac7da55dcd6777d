//! Tests and commands in processes of their own.

use super::*;

/// The record of a test in a process of its own, which broke a ceiling.
pub(crate) fn test() -> Record {
    let semantics = TestSemantics {
        package: Some("reader".to_owned()),
        suite: Some("reader".to_owned()),
        name: "tests::opens_in_constant_memory".to_owned(),
    };
    process(Semantics::Test(semantics), "peak_rss = 256 MiB, swap_growth = 0 B")
}

/// The record of a command that held its ceilings.
pub(crate) fn command() -> Record {
    let command = ["python3", "train.py", "--steps", "10"].map(str::to_owned).to_vec();
    process(Semantics::Command(CommandSemantics { label: "train".to_owned(), command }), "peak_rss = 2 GiB")
}

/// A command that was run three times, of which the last failed.
pub(crate) fn repeated() -> Record {
    let mut record = command();
    let run = |number: u64, mib: u64, code: i32| {
        let mut phase = record.phases[0].clone();
        (phase.timeline, phase.processes, phase.mappings) = Default::default();
        phase.readings.get_mut(&Metric::PeakRss).unwrap().bytes = ByteSize::mib(mib);
        phase.wall_ns += number * 1_000_000;
        RepeatedRun {
            started_ns: number * 250_000_000,
            wall_ns: phase.wall_ns + 2_000_000,
            end: ProcessEnd { exit_code: Some(code), signal: None, cause: EndCause::Exited },
            phases: vec![phase],
        }
    };
    record.runs = vec![run(0, 46, 0), run(1, 48, 0), run(2, 31, 3)];
    record.end = Some(record.runs[2].end.clone());
    record.exit_code = 3;
    if let Policy::Process(policy) = &mut record.policy {
        policy.repetition = Some(Repetition { repeat: 3, warmup: 1, keep_going: true });
    }
    record
}

/// A command that was run `count` times, each of which took a little more, and the more the more there are.
pub(crate) fn repeated_more(count: u64) -> Record {
    let mut record = repeated();
    let first = record.runs[0].clone();
    let run = |number: u64| {
        let mut run = first.clone();
        run.started_ns = number * 250_000_000;
        run.wall_ns += number * 37 % 11 * 1_000_000;
        let peak = run.phases[0].readings.get_mut(&Metric::PeakRss).unwrap();
        peak.bytes = ByteSize::new((40 + count) * (1 << 20) + number * 37 % 11 * 409_600);
        run
    };
    record.runs = (0..count).map(run).collect();
    record.end = Some(first.end.clone());
    record.exit_code = 0;
    record
}

fn process(semantics: Semantics, ceilings: &str) -> Record {
    let ceilings: plimsoll_memory::ceiling::Ceilings = ceilings.parse().unwrap();
    let mut record = record();
    record.phases.truncate(1);
    record.phases[0].phase = "run".to_owned();
    record.phases[0].process_count = Some(ProcessCount { count: 7, source: Source::LowerBound });
    record.policy = Policy::Process(ProcessPolicy {
        ceilings: ceilings.clone(),
        enforce: false,
        timeout_ns: Some(60_000_000_000),
        sample_interval_ns: 10_000_000,
        own_cgroup: false,
        repetition: None,
    });
    record.semantics_digest = semantics.digest();
    record.semantics = semantics;
    record.results = Results::default();
    record.releases = Vec::new();
    record.end = Some(ProcessEnd { exit_code: Some(0), signal: None, cause: EndCause::Exited });
    record.verdicts = judge(&record.phases, &ceilings).into_iter().map(Verdict::from).collect();
    record.exit_code = exit_code(&record.verdicts);
    record.command = vec!["plimsoll".to_owned(), "run".to_owned()];
    record
}
