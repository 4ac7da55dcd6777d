//! Shards and ranks as one record, and incomplete sets of them.

use std::fs;
use std::process::{Command, Stdio};

use plimsoll::record::{Record, RunState};

use crate::support::{Scene, comes, plimsoll, run};

const KERNEL: [&str; 6] = ["--kernel", "builtin:embedding", "--launches", "1", "--warmup", "0"];

fn check(scene: &Scene, flags: &[&str]) -> Command {
    let mut command = plimsoll();
    command.arg("check").arg(scene.capture()).args(KERNEL).args(flags).current_dir(scene.path(""));
    command
}

fn merge(scene: &Scene, flags: &[&str]) -> (i32, String, String) {
    run(plimsoll().arg("merge").args(flags).current_dir(scene.path("")))
}

fn read(scene: &Scene, name: &str) -> Record {
    Record::read(&scene.path(name)).unwrap()
}

#[test]
fn shards_have_the_digest_of_the_whole_and_rows_in_reports() {
    let scene = Scene::new(5);
    assert_eq!(run(&mut check(&scene, &["--record", "whole.json"])).0, 0);
    for shard in ["1/2", "2/2"] {
        assert_eq!(run(&mut check(&scene, &["--shard", shard])).0, 0);
    }
    let parts = ["plimsoll-record-1-of-2.json", "plimsoll-record-2-of-2.json"];
    let reports = ["--html", "page.html", "--markdown", "page.md"];
    let (code, out, err) = merge(&scene, &[&parts[..], &["--out", "all.json"], &reports].concat());
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("5 of 2 parts") && out.contains("1 of 2") && out.contains("✓ validation"), "{out}");
    let (whole, all) = (read(&scene, "whole.json"), read(&scene, "all.json"));
    assert_eq!((whole.semantics_digest, whole.semantics), (all.semantics_digest, all.semantics));
    assert_eq!((all.parts.len(), all.state), (2, RunState::Complete));
    let page = fs::read_to_string(scene.path("page.html")).unwrap();
    assert!(page.contains("<h2>2 shards</h2>"));
    assert!(fs::read_to_string(scene.path("page.md")).unwrap().contains("<summary>2 shards</summary>"));
    let (_, out, _) = run(plimsoll().arg("report").arg("all.json").current_dir(scene.path("")));
    assert!(out.contains("entry_000004.pt") && out.contains("2 of 2"), "{out}");

    // One is missing: nothing is written, and the command that runs it is printed.
    let (code, _, err) = merge(&scene, &[parts[0], "--out", "gap.json"]);
    assert!(
        code == 2 && err.contains("2 of 5 entries are missing") && err.contains("shard 2 of 2 (no record)"),
        "{err}"
    );
    assert!(err.contains("--shard 2/2 --record shard-2-of-2.json") && !scene.path("gap.json").exists(), "{err}");
    let (code, _, err) = merge(&scene, &[parts[0], parts[0], "--out", "twice.json"]);
    assert!(code == 2 && err.contains("both have a result of entry_000000.pt"), "{err}");
    let (code, ..) = merge(&scene, &[parts[0], "--partial", "--out", "partial.json"]);
    assert_eq!((code, read(&scene, "partial.json").state), (3, RunState::Interrupted));
    let (code, ..) = merge(&scene, &["partial.json", parts[1], "--out", "joined.json"]);
    let joined = read(&scene, "joined.json");
    assert_eq!((code, joined.parts, joined.results), (0, all.parts, all.results));
}

