//! Snapshots of the documents as a user sees them.

use std::path::Path;

use super::*;
use crate::record::{Record, compare_records, sample};
use plimsoll_capture::timing::{Flush, Protocol, RelativeError, Statistics, Stop};
use plimsoll_memory::ByteSize;

fn plain(width: usize) -> Screen {
    Screen::new(width, Palette::plain())
}

fn shown(record: &Record, width: usize) -> String {
    super::record(record, Some(Path::new("target/check.json")), &plain(width))
}

#[test]
fn a_record_in_which_everything_held() {
    sample::assert_snapshot("terminal_record", &shown(&sample::record(), 120));
}

#[test]
fn records_of_a_test_and_of_a_command() {
    sample::assert_snapshot("terminal_record_test", &shown(&sample::test(), 100));
    sample::assert_snapshot("terminal_record_command", &shown(&sample::command(), 100));
    sample::assert_snapshot("terminal_record_repeated", &shown(&sample::repeated(), 100));
}

#[test]
fn records_of_shards_and_of_ranks() {
    sample::assert_snapshot("terminal_record_shard", &shown(&sample::shards(2)[1], 120));
    sample::assert_snapshot("terminal_record_ranks", &shown(&sample::ranks(8), 120));
    sample::assert_snapshot("terminal_record_ranks_narrow", &shown(&sample::ranks(3), 50));
}

#[test]
fn a_record_on_a_narrow_screen() {
    sample::assert_snapshot("terminal_record_narrow", &shown(&sample::record(), 60));
    sample::assert_snapshot("terminal_record_repeated_narrow", &shown(&sample::repeated(), 40));
}

#[test]
fn a_record_with_failures_of_each_kind() {
    sample::assert_snapshot("terminal_record_failing", &shown(&sample::failing(), 120));
}

#[test]
fn a_validation_alone_has_no_times_and_samples_have_median_and_mean() {
    let mut validated = sample::record();
    sample::capture(&mut validated).timing = None;
    validated.results.timing = None;
    sample::capture_policy(&mut validated).batching = None;
    validated.results.entries.all_mut().iter_mut().for_each(|result| result.profile = None);
    let text = shown(&validated, 100);
    assert!(text.contains("max abs err") && !text.contains("launch") && !text.contains("batch"), "{text}");

    let mut profiled = sample::record();
    sample::capture(&mut profiled).comparison = None;
    sample::capture(&mut profiled).timing = Some(Protocol::samples());
    for result in profiled.results.entries.all_mut() {
        result.validation = None;
        result.profile.as_mut().unwrap().statistics = Statistics::of(&[1000.0, 2000.0, 9000.0]);
    }
    let text = shown(&profiled, 100);
    assert!(text.contains("median/launch  mean/launch") && !text.contains("max abs err"), "{text}");
    assert!(text.contains("2.00 µs      4.00 µs"), "{text}");
}

