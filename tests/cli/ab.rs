//! `ab`: two commands in turns.

use plimsoll::gate::{GateReport, Method, Outcome};
use plimsoll::record::Record;

use crate::support::{plimsoll, run};

/// A command that holds so many MiB.
fn holds(mib: u32) -> [String; 3] {
    ["sh".to_owned(), "-c".to_owned(), format!("head -c {mib}M /dev/zero | tail -c {mib}M")]
}

fn ab(flags: &[&str], a: &[String], b: &[String]) -> (i32, String, String) {
    run(plimsoll().args(["ab", "--no-config"]).args(flags).arg("--").args(a).arg("--vs").args(b))
}

#[test]
fn the_second_is_judged_by_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let records = dir.path().join("records");
    let comment = dir.path().join("comment.md");
    let flags = ["--repeat", "8", "--limit", "peak_rss=20% | 4 MiB", "--json", "--records", records.to_str().unwrap()];
    let flags = [&flags[..], &["--markdown", comment.to_str().unwrap()]].concat();
    let (code, out, err) = ab(&flags, &holds(16), &holds(48));
    let report: GateReport = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
    assert_eq!((code, report.outcome), (1, Outcome::Fail), "{}", report.message);
    let comparison = report.subjects[0].figures[0].comparison.as_ref().unwrap();
    assert_eq!(comparison.method, Some(Method::SignedRank { exact: true }));
    assert!(report.baseline.unwrap().starts_with("A: sh -c 'head -c 16M"));
    let comment = std::fs::read_to_string(&comment).unwrap();
    assert!(comment.starts_with("### ❌ Memory gate: FAILS") && comment.contains("| ❌ | `peak_rss` |"), "{comment}");
    for name in ["a.json", "b.json"] {
        assert_eq!(Record::read(&records.join(name)).unwrap().runs.len(), 8);
    }
}

#[test]
fn equals_pass_and_nothing_of_their_output_is_mixed_with_the_report() {
    let (code, out, err) = ab(&["--repeat", "8", "--limit", "peak_rss=50% | 16 MiB"], &holds(16), &holds(16));
    assert!(
        code == 0 && out.contains("exact Wilcoxon signed-rank interval, 99 %") && out.contains("HOLDS"),
        "{out}{err}"
    );
    assert!(!out.contains('\0'));
}

#[test]
fn failures_and_too_few_pairs_are_told() {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let (code, out, err) = ab(&["--repeat", "2"], &words(&["/nowhere/program"]), &words(&["true"]));
    assert!(code == 2 && out.is_empty() && err.contains("write --repeat 8 or more"), "before anything is run: {err}");
    let (code, out, _) = ab(&[], &words(&["true"]), &words(&["false"]));
    assert!(code == 1 && out.contains("a run failed: it exited with code 1"), "{out}");
    let (code, out, _) = ab(&[], &words(&["false"]), &words(&["true"]));
    assert!(code == 3 && out.contains("a run of A: false failed: it exited with code 1"), "{out}");
    let (code, _, err) = run(plimsoll().args(["ab", "--", "true", "--vs"]));
    assert!(code == 2 && err.contains("plimsoll ab -- CMD_A --vs CMD_B"), "{err}");
    let (code, _, err) = ab(&[], &words(&["/nowhere/program"]), &words(&["true"]));
    assert!(code == 127 && err.contains("/nowhere/program"), "{err}");
}