#[test]
fn a_shard_that_was_killed_leaves_a_record_that_is_resumed() {
    let scene = Scene::new(6);
    let partial = scene.path("one.json.partial");
    let timed = |record: &Record| record.results.entries.iter().filter(|entry| entry.profile.is_some()).count();
    // Finished entries are saved every second. A machine on which three entries take less gets more launches.
    let launches = (0..).map(|times| (20_000_u64 << (2 * times)).to_string()).find(|launches| {
        // What an earlier try left would be taken for this one's.
        let _ = std::fs::remove_file(&partial);
        let mut killed = plimsoll();
        killed.arg("check").arg(scene.capture()).args(["--kernel", "builtin:embedding", "--launches", launches]);
        killed.args(["--shard", "1/2", "--record", "one.json"]).current_dir(scene.path(""));
        let mut running = killed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let is_kept = || Record::read(&partial).is_ok_and(|record| timed(&record) > 0);
        assert!(comes(|| is_kept() || running.try_wait().unwrap().is_some()));
        running.kill().unwrap();
        running.wait().unwrap();
        Record::read(&partial).is_ok_and(|record| (1..3).contains(&timed(&record)))
    });
    let launches = launches.unwrap();
    let left = Record::read(&partial).unwrap();
    let done = timed(&left);
    assert!(left.shard.as_ref().unwrap().timing.is_some(), "what ran beside it is known, too");
    assert_eq!((left.state, left.exit_code, left.results.entries.len()), (RunState::Interrupted, 3, 3));
    let mut other = plimsoll();
    other.arg("check").arg(scene.capture()).args(["--kernel", "builtin:embedding", "--launches", &launches]);
    assert_eq!(run(other.args(["--shard", "2/2", "--record", "two.json"]).current_dir(scene.path(""))).0, 0);

    let (code, _, err) = merge(&scene, &["one.json.partial", "two.json", "--out", "all.json"]);
    assert!(code == 2 && err.contains("entries of shard 1 of 2"), "{err}");
    let command = err.lines().find(|line| line.contains("--resume")).unwrap_or_else(|| panic!("{err}"));
    assert!(command.ends_with("--shard 1/2 --resume one.json.partial --record one.json"), "{command}");
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    let (code, out, err) = run(plimsoll().args(words).current_dir(scene.path("")));
    assert_eq!(code, 0, "{out}{err}");
    let resumed = read(&scene, "one.json");
    let counts: Vec<usize> = resumed.parts.iter().map(|part| part.shard.as_ref().unwrap().places.len()).collect();
    assert_eq!((counts.iter().sum::<usize>(), counts.contains(&done)), (3, true), "good entries are not run again");
    assert!(resumed.parts.iter().all(|part| part.environment.versions == left.environment.versions));
    // A kept result has exactly the bytes from the killed run.
    let kept = left.results.entries.iter().find(|entry| entry.profile.is_some()).unwrap();
    let again = resumed.results.entries.iter().find(|entry| entry.name == kept.name).unwrap();
    assert_eq!(again.profile, kept.profile);
    let (code, _, err) = merge(&scene, &["one.json", "two.json", "--out", "all.json"]);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn a_run_on_the_whole_capture_is_resumed_too() {
    let scene = Scene::new(3);
    assert_eq!(run(&mut check(&scene, &["--record", "whole.json"])).0, 0);
    let mut left = read(&scene, "whole.json");
    left.state = RunState::Interrupted;
    left.results.entries[1].profile = None;
    plimsoll::record::write_record(&scene.path("left.json"), &left).unwrap();
    let (code, out, err) = run(&mut check(&scene, &["--resume", "left.json", "--record", "again.json"]));
    assert_eq!(code, 0, "{out}{err}");
    let (whole, again) = (read(&scene, "whole.json"), read(&scene, "again.json"));
    assert_eq!((whole.semantics_digest, again.state), (again.semantics_digest, RunState::Complete));
    let places: Vec<_> = again.parts.iter().map(|part| part.shard.as_ref().unwrap().places.clone()).collect();
    assert_eq!(places, [vec![0, 2], vec![1]]);
    // Nothing is left to run.
    let (code, ..) = run(&mut check(&scene, &["--resume", "again.json", "--record", "third.json"]));
    assert_eq!((code, read(&scene, "third.json").results), (0, again.results));
    // A different capture is not resumed.
    let other = Scene::new(2);
    let path = scene.path("left.json").display().to_string();
    let (code, _, err) = run(&mut check(&other, &["--resume", &path]));
    assert!(code == 2 && err.contains("its entries have other names or sizes"), "{err}");
}

#[test]
fn ranks_of_a_command_make_one_record() {
    let scene = Scene::new(1);
    for rank in 0..3u32 {
        let variables = [
            ("OMPI_COMM_WORLD_RANK", rank.to_string()),
            ("OMPI_COMM_WORLD_SIZE", "3".to_owned()),
            ("OMPI_COMM_WORLD_LOCAL_RANK", rank.to_string()),
        ];
        let hold =
            "import os,time; x = bytearray((1 + int(os.environ['OMPI_COMM_WORLD_RANK'])) << 25); time.sleep(0.3)";
        let mut command = plimsoll();
        command.args(["run", "--quiet", "--peak-rss", "80MiB", "--record", "mem-%r.json", "--", "python3", "-c", hold]);
        let (code, _, err) = run(command.envs(variables).current_dir(scene.path("")));
        assert_eq!(code, i32::from(rank == 2), "{err}");
    }
    let (code, out, err) = merge(&scene, &["mem-0.json", "mem-1.json", "mem-2.json", "--out", "all.json"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("imbalance") && out.contains("rank 2 of 3 has the largest peak RSS"), "{out}");
    let all = read(&scene, "all.json");
    let ceiling = all.verdicts.iter().find(|verdict| verdict.ceiling.is_some()).unwrap();
    assert!(ceiling.message.ends_with("; rank 2 of 3 was the worst by it"), "{}", ceiling.message);
    let (code, _, err) = merge(&scene, &["mem-0.json", "mem-2.json", "--out", "gap.json"]);
    assert!(code == 2 && err.contains("1 of 3 ranks are missing: rank 1"), "{err}");
    // Without a launcher a rank has no number.
    let (code, _, err) =
        run(plimsoll().args(["run", "--record", "m-%r.json", "--", "true"]).current_dir(scene.path("")));
    assert!(code == 2 && err.contains("nothing says what `%r` stands for"), "{err}");
    let (_, _, err) = run(plimsoll()
        .args(["run", "--record", "m.json", "--", "true"])
        .env("RANK", "0")
        .env("WORLD_SIZE", "2")
        .env("LOCAL_RANK", "0")
        .current_dir(scene.path("")));
    assert!(err.contains("the 2 processes of torchrun all write m.json: put %r into its name"), "{err}");
}
