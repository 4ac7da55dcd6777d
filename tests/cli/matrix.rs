//! `plimsoll matrix`: configurations compared with a baseline.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use plimsoll::matrix::{Figure, Matrix, RowVerdict};
use plimsoll::record::Record;
use tempfile::TempDir;

use crate::support::{comes, plimsoll, run};

/// A folder with a plan.
struct Bench(TempDir);

impl Bench {
    fn new(plan: &str) -> Self {
        let bench = Self(tempfile::tempdir().unwrap());
        bench.plan(plan);
        bench
    }

    fn plan(&self, plan: &str) {
        fs::write(self.path("m.toml"), plan).unwrap();
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, flags: &[&str]) -> Command {
        let mut command = plimsoll();
        command.arg("matrix").arg(self.path("m.toml")).args(flags).current_dir(self.0.path());
        command
    }

    /// The exit code, the table, and the messages.
    fn table(&self, flags: &[&str]) -> (i32, Matrix, String) {
        let (code, out, err) = run(self.command(flags).arg("--json"));
        (code, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}")), err)
    }
}

/// Logs which configuration ran, in order.
const TAKES: &str = r#"
command = ["python3", "-c", "import os; b = bytearray(int(os.environ['MIB']) << 20); open('order', 'a').write(os.environ['MIB'] + ' ')"]
repeats = 2
gate = { peak_rss = "10% | 16 MiB" }
[[configuration]]
name = "small"
environment = { MIB = "16" }
[[configuration]]
name = "large"
environment = { MIB = "112" }
"#;