#[test]
fn two_kernels_that_were_timed_in_turns() {
    sample::assert_snapshot("terminal_versus", &shown(&sample::versus(), 120));
    let narrow = shown(&sample::versus(), 60);
    let table = narrow.split_once("in turns   ").unwrap().1;
    assert!(table.contains("1.500x"), "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
}

#[test]
fn what_a_protocol_did_stands_under_the_times() {
    let numbers = |launches| (25, std::num::NonZeroU32::new(launches).unwrap());
    let mut record = sample::record();
    let (warmup, launches) = numbers(100);
    sample::capture(&mut record).timing = Some(Protocol::Cold { warmup, launches });
    let flush = |record: &mut Record, cache| {
        record
            .results
            .entries
            .all_mut()
            .iter_mut()
            .for_each(|r| r.profile.as_mut().unwrap().flush = Some(Flush::of(cache)));
    };
    flush(&mut record, Some(ByteSize::mib(32)));
    let cold = shown(&record, 120);
    flush(&mut record, None);
    let unknown = shown(&record, 120);
    let relative_error = RelativeError::DEFAULT;
    sample::capture(&mut record).timing =
        Some(Protocol::Until { warmup, launches, relative_error, time_ns: 2_000_000_000 });
    for (index, result) in record.results.entries.all_mut().iter_mut().enumerate() {
        let profile = result.profile.as_mut().unwrap();
        profile.flush = None;
        profile.stop = Some([Stop::RelativeError, Stop::Time, Stop::Launches][index % 3]);
    }
    let until = shown(&record, 120);
    // The lines with these labels, including their continuation lines.
    let lines = |text: &str, labels: &[&str]| -> String {
        let mut wanted = false;
        let kept = text.lines().filter(|line| {
            wanted = labels.iter().any(|label| line.trim_start().starts_with(label))
                || (wanted && line.starts_with("          "));
            wanted
        });
        kept.map(|line| format!("{line}\n")).collect()
    };
    let text = [lines(&cold, &["timing", "flush"]), lines(&unknown, &["flush"]), lines(&until, &["timing", "ended"])]
        .join("\n");
    sample::assert_snapshot("terminal_protocols", &text);
}

#[test]
fn what_changed_between_two_records() {
    let before = sample::record();
    let mut semantics = before.clone();
    sample::capture(&mut semantics).entries[1].bytes = plimsoll_memory::ByteSize::mib(1);
    sample::capture(&mut semantics).entries[1].digest = sample::digest_of("other");
    sample::capture(&mut semantics).entries.all_mut().swap(2, 3);
    sample::capture(&mut semantics).kernel.name = "py:kernel.py:launch".to_owned();
    semantics.semantics_digest = semantics.semantics.digest();
    let text = differences(&compare_records(&before, &semantics), &plain(120));
    sample::assert_snapshot("terminal_differences_semantics", &text);

    let mut policy = before.clone();
    sample::capture_policy(&mut policy).batching.as_mut().unwrap().batch_bytes = None;
    sample::capture_policy(&mut policy).timeout_ns = None;
    policy.environment.versions.insert("torch".to_owned(), "2.12.0".to_owned());
    policy.results.entries[3] = sample::failing().results.entries[3].clone();
    policy.phases[2].readings.values_mut().for_each(|reading| reading.bytes = plimsoll_memory::ByteSize::mib(512));
    let statistics = policy.results.entries[0].profile.as_mut().unwrap().statistics.as_mut().unwrap();
    statistics.median_ns *= 1.25;
    let text = differences(&compare_records(&before, &policy), &plain(120));
    sample::assert_snapshot("terminal_differences_figures", &text);
}

#[test]
fn no_line_is_wider_than_the_screen_or_ends_with_a_space() {
    for width in [40, 47, 60, 61, 72, 80, 100, 133, 200] {
        let mut wordy = sample::record();
        wordy.verdicts[0].subject = "subject ".repeat(20);
        sample::capture(&mut wordy).operator = "operator".repeat(40);
        let processes = [sample::test(), sample::command(), sample::repeated(), sample::repeated_more(20)];
        for record in [sample::record(), sample::failing(), sample::versus(), wordy].into_iter().chain(processes) {
            let changed = differences(&compare_records(&sample::record(), &record), &plain(width));
            for line in shown(&record, width).lines().chain(changed.lines()) {
                assert!(line.chars().count() <= width, "{width}: {line}");
                assert_eq!(line.trim_end(), line);
            }
        }
    }
}

#[test]
fn no_document_is_wider_than_the_narrowest_screen() {
    for width in [40, 66] {
        let screen = plain(width);
        let documents = [
            gate(&crate::gate::sample_gate(), &screen),
            bench_gate(&crate::gate::bench::sample::gate(), &screen),
            proposal(
                &crate::gate::propose(&[plimsoll_memory::testing::phases_of(200)], "5%".parse().unwrap()),
                &screen,
            ),
            #[cfg(feature = "history")]
            history(&crate::gate::history::sample(), &screen),
        ];
        for line in documents.iter().flat_map(|document| document.lines()) {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn colour_adds_styles_and_changes_no_text() {
    let colour = Screen::new(120, Palette::colour());
    let styled = super::record(&sample::failing(), None, &colour);
    assert!(styled.matches("\x1b[0m").count() > 20, "{styled}");
    for line in styled.lines().filter(|line| line.contains('\x1b')) {
        let (_, last) = line.rsplit_once('\x1b').unwrap();
        assert!(last.starts_with("[0m"), "a style goes on beyond its line: {line}");
    }
    let mut text = String::new();
    let mut rest = styled.as_str();
    while let Some((before, after)) = rest.split_once('\x1b') {
        text.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    text.push_str(rest);
    assert_eq!(text, super::record(&sample::failing(), None, &plain(120)));
}

#[test]
fn a_hostile_name_shows_and_does_nothing() {
    let mut record = sample::record();
    let name = "entry_\x1b[31m\n\u{202e}.pt";
    sample::capture(&mut record).entries[0].name = name.to_owned();
    record.results.entries[0].name = name.to_owned();
    sample::capture_policy(&mut record).source.path = "dir\x1b]0;title\x07".to_owned();
    record.verdicts[0].message = "a\x1bb".to_owned();
    let text = shown(&record, 120);
    assert!(!text.contains(['\x1b', '\x07', '\u{202e}']), "{text}");
}

fn inspected(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let mut found =
        plimsoll_capture::inspect::inspect(&path, plimsoll_capture::inspect::Options { digest: None, verify: true });
    found.path = name.to_owned();
    found.entries.iter_mut().for_each(|entry| entry.file = name.to_owned());
    Inspected::from(found).document(&plain(120))
}

#[test]
fn what_is_inside_a_file() {
    sample::assert_snapshot("terminal_inspect_layouts", &inspected("layouts.pt"));
    sample::assert_snapshot("terminal_inspect_entry", &inspected("entry_signature.pt"));
}
