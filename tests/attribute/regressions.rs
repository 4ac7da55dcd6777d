//! A ceiling set from a test's usage passes, and catches the smallest regression that it should catch.

use plimsoll::bytes::MIB;
use plimsoll::meter::{Metric, Source};
use plimsoll::record::Record;

use super::fixture::{command, ran};

/// What the fixture takes besides its bytes: the test binary itself, plus the kernel's inexactness.
const AROUND: u64 = 16 * MIB;

fn takes(bytes: u64, limit: u64) -> super::fixture::Ran {
    let mut command = command("takes_what_is_chosen", &[]);
    command.env("PLIMSOLL_FIXTURE_BYTES", bytes.to_string()).env("PLIMSOLL_FIXTURE_LIMIT", limit.to_string());
    ran(command.output().unwrap())
}

/// The total usage, from the record of its test.
fn reading(bytes: u64) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command("takes_what_is_chosen", &[]);
    command.env("PLIMSOLL_FIXTURE_BYTES", bytes.to_string()).env("PLIMSOLL_FIXTURE_LIMIT", u64::MAX.to_string());
    ran(command.env("PLIMSOLL_RECORD_DIR", folder.path()).output().unwrap()).passes();
    let record = Record::read(&folder.path().join("attribute.fixtures.takes_what_is_chosen.json")).unwrap();
    let peak = &record.phases[0].readings[&Metric::PeakRss];
    assert_eq!(peak.source, Source::Exact);
    peak.bytes.bytes()
}

#[test]
fn twenty_regressions_of_five_percent_and_four_mebibytes_are_all_caught() {
    // A generator of numbers with a seed (Knuth's LCG): the same twenty in every run.
    let mut state = 0x506c_696d_736f_6c6c_u64;
    for _ in 0..20 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bytes = (8 + (state >> 33) % 120) * MIB;
        let taken = reading(bytes);
        assert!((bytes..bytes + AROUND).contains(&taken), "{bytes} are read as {taken}");
        // Half of a regression's growth remains as headroom.
        let limit = taken + bytes / 40 + 2 * MIB;
        takes(bytes, limit).passes();
        takes(bytes + bytes / 20 + 4 * MIB, limit).fails().says("above its ceiling");
    }
}