#[test]
fn configurations_run_in_turn_and_are_metered() {
    let bench = Bench::new(TAKES);
    let (code, table, said) = bench.table(&["--record-dir", "records", "--markdown", "t.md", "--html", "t.html"]);
    assert_eq!(code, 1, "{said}");
    assert_eq!(fs::read_to_string(bench.path("order")).unwrap(), "16 112 16 112 ");
    let large = &table.rows[1];
    assert_eq!((large.verdict, large.runs, large.passes), (RowVerdict::MoreMemory, 2, Some(false)));
    let more = large.figures[&Figure::PeakRss].value - table.rows[0].figures[&Figure::PeakRss].value;
    assert!((90 << 20..104 << 20).contains(&more), "{more}");
    assert!(fs::read_to_string(bench.path("t.md")).unwrap().contains("✗ fails | more memory |"));
    assert!(fs::read_to_string(bench.path("t.html")).unwrap().contains("<td>more memory</td>"));
    let records: Vec<_> = fs::read_dir(bench.path("records")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(records.len(), 4);
    assert!(records.iter().all(|path| Record::read(path).unwrap().exit_code == 0));

    // All is done: nothing runs again, and another gate judges the same runs.
    bench.plan(&TAKES.replace("10% | 16 MiB", "1 GiB"));
    let (code, _, said) = bench.table(&["--resume"]);
    assert!(code == 0 && said.is_empty(), "{said}");
    // Only the changed configuration runs again.
    bench.plan(&TAKES.replace("112", "17"));
    let (code, _, said) = bench.table(&["--resume"]);
    assert!(
        code == 0 && said.contains("note: runs to repeat, as they failed or their configuration changed: 2"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(bench.path("order")).unwrap(), "16 112 16 112 17 17 ");
}

#[test]
fn the_log_that_a_run_prints_or_writes_is_read() {
    let plan = r#"
repeats = 2
gate = { allocated = "10% | 0.5 GiB", reserved = "10% | 1 GiB" }
[[configuration]]
name = "prints"
command = ["echo", "GPU Memory after refit complete: 0.50GB allocated, 5.20GB reserved"]
[[configuration]]
name = "writes"
command = ["sh", "-c", "echo 'GPU Memory after refit complete: 0.60GB allocated, 15.50GB reserved' > own-$0.log"]
flags = ["x"]
log = "own-x.log"
[[configuration]]
name = "does not write"
command = ["true"]
log = "m.toml"
expect = "any"
"#;
    let bench = Bench::new(plan);
    let old = std::time::UNIX_EPOCH;
    fs::File::options().write(true).open(bench.path("m.toml")).unwrap().set_modified(old).unwrap();
    let (code, table, said) = bench.table(&[]);
    let verdicts: Vec<_> = table.rows.iter().map(|row| row.verdict).collect();
    assert_eq!((code, &verdicts[..2]), (1, &[RowVerdict::Baseline, RowVerdict::Fragmentation][..]), "{said}");
    assert!(table.rows[2].notes[0].contains("did not write its log"), "{:?}", table.rows[2].notes);
}

#[test]
fn a_run_that_fails_or_takes_too_long_is_told_and_tried_again() {
    let plan = r#"
timeout = "10s"
gate = { peak_rss = "1 GiB" }
[[configuration]]
name = "good"
command = ["true"]
[[configuration]]
name = "fails"
command = ["sh", "-c", "echo why; exit 3"]
[[configuration]]
name = "hangs"
command = ["sleep", "3600"]
expect = "fail"
"#;
    let bench = Bench::new(plan);
    let (code, table, said) = bench.table(&[]);
    assert!(code == 1 && table.message.contains("`fails`") && !table.message.contains("`hangs`"), "{said}");
    assert_eq!(table.rows[1].verdict, RowVerdict::Failed);
    let note = &table.rows[1].notes[0];
    let log = Path::new(note.strip_prefix("run 1 exited with code 3: see ").unwrap());
    assert_eq!(fs::read_to_string(log).unwrap(), "why\n");
    assert!(table.rows[2].notes[0].contains("ran longer than its timeout of 10s"), "{:?}", table.rows[2].notes);
    let (_, _, said) = bench.table(&["--resume", "--only", "fails"]);
    assert!(said.contains("run 2 of 2: fails, repeat 1 of 1") && !said.contains("good"), "{said}");
}

#[test]
fn an_interrupted_matrix_ends_its_tree_and_is_resumed() {
    let mark = format!("77{}", std::process::id());
    let plan = format!(
        "[[configuration]]\nname = 'quick'\ncommand = ['true']\n[[configuration]]\nname = 'slow'\n\
         command = ['sh', '-c', 'test -e done || sleep {mark}']\n"
    );
    let bench = Bench::new(&plan);
    let mut child = bench.command(&[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(comes(|| sleeps(&mark)), "it did not begin");
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!sleeps(&mark));

    let (code, _, said) = run(&mut bench.command(&[]));
    assert!(code == 2 && said.contains("1 of 2 runs are done: --resume continues"), "{said}");
    fs::write(bench.path("done"), "").unwrap();
    let (code, table, said) = bench.table(&["--resume"]);
    assert!(code == 0 && !said.contains("quick"), "{said}");
    assert_eq!(table.rows[1].runs, 1);
}

/// Whether a `sleep` of this many seconds runs.
fn sleeps(seconds: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.starts_with(b"sleep\0") && line.split(|&byte| byte == 0).any(|argument| argument == seconds.as_bytes())
    })
}

#[test]
fn a_bad_plan_is_2_and_runs_nothing() {
    let one = "[[configuration]]\nname = 'a'\ncommand = ['touch', 'ran']\n";
    for (plan, flags, says) in [
        ("repeat = 2\n", &[][..], "did you mean `repeats`?"),
        ("", &["--only", "b"], "there is no configuration `b`"),
        ("", &["--markdown", "none/t.md"], "there is no folder none"),
    ] {
        let bench = Bench::new(&format!("{plan}{one}"));
        let (code, out, err) = run(&mut bench.command(flags));
        assert!(code == 2 && out.is_empty() && err.contains(says), "{err}");
        assert!(!bench.path("ran").exists());
    }
    let bench = Bench::new("[[configuration]]\nname = 'a'\ncommand = ['plimsoll-no-such-program']");
    assert_eq!(run(&mut bench.command(&[])).0, 2);
    let bench = Bench::new("[[configuration]]\nname = 'a'\nlog = 'missing.log'");
    let (code, _, err) = run(&mut bench.command(&[]));
    assert!(code == 2 && err.contains("missing.log: cannot read the log"), "{err}");
}

#[test]
fn values_in_a_configuration_are_figures() {
    // The table of NeMo-RL #2003 itself.
    let bench = Bench::new(
        r#"
gate = { allocated = "10% | 1 GiB", reserved = "10% | 1 GiB", time = "5%" }
[[configuration]]
name = "bf16"
allocated = "0.5GB"
reserved = "5.2GB"
time = "95s"
[[configuration]]
name = "fp8"
allocated = "8.9GB"
reserved = "26.0GB"
time = "87s"
[[configuration]]
name = "fp8, clear"
allocated = "0.6GB"
reserved = "15.5GB"
time = "91s"
[[configuration]]
name = "fp8, clear, expandable"
allocated = "1.1GB"
reserved = "3.0GB"
time = "127s"
"#,
    );
    let (code, table, said) = bench.table(&[]);
    let verdicts: Vec<_> = table.rows.iter().map(|row| row.verdict).collect();
    assert_eq!(
        verdicts,
        [RowVerdict::Baseline, RowVerdict::Leak, RowVerdict::Fragmentation, RowVerdict::Cured],
        "{said}"
    );
    assert!(code == 1 && table.rows[3].reading.contains("+33.7 % time"), "{}", table.rows[3].reading);
    let both = Bench::new("[[configuration]]\nname = \"a\"\nallocated = \"1GB\"\nlog = \"a.log\"\n");
    let (code, _, err) = run(&mut both.command(&[]));
    assert!(code == 2 && err.contains("keep one of them"), "{err}");
}

#[test]
fn ranks_that_ray_left_out_make_the_verdict_inconclusive() {
    let log = |repeated: &str, ranks: u32| {
        let step = |step: u32| {
            let lines = (0..ranks).map(|rank| {
                format!("(Worker[rank={rank}] pid={rank}) GPU Memory after refit complete: 0.60GB allocated, 3.00GB reserved{repeated}\n")
            });
            format!("===== Step {step}/9 =====\n{}Total step time: 9.0s\n", lines.collect::<String>())
        };
        (1..6).map(step).collect::<String>()
    };
    let plan = r#"
gate = { allocated = "10% | 1 GiB", reserved = "10% | 1 GiB", time = "5%" }
[[configuration]]
name = "base"
log = "base.log"
[[configuration]]
name = "seen"
log = "seen.log"
"#;
    let bench = Bench::new(plan);
    fs::write(bench.path("base.log"), log("", 4)).unwrap();
    fs::write(bench.path("seen.log"), log(" [repeated 62x across cluster]", 1)).unwrap();
    let (code, table, _) = bench.table(&[]);
    assert_eq!((code, table.rows[1].verdict, table.rows[1].passes), (3, RowVerdict::Unknown, None), "{table:?}");
    assert!(
        table.rows[1].notes.iter().any(|note| note.contains("62 ranks") && note.contains("RAY_DEDUP_LOGS=0")),
        "{table:?}"
    );
    fs::write(bench.path("seen.log"), log("", 4)).unwrap();
    assert_eq!(bench.table(&[]).0, 0);
}
