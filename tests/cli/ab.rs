//! `ab`: two commands in turns.

use plimsoll::gate::{GateReport, Method, Outcome};
use plimsoll::record::Record;

use crate::support::{plimsoll, run};

/// A command that holds this many MiB.
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

#[test]
fn both_run_at_once_on_cores_of_their_own_and_stop_when_it_is_known_well_enough() {
    let dir = tempfile::tempdir().unwrap();
    let records = dir.path().join("records");
    // Each side meets the other in a pipe, which nobody would open if they ran in turns, and notes its processors.
    let pipe = dir.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    let side = |own: &str, meets: &str| {
        let cpus = dir.path().join(format!("{own}-cpus"));
        let script = format!(
            "grep Cpus_allowed_list /proc/self/status >> {}; timeout 240 sh -c '{meets} {}' || exit 9; sleep 0.05",
            cpus.display(),
            pipe.display()
        );
        ["sh".to_owned(), "-c".to_owned(), script]
    };
    let (a, b) = (side("a", "echo met >"), side("b", "read met <"));
    let flags = ["--duet", "--repeat", "40", "--width", "1000%", "--limit", "wall=1000%", "--json"];
    let flags = [&flags[..], &["--records", records.to_str().unwrap()]].concat();
    let (code, out, err) = ab(&flags, &a, &b);
    if err.contains("but this process has only one") {
        println!("not possible here: one core");
        return;
    }
    let report: GateReport = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
    assert_eq!(code, i32::from(report.exit_code()), "{out}{err}");
    assert!(report.subjects[0].failure.is_none(), "each met the other: {out}");
    assert!(report.subjects[0].figures.iter().any(|figure| figure.name == "wall"), "{out}");
    let runs = Record::read(&records.join("b.json")).unwrap().runs.len();
    assert!((8..40).contains(&runs), "{runs} pairs were enough");
    let cpus = |name: &str| std::fs::read_to_string(dir.path().join(format!("{name}-cpus"))).unwrap();
    assert!(cpus("a").lines().zip(cpus("b").lines()).all(|(a, b)| a != b), "{}{}", cpus("a"), cpus("b"));
    assert!(cpus("a").lines().any(|line| Some(line) != cpus("a").lines().next()), "they change places");

    let (code, _, err) = ab(&["--width", "0"], &a, &b);
    assert!(code == 2 && err.contains("a percentage above 0"), "{err}");
}

#[test]
fn an_interval_that_is_narrow_enough_ends_the_turns() {
    let dir = tempfile::tempdir().unwrap();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let dd = words(&["dd", "if=/dev/zero", "of=/dev/null", "bs=32M", "count=1", "status=none"]);
    let runs = |width: &str, folder: &str| {
        let records = dir.path().join(folder);
        let flags = ["--repeat", "14", "--limit", "peak_rss=5%", "--width", width, "--records"];
        let (code, out, err) = ab(&[&flags[..], &[records.to_str().unwrap()]].concat(), &dd, &dd);
        assert_eq!(code, 0, "{out}{err}");
        Record::read(&records.join("a.json")).unwrap().runs.len()
    };
    assert_eq!((runs("90%", "wide"), runs("0.000001%", "narrow")), (8, 14));
}

#[test]
fn each_run_of_both_is_prepared() {
    let dir = tempfile::tempdir().unwrap();
    let script = |name: &str| ["sh", "-c", &format!("test -e ready && rm ready && echo >> {name}")].map(str::to_owned);
    let (a, b) = (script("a"), script("b"));
    let mut command = plimsoll();
    command
        .args(["ab", "--no-config", "--repeat", "8", "--prepare", "touch ready", "--"])
        .args(&a)
        .arg("--vs")
        .args(&b);
    let (code, out, err) = run(command.current_dir(dir.path()));
    let runs = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap().lines().count();
    assert!(code != 2 && (runs("a"), runs("b")) == (8, 8), "{code}: {out}{err}");
}
