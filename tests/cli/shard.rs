//! Shards: the number of this one, the entries of each, and commands that take one.

use std::fs;
use std::process::Command;

use plimsoll::record::{Record, TimedBeside};
use serde_json::Value;

use crate::support::{Scene, comes, plimsoll, run};

const KERNEL: [&str; 6] = ["--kernel", "builtin:embedding", "--launches", "1", "--warmup", "0"];

/// `command` without the variables of a launcher that the tests themselves may run under.
fn alone(mut command: Command) -> Command {
    for (name, _) in std::env::vars() {
        let prefixes = ["SLURM", "OMPI", "PMI", "CI_NODE", "CIRCLE", "BUILDKITE", "SEMAPHORE", "GITHUB", "JENKINS"];
        if prefixes.iter().any(|prefix| name.starts_with(prefix)) || ["RANK", "WORLD_SIZE"].contains(&&*name) {
            command.env_remove(name);
        }
    }
    command
}

fn shard(scene: &Scene, flags: &[&str], variables: &[(&str, &str)]) -> (i32, String, String) {
    let mut command = alone(plimsoll());
    command.arg("shard").arg(scene.capture()).args(flags).envs(variables.iter().copied());
    run(&mut command)
}

fn check(scene: &Scene, shard: &str, record: &str) -> Command {
    let mut command = alone(plimsoll());
    command.arg("check").arg(scene.capture()).args(KERNEL).args(["--shard", shard, "--record"]).arg(scene.path(record));
    command
}

#[test]
fn what_is_found_and_what_each_share_holds_is_shown() {
    let scene = Scene::new(5);
    let variables = [
        ("SLURM_PROCID", "1"),
        ("SLURM_NTASKS", "2"),
        ("SLURM_LOCALID", "1"),
        ("CI_NODE_INDEX", "1"),
        ("CI_NODE_TOTAL", "4"),
    ];
    let (code, out, _) = shard(&scene, &[], &variables);
    assert_eq!(code, 0, "{out}");
    let capture = scene.capture().display().to_string();
    let lines: Vec<String> =
        out.lines().map(|line| line.replace(&capture, "cap")).filter(|line| !line.contains("manifest")).collect();
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("cli_shard", lines.join("\n"));
    });
    let (_, out, _) = shard(&scene, &["--json"], &variables);
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&json["index"], &json["count"], &json["found"]["launcher"]),
        (&2.into(), &2.into(), &"Slurm step".into())
    );
    assert_eq!(json["capture"]["shares"][1]["entries"], serde_json::json!(["entry_000001.pt", "entry_000003.pt"]));
    assert_eq!(json["found"]["unused"][0]["launcher"], "GitLab parallel");
}

#[test]
fn a_launcher_that_makes_no_sense_is_an_error() {
    let scene = Scene::new(1);
    for (flags, variables, says) in [
        (&[][..], &[("RANK", "4"), ("WORLD_SIZE", "4")][..], "RANK=`4` is not an index of one of its 4 processes"),
        (&[], &[("JOB_COMPLETION_INDEX", "1")], "give the number of shards, --shard auto/N"),
        (&["--shard", "auto/2"], &[("RANK", "0"), ("WORLD_SIZE", "4")], "contradict each other"),
        (&[], &[("GITHUB_ACTIONS", "true")], "--shard ${{ matrix.shard }}/${{ strategy.job-total }}"),
        (&[], &[], "no launcher says which shard this is"),
        (&["--shard", "3/2"], &[], "`3/2` is not a shard"),
    ] {
        let (code, out, err) = shard(&scene, flags, variables);
        assert!(code == 2 && err.contains(says), "{code} {out} {err}");
    }
}

#[test]
fn a_shard_runs_its_entries_and_says_which_they_are() {
    let scene = Scene::new(5);
    let (code, _, err) = run(check(&scene, "auto", "%r-of-%n.json").envs([
        ("SLURM_PROCID", "1"),
        ("SLURM_NTASKS", "2"),
        ("SLURM_LOCALID", "0"),
        ("SLURM_NODEID", "1"),
        ("SLURM_STEP_TASKS_PER_NODE", "1(x2)"),
    ]));
    assert_eq!(code, 0, "{err}");
    let record = Record::read(&scene.path("1-of-1.json")).unwrap();
    let names: Vec<String> = record.results.entries.iter().map(|entry| entry.name.clone()).collect();
    assert_eq!(names, ["entry_000001.pt", "entry_000003.pt"]);
    let shard = record.shard.unwrap();
    assert_eq!((shard.index, shard.count, &*shard.places, shard.entries), (2, 2, &[1, 3][..], 2));
    assert_eq!((shard.capture.entries, shard.bytes.bytes() * 5), (5, shard.capture.bytes.bytes() * 2));
    let rank = record.rank.unwrap();
    assert_eq!(
        (&*rank.launcher, rank.rank, rank.ranks, rank.node, rank.node_ranks),
        ("Slurm step", 1, 2, Some(1), Some(1))
    );
    assert!(record.environment.hostname.is_some());
}

