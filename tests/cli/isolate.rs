//! `plimsoll isolate`: a test of another runner, here a shell, which reports its body through its standard input.

use std::path::Path;
use std::process::{Command, Stdio};

use plimsoll::record::{Record, Semantics, VerdictStatus};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{comes, plimsoll, run};

/// Functions with which a shell reports its body.
const SPEAK: &str = r#"
tell() { printf '%b\n' "$1" >&0; read -r answer <&0 && [ -z "$answer" ]; }
ready() { tell Ready; }
finish() { tell "Done\t$1\tErr\tnone"; }
outcome() { tell "Outcome\t$1"; }
"#;

fn isolate(dir: &Path, arguments: &[&str], script: &str) -> Command {
    let mut command = plimsoll();
    command.args(["isolate", "--package", "shop", "--suite", "tests/test_a.py", "--name", "test_sum[1]"]);
    command.args(arguments.iter().map(|argument| format!("--argument={argument}")));
    command.arg("--answer").arg(dir.join("answer.json")).env("PLIMSOLL_RECORD_DIR", dir.join("records"));
    command.args(["--", "bash", "-c", &format!("{SPEAK}{script}")]);
    command
}

/// The exit code, the answer, and the record.
fn answer(arguments: &[&str], script: &str) -> (i32, Value, Option<Record>) {
    let dir = TempDir::new().unwrap();
    let (code, ..) = run(&mut isolate(dir.path(), arguments, script));
    let answer = serde_json::from_slice(&std::fs::read(dir.path().join("answer.json")).unwrap()).unwrap();
    let record = Record::read(&dir.path().join("records/tests-test_a.py.test_sum-1-.json")).ok();
    (code, answer, record)
}

fn verdict(record: &Record) -> (VerdictStatus, &str) {
    let verdict = record.verdicts.iter().find(|verdict| verdict.subject == "test").unwrap();
    (verdict.status, &verdict.message)
}

#[test]
fn a_body_is_judged_by_what_it_tells() {
    let (code, reply, record) =
        answer(&["peak_rss=1 GiB", "swap_growth=0 B"], r"ready; tell 'Phase\tload'; finish 'Returned'");
    let record = record.unwrap();
    assert_eq!((code, reply), (0, json!({"judgement": "passed"})));
    let Semantics::Test(test) = &record.semantics else { panic!("{:?}", record.semantics) };
    assert_eq!((test.package.as_deref(), test.suite.as_deref()), (Some("shop"), Some("tests/test_a.py")));
    assert_eq!(test.name, "test_sum[1]");
    assert_eq!(record.phases.iter().map(|phase| phase.phase.as_str()).collect::<Vec<_>>(), ["test", "load"]);
    assert_eq!((record.exit_code, verdict(&record)), (0, (VerdictStatus::Pass, "its body returned")));

    let (code, reply, record) = answer(&["peak_rss=1 KiB"], r"ready; finish 'Raised\tValueError: no'");
    let message = reply["message"].as_str().unwrap();
    assert_eq!((code, &reply["judgement"]), (1, &json!("failed")));
    assert!(message.starts_with("test_sum[1]: peak_rss is ") && message.contains(" above its ceiling of 1.00 KiB"));
    assert!(message.contains("\nand the test raised: ValueError: no\n"), "{message}");
    assert_eq!(verdict(&record.unwrap()), (VerdictStatus::Fail, "it raised: ValueError: no"));
}

#[test]
fn a_runner_has_the_last_word_on_how_a_body_ended() {
    let raises = r"ready; finish 'Raised\tValueError: no'; ";
    let (code, reply, record) = answer(&[], raises);
    assert_eq!((code, reply, record.is_some()), (1, json!({"judgement": "raised"}), true));

    let script = format!("{raises} outcome '{}'", r"ExpectedFailure\tbug 7");
    let (code, reply, record) = answer(&[], &script);
    assert_eq!((code, reply), (0, json!({"judgement": "passed"})));
    assert_eq!(verdict(&record.unwrap()), (VerdictStatus::Pass, "it failed, as expected: bug 7"));

    // A skipped test is not judged, whether its body had begun or not.
    for script in [format!("{raises} outcome '{}'", "Skipped"), "outcome 'Skipped'".into()] {
        let (code, reply, record) = answer(&["peak_rss=1 KiB"], &script);
        assert_eq!((code, reply, record.is_none()), (0, json!({"judgement": "passed"}), true));
    }

    let (_, reply, record) = answer(&[], r"outcome 'Raised\ta fixture'");
    assert_eq!(reply["message"], "test_sum[1]: it raised before its body began: a fixture");
    assert_eq!(verdict(&record.unwrap()), (VerdictStatus::Fail, "it raised before its body began: a fixture"));
}

#[test]
fn an_end_before_the_bodys_is_told() {
    for (script, says) in [
        ("exit 3", "its process exited with code 3 before its body began"),
        ("ready; exit 3", "its process exited with code 3 before its body had ended: did the test end its process?"),
        ("ready; kill -SEGV $$", "its process was killed by SIGSEGV (signal 11) before its body had ended"),
    ] {
        let (code, reply, record) = answer(&[], script);
        assert_eq!((code, reply), (1, json!({"judgement": "failed", "message": format!("test_sum[1]: {says}")})));
        assert_eq!(verdict(&record.unwrap()), (VerdictStatus::Fail, says));
    }
}

#[test]
fn every_wrong_argument_is_told_and_nothing_is_run() {
    let (code, reply, record) = answer(&["peek_rss=1 MiB", "timeout=soon", "enforce"], "ready");
    assert_eq!((code, &reply["judgement"], record.is_none()), (2, &json!("refused"), true));
    let errors: Vec<&str> = reply["errors"].as_array().unwrap().iter().map(|error| error.as_str().unwrap()).collect();
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert_eq!(errors[0], "`peek_rss` is not an argument: did you mean `peak_rss`?");
    assert_eq!(errors[2], "enforce: `` is neither true nor false");
}

/// However it ends, nothing of the test remains.
#[test]
fn a_test_is_given_up_with_all_its_processes() {
    let dir = TempDir::new().unwrap();
    let pid = dir.path().join("pid");
    let script = format!("ready; sleep 3600 & echo $! > {0}.new; mv {0}.new {0}; wait", pid.display());
    let mut child = isolate(dir.path(), &[], &script).stdin(Stdio::null()).spawn().unwrap();
    assert!(comes(|| pid.exists()), "the test has not begun");
    let sleeps = std::fs::read_to_string(&pid).unwrap();
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(!Path::new(&format!("/proc/{}", sleeps.trim())).exists());
    let answer: Value = serde_json::from_slice(&std::fs::read(dir.path().join("answer.json")).unwrap()).unwrap();
    let says = "test_sum[1]: its process was killed because the run was cancelled before its body had ended";
    assert_eq!(answer["message"], says);
}
