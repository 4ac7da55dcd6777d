//! The message of a broken ceiling.

use insta::{assert_snapshot, with_settings};
use plimsoll::record::{Record, Semantics, VerdictStatus};

use super::fixture::run;

/// The message of a failed fixture, without figures and lines that depend on the machine.
#[track_caller]
fn message(name: &str) -> String {
    let text = run(name).fails().text;
    let from = text.find(&format!("\nfixtures::{name}: ")).unwrap_or_else(|| panic!("{text}")) + 1;
    let end = ["\nstack backtrace", "\nnote: run with", "\n\nfailures:"];
    let to = end.iter().filter_map(|end| text[from..].find(end)).min().unwrap_or(text.len() - from);
    text[from..from + to].to_owned()
}

fn snapshot(name: &str, text: &str) {
    with_settings!({
        snapshot_path => "../../snapshots",
        prepend_module_to_snapshot => false,
        omit_expression => true,
        filters => vec![
            (r"[0-9]+(\.[0-9]+)? (B|KiB|MiB|GiB)\b", "[bytes]"),
            (r"[0-9.]+ (ns|µs|ms|s)\b", "[time]"),
            (r"\([0-9.]+ %\)", "([percent] %)"),
            // The drawing depends on the machine.
            (r"(?m)^ RSS (.*\n)+?\n", "[timeline]\n\n"),
            (r"(?m)^ mappings that grew most(.*\n)+?\n", "[mappings]\n\n"),
            (r"(?ms)^ heap .*", "[heap and activity]"),
            (r"─+", "─"),
            (r" {2,}", "  "),
            // The kinds come from samples, whose times vary; a wide counter is cut if the figures leave no room.
            (r"  (=|[+-]\[bytes\])", "  [change]"),
            (r"(?m)^( ✓ .*) in `[a-z]+`", "$1"),
            (r"\([^)\n]*…", "([counter])"),
        ],
    }, { assert_snapshot!(name, text) });
}

#[test]
fn a_broken_ceiling_says_by_how_much_where_and_what_grew() {
    let text = message("breaks_ceilings");
    // The figures are true and exact.
    let first = text.lines().next().unwrap();
    assert!(first.contains("peak_rss is ") && first.contains(" in phase `") && first.contains("(exact)"), "{first}");
    assert!(text.contains("VmHWM") && text.contains("load") && text.contains("keep"), "{text}");
    snapshot("attribute_broken", &text);
}

#[test]
fn limits_may_be_expressions() {
    let text = message("breaks_limits_that_are_expressions");
    for limit in ["32.00 MiB", "16.00 MiB"] {
        assert!(text.contains(limit), "{text}");
    }
    assert_eq!(text.matches(" ✗ ").count(), 3, "{text}");
}

#[test]
fn the_heap_is_judged_to_the_byte() {
    let text = message("breaks_ceilings_of_the_heap");
    // Four blocks of 4 MiB, and the vector that holds them.
    for row in ["peak_heap", "retained_heap"] {
        assert!(
            text.lines().any(|line| line.contains(row) && line.contains("✗") && line.contains("16.00 MiB")),
            "{text}"
        );
    }
    assert!(text.lines().any(|line| line.contains("✗ allocations") && line.contains(" 5 ")), "{text}");
    assert!(text.lines().any(|line| line.contains("✓ allocated")), "{text}");
}

#[test]
fn a_panic_is_told_beside_a_broken_ceiling() {
    let text = message("panics_past_a_ceiling");
    assert!(
        text.contains("above its ceiling of 32.00 MiB") && text.contains("and the test panicked: of its own"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_measured_does_not_hold() {
    let text = message("limits_what_cannot_be_measured");
    assert!(text.starts_with("fixtures::limits_what_cannot_be_measured: gpu_peak is not measurable"), "{text}");
}

#[test]
fn an_enforced_ceiling_ends_the_test_and_says_by_what() {
    let text = message("grows_past_an_enforced_ceiling");
    assert!(text.contains("its process was killed at its ceiling peak_rss <= 64.00 MiB by the "), "{text}");
    assert!(text.contains("✗ peak_rss"), "{text}");
}

#[test]
fn async_bodies_are_judged() {
    for name in ["breaks_a_ceiling_below_tokio", "breaks_a_ceiling_above_tokio"] {
        assert!(message(name).contains("above its ceiling of 32.00 MiB"));
    }
}

#[test]
fn a_record_is_kept_of_a_test_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("records");
    let mut command = super::fixture::command("panics_past_a_ceiling", &[]);
    super::fixture::ran(command.env("PLIMSOLL_RECORD_DIR", &kept).output().unwrap()).fails();
    let record = Record::read(&kept.join("attribute.fixtures.panics_past_a_ceiling.json")).unwrap();
    let Semantics::Test(test) = &record.semantics else { panic!("{:?}", record.semantics) };
    assert_eq!((test.package.as_deref(), test.suite.as_deref()), (Some("plimsoll"), Some("attribute")));
    assert_eq!(test.name, "fixtures::panics_past_a_ceiling");
    let verdicts: Vec<_> = record.verdicts.iter().map(|verdict| (verdict.subject.as_str(), verdict.status)).collect();
    assert_eq!(verdicts, [("test", VerdictStatus::Fail), ("ceiling peak_rss", VerdictStatus::Fail)]);
    assert_eq!((record.exit_code, record.verdicts[0].message.as_str()), (1, "it panicked: of its own"));
    // A record that cannot be saved is a failure.
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mut command = super::fixture::command("holds", &[]);
    super::fixture::ran(command.env("PLIMSOLL_RECORD_DIR", &file).output().unwrap()).fails().says("its record: ");
}