#[test]
fn a_shard_without_entries_holds() {
    let scene = Scene::new(2);
    let (code, out, err) = run(&mut check(&scene, "3/3", "empty.json"));
    assert_eq!(code, 0, "{out}{err}");
    let record = Record::read(&scene.path("empty.json")).unwrap();
    assert!(record.results.entries.is_empty() && record.shard.unwrap().places.is_empty());
}

#[test]
fn shards_of_a_node_take_turns_or_say_that_they_did_not() {
    let scene = Scene::new(2);
    let temporary = scene.path("tmp");
    fs::create_dir(&temporary).unwrap();
    let timing = |flags: &[&str], variables: &[(&str, &str)]| {
        let mut command = check(&scene, if variables.is_empty() { "1/2" } else { "auto" }, "timed.json");
        command.args(flags).env("TMPDIR", &temporary).envs(variables.iter().copied());
        let (code, _, err) = run(&mut command);
        assert_eq!(code, 0, "{err}");
        Record::read(&scene.path("timed.json")).unwrap().shard.unwrap().timing
    };
    let several = [
        ("OMPI_COMM_WORLD_RANK", "0"),
        ("OMPI_COMM_WORLD_SIZE", "2"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
    ];
    assert_eq!(timing(&[], &[]), Some(TimedBeside::Alone));
    assert_eq!(timing(&["--profile-exclusive"], &[]), Some(TimedBeside::InTurns));
    assert_eq!(timing(&[], &several), Some(TimedBeside::InTurns));
    // Pretends that another shard runs on the node.
    let lock = fs::read_dir(&temporary).unwrap().map(|item| item.unwrap().path());
    let lock = lock.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "lock")).unwrap();
    let other = fs::File::open(&lock).unwrap();
    rustix::fs::flock(&other, rustix::fs::FlockOperation::LockShared).unwrap();
    assert_eq!(timing(&["--profile-exclusive=never"], &several), Some(TimedBeside::Shared));
    // A shard that should take turns waits for it.
    let waiting = check(&scene, "1/2", "waited.json").arg("--profile-exclusive").env("TMPDIR", &temporary).spawn();
    let mut waiting = waiting.unwrap();
    let partial = scene.path("waited.json.partial");
    let waits = || fs::read_to_string("/proc/locks").is_ok_and(|locks| !locks.is_empty()) && waiting.id() > 0;
    assert!(comes(waits) && !partial.exists());
    assert!(waiting.try_wait().unwrap().is_none(), "it does not time beside another");
    drop(other);
    assert!(waiting.wait().unwrap().success());
    let record = Record::read(&scene.path("waited.json")).unwrap();
    assert_eq!(record.shard.unwrap().timing, Some(TimedBeside::InTurns));
}

#[test]
fn a_store_is_packed_and_verified_in_shards() {
    let scene = Scene::new(5);
    let store = scene.path("store");
    let pack =
        |flags: &[&str]| run(alone(plimsoll()).arg("pack").arg(scene.capture()).arg("--out").arg(&store).args(flags));
    let (code, _, err) = pack(&["--shard", "1/2", "--move"]);
    assert!(code == 2 && err.contains("pack all shards, verify the store, then delete"), "{err}");
    assert_eq!(pack(&["--shard", "1/2"]).0, 0);
    assert_eq!(fs::read_dir(store.join("captures/capture")).unwrap().count(), 3);
    assert_eq!(pack(&["--shard", "2/2"]).0, 0);
    assert_eq!(fs::read_dir(store.join("captures/capture")).unwrap().count(), 5);

    let verify = |shard: &str| {
        let (code, out, err) = run(alone(plimsoll()).arg("verify").arg(&store).args(["--json", "--shard", shard]));
        let json: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error} {out} {err}"));
        (code, json["entries"].as_u64().unwrap())
    };
    assert_eq!([verify("1/2"), verify("2/2")], [(0, 3), (0, 2)]);
    assert_eq!(verify("9/9"), (0, 0));
    // The first shard, and only that one, reads objects that no entry uses.
    let objects = store.join("objects");
    let fan = fs::read_dir(&objects).unwrap().next().unwrap().unwrap().path();
    let object = fs::read_dir(&fan).unwrap().next().unwrap().unwrap().file_name().into_string().unwrap();
    let unused = fan.join(format!("{}{}", &object[..2], "0".repeat(object.len() - 2)));
    fs::write(&unused, "damaged").unwrap();
    assert_eq!([verify("1/2").0, verify("2/2").0], [1, 0]);
}

#[test]
fn auto_is_the_cpu_where_there_is_no_gpu() {
    let scene = Scene::new(1);
    if plimsoll().arg("devices").output().unwrap().status.success() {
        return;
    }
    let (code, record) =
        scene.run(scene.command("validate").args(["--kernel", "builtin:embedding", "--device", "auto"]));
    assert_eq!((code, record.semantics.capture().unwrap().device.is_cpu()), (0, true));
}
