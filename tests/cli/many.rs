//! The number of entries does not decide how much memory a command takes.

use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll::random::SplitMix64;
use plimsoll::record::{EntryResult, EntrySemantics, Record, Rows, Semantics, write_record};

use crate::support::{Scene, measured, plimsoll, run};

/// The most bytes that another entry may take: its name, the state of its file, its position. A row of a record has
/// about 2,000.
const EACH: u64 = 600;

/// The peak of `command`, in bytes.
fn peak(scene: &Scene, command: &Command) -> u64 {
    let (code, err, peak) = measured(command, &scene.path(""));
    assert_eq!(code, 0, "{err}");
    peak.bytes()
}

/// The record of a check of two entries, as one of many.
fn record_of(scene: &Scene, few: &Record, count: usize) -> PathBuf {
    let mut record = few.clone();
    let name = |number: usize| format!("entry_{number:06}.pt");
    let (entries, results) = match &few.semantics {
        Semantics::Capture(semantics) => (&semantics.entries, &few.results.entries),
        _ => panic!("the record of a capture"),
    };
    let entry = |number: usize| {
        let of = entries[number % 2].clone();
        EntrySemantics { name: name(number), digest: digest(number), ..of }
    };
    let result = |number: usize| {
        let mut result = EntryResult { index: number, name: name(number), ..results[number % 2].clone() };
        let statistics = result.profile.as_mut().unwrap().statistics.as_mut().unwrap();
        statistics.mean_ns += number as f64 / 3.0;
        result
    };
    let Semantics::Capture(semantics) = &mut record.semantics else { panic!("the record of a capture") };
    semantics.entries = (0..count).map(entry).collect::<Rows<_>>();
    record.results.entries = (0..count).map(result).collect();
    record.semantics_digest = record.semantics.digest();
    let path = scene.path(&format!("{count}.json"));
    write_record(&path, &record).unwrap();
    path
}

/// A digest of its own, of which nothing compresses.
fn digest(number: usize) -> String {
    let mut lots = SplitMix64::new(number as u64);
    "blake3:".to_owned() + &(0..4).map(|_| format!("{:016x}", lots.word())).collect::<String>()
}

fn within(what: &str, few: u64, many: u64, more: u64) {
    assert!(many <= few + more * EACH, "{what}: {few} bytes, and {many} of {more} entries more");
}

#[test]
fn reports_and_comparisons_of_many_entries_take_the_memory_of_few() {
    const COUNTS: [usize; 2] = [1_000, 6_000];
    let scene = Scene::new(2);
    let mut check = scene.command("check");
    let (code, few) = scene.run(check.args(["--kernel", "builtin:embedding", "--launches", "1", "--warmup", "0"]));
    assert_eq!(code, 0);
    let records = COUNTS.map(|count| record_of(&scene, &few, count));
    let page = scene.path("page.html");
    let report = |record: &Path| {
        let mut command = plimsoll();
        command.arg("report").arg(record).arg("--html").arg(&page);
        command
    };
    let compare = |record: &Path| {
        let mut command = plimsoll();
        command.arg("compare").arg(record).arg(record);
        command
    };
    let more = (COUNTS[1] - COUNTS[0]) as u64;
    let [few, many] = [0, 1].map(|at| peak(&scene, &report(&records[at])));
    within("report", few, many, more);
    let [few, many] = [0, 1].map(|at| peak(&scene, &compare(&records[at])));
    within("compare", few, many, more);
}

#[test]
fn a_check_of_many_entries_takes_the_memory_of_one_of_few() {
    // Even the fewer fill what every check has once: the buffers of its readers and of its record.
    const COUNTS: [usize; 2] = [2_000, 6_000];
    let scene = Scene::new(1);
    let peaks = COUNTS.map(|count| {
        let capture = scene.path(&format!("capture-{count}"));
        let mut generate = plimsoll();
        generate.arg("generate").arg(&capture).args(["--preset", "embedding", "--vocab", "16", "--dim", "4"]);
        assert_eq!(run(generate.args(["--entries", &count.to_string()])).0, 0);
        let mut validate = plimsoll();
        validate.arg("validate").arg(&capture).args(["--kernel", "builtin:embedding", "--record"]);
        validate.arg(scene.path("many.json"));
        peak(&scene, &validate)
    });
    within("validate", peaks[0], peaks[1], (COUNTS[1] - COUNTS[0]) as u64);
}
