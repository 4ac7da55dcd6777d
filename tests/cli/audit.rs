//! Audits: kernels that cheat during timing do not pass with a false time, and honest ones are not accused.
//!
//! `the_table` prints the table of docs/integrity.md: families, and how each ends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use plimsoll::record::{Audit, EntryResult, FailureKind, Layer, Record, ValidationStatus, Values};

use crate::library::built;
use crate::support::{Scene, plimsoll, run, torch_python};

/// A kernel is accused if one of its entries ends in one of these.
const ACCUSED: [&str; 6] =
    ["time-mismatch", "stale-output", "unwritten-output", "not-a-tensor", "tampered", "mutated-input"];

/// How an entry ended: the kind of its failure, `mismatch`, or `timed`.
fn end_of(result: &EntryResult) -> &'static str {
    if let Some(failure) = result.failure() {
        return failure.kind.name();
    }
    match result.validation.as_ref().map(|validation| validation.status) {
        Some(ValidationStatus::Mismatch) => "mismatch",
        _ => "timed",
    }
}

/// What an audit found of an entry, in a line: a log of CI keeps few.
fn found(result: &EntryResult) -> String {
    let profile = result.profile.as_ref();
    let median_ns = profile.and_then(|profile| profile.statistics.as_ref()).map(|statistics| statistics.median_ns);
    let audit = profile.and_then(|profile| profile.audit.as_ref());
    let said = result.failure().map_or("", |failure| &failure.message);
    format!("{} {said} (median {median_ns:?} ns, {audit:?})", end_of(result))
}

/// The record of an audit of the kernel `name` of `audited.c`, on one entry.
fn audited(scene: &Scene, library: &Path, name: &str, flags: &[&str]) -> Record {
    let mut command = scene.command("check");
    command.arg("--kernel").arg(format!("lib:{}:{name}", library.display()));
    command.args(["--launches", "20", "--warmup", "1", "--timeout", "20s"]).args(flags);
    let record = scene.run(&mut known(&command)).1;
    let audit = record.semantics.capture().and_then(|semantics| semantics.audit.as_ref());
    let untrusted = flags.contains(&"--untrusted");
    assert_eq!(audit.map(|audit| audit.untrusted), (untrusted || flags.contains(&"--audit")).then_some(untrusted));
    record
}

/// `command` by a shell that becomes it, and so knows the number that it will have.
fn known(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "PLIMSOLL_TEST_SUPERVISOR=$$ exec \"$0\" \"$@\""]);
    shell.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

fn each_ends(flags: &[&str], kernels: &[(&str, &[&str])]) {
    let scene = Scene::new(1);
    let library = built(&scene, "tests/kernels/library/audited.c");
    let capture = std::fs::read(scene.entry(0)).unwrap();
    for (name, ends) in kernels {
        let record = audited(&scene, &library, name, flags);
        let entry = &record.results.entries[0];
        assert!(ends.contains(&end_of(entry)), "{name} is to end in {ends:?}: {}", found(entry));
        assert!(std::fs::read(scene.entry(0)).unwrap() == capture, "{name} has changed the capture");
    }
}

#[test]
fn a_library_that_keeps_results_or_knows_the_phase_is_told() {
    each_ends(
        &["--audit"],
        &[
            ("keeps_the_first", &["stale-output"]),
            ("keeps_by_address", &["stale-output"]),
            ("keeps_by_corner", &["stale-output"]),
            ("keeps_by_indices", &["stale-output"]),
            ("keeps_a_row", &["stale-output"]),
            ("keeps_the_table", &["stale-output"]),
            ("counts_launches", &["stale-output"]),
            ("computes_every_tenth", &["stale-output"]),
            ("computes_every_other", &["stale-output"]),
            ("skips_one_in_three", &["stale-output"]),
            ("sees_the_gap_before_it", &["stale-output"]),
            ("sees_a_streak_of_addresses", &["stale-output"]),
        ],
    );
}

#[test]
fn a_kernel_that_is_wrong_without_timing_is_not_accused_of_cheating() {
    let scene = Scene::new(1);
    let library = built(&scene, "tests/kernels/library/audited.c");
    let of = |command: &str| {
        let mut command = scene.command(command);
        command.arg("--kernel").arg(format!("lib:{}:is_always_wrong", library.display()));
        scene.run(command.args(["--launches", "20", "--warmup", "1", "--audit"]))
    };
    let (code, record) = of("profile");
    let failure = record.results.entries[0].failure().unwrap().clone();
    assert_eq!((code, failure.kind), (1, FailureKind::Unsupported), "{}", failure.message);
    assert!(
        failure.message.contains("is wrong by this comparison") && failure.message.contains("--compare"),
        "{failure:?}"
    );
    assert_eq!(end_of(&of("check").1.results.entries[0]), "mismatch");
}

#[test]
fn a_library_that_leaves_out_its_output_while_it_is_timed_is_told() {
    each_ends(
        &["--audit"],
        &[
            ("looks_for_what_outputs_are_filled_with", &["unwritten-output"]),
            ("writes_nothing", &["mismatch"]),
            ("writes_nothing_when_timed", &["unwritten-output"]),
            ("leaves_out_the_end_when_timed", &["unwritten-output"]),
            ("gives_zeros", &["mismatch"]),
            ("gives_zeros_when_timed", &["stale-output"]),
            ("gives_the_front_of_the_table_when_timed", &["stale-output"]),
            ("computes_in_a_thread_when_timed", &["stale-output", "unwritten-output", "late-write"]),
            ("writes_an_argument_when_timed", &["mutated-input", "stale-output"]),
        ],
    );
}

#[test]
fn a_library_that_changes_the_clock_or_speaks_for_its_worker_is_told() {
    each_ends(
        &["--untrusted"],
        &[
            ("changes_the_clock", &["time-mismatch"]),
            ("waits_for_the_processor_of_its_thread", &["time-mismatch"]),
            ("says_that_it_is_done", &["tampered", "channel-closed"]),
            ("answers_twice", &["tampered", "channel-closed"]),
            ("says_nonsense", &["tampered", "channel-closed"]),
            ("never_ends_its_line", &["tampered", "channel-closed"]),
        ],
    );
}

/// These compute correct outputs, and fail if they can reach anything that is not theirs.
#[test]
fn a_kernel_that_is_not_trusted_reaches_neither_capture_nor_record_nor_supervisor() {
    let attacks = [
        "rewrites_the_capture",
        "reads_the_answer",
        "removes_the_capture",
        "writes_the_record",
        "rewrites_itself",
        "kills_the_supervisor",
        "stops_the_supervisor",
        "traces_the_supervisor",
        "reads_the_supervisor",
        "sees_its_maps",
        "limits_the_supervisor",
        "calls_home",
        "takes_another_name_space",
    ];
    each_ends(&["--untrusted"], &attacks.map(|name| (name, &["timed"][..])));
}

#[test]
fn a_supervisor_that_is_stopped_notices_it() {
    each_ends(&["--audit"], &[("stops_the_supervisor_again_and_again", &["tampered"])]);
    each_ends(&["--untrusted"], &[("stops_the_supervisor_again_and_again", &["timed"])]);
}

/// What a worker writes before a launch, and what it does after, gives a kernel no time of its own.
#[test]
fn a_library_that_computes_beside_its_launches_is_told() {
    let scene = Scene::new(1);
    let library = built(&scene, "tests/kernels/library/traps.c");
    for (name, ends) in [
        ("computes_when_a_value_is_put_in", &["mutated-input"][..]),
        ("computes_when_its_output_is_filled", &["stale-output"]),
        ("computes_in_a_process_that_shares_all_memory", &["stale-output", "unwritten-output", "late-write"]),
        ("moves_its_output_to_memory_of_a_child", &["stale-output", "unwritten-output", "late-write"]),
        ("has_its_output_read_from_a_file", &["stale-output", "unwritten-output", "late-write"]),
        // The time for which the worker is held counts.
        ("holds_its_worker_by_a_signal", &["stale-output", "unwritten-output", "late-write", "timed"]),
        ("overwrites_its_worker_s_files", &["stale-output", "unwritten-output", "late-write", "tampered"]),
        ("ends_its_worker_as_if_all_were_well", &["exit"]),
        ("keeps_by_a_stride_of_places", &["stale-output"]),
        ("keeps_by_all_of_the_table", &["stale-output"]),
        ("keeps_by_all_of_the_indices", &["stale-output"]),
        // A launch of microseconds, less than what waking up takes.
        ("stops_the_clock", &["time-mismatch"]),
        // The handler's time counts if it ends before the output is looked at.
        ("computes_when_a_timer_rings", &["stale-output", "unwritten-output", "late-write", "timed"]),
    ] {
        let record = audited(&scene, &library, name, &["--untrusted"]);
        let entry = &record.results.entries[0];
        assert!(ends.contains(&end_of(entry)), "{name} is to end in {ends:?}: {}", found(entry));
    }
}

/// A copy of an output of megabytes takes as long as looking it up.
#[test]
fn a_thread_that_writes_ahead_of_the_copy_is_told() {
    let scene = Scene::new(1);
    let library = built(&scene, "tests/kernels/library/audited.c");
    let capture = scene.path("large");
    let mut generate = plimsoll();
    generate.args(["generate", "--preset", "embedding", "--vocab", "512", "--dim", "2048", "--seq", "256"]);
    let (code, _, err) = run(generate.args(["--entries", "1"]).arg(&capture));
    assert_eq!(code, 0, "{err}");
    for (name, ends) in [
        ("plain", &["timed"][..]),
        ("writes_ahead_of_the_copy_when_timed", &["late-write", "unwritten-output", "stale-output"]),
        ("computes_when_its_output_is_read", &["not-a-tensor"]),
    ] {
        let mut command = plimsoll();
        command.arg("check").arg(&capture).arg("--record").arg(scene.record());
        command.arg("--kernel").arg(format!("lib:{}:{name}", library.display()));
        command.args(["--launches", "20", "--warmup", "1", "--audit"]);
        let record = scene.run(&mut command).1;
        let entry = &record.results.entries[0];
        assert!(ends.contains(&end_of(entry)), "{name} is to end in {ends:?}: {}", found(entry));
    }
}

#[test]
fn its_processes_are_its_own_if_the_machine_allows_it() {
    let scene = Scene::new(1);
    let library = built(&scene, "tests/kernels/library/audited.c");
    let record = audited(&scene, &library, "sees_the_supervisor", &["--untrusted"]);
    let isolation = record.policy.capture().unwrap().isolation.clone().unwrap();
    let held = isolation.held.contains(&Layer::OwnProcesses);
    assert_eq!(held, end_of(&record.results.entries[0]) == "timed", "{isolation:?}: {:#?}", record.results);
}

#[test]
fn a_daemon_ends_with_its_worker() {
    let scene = Scene::new(1);
    let library = built(&scene, "tests/kernels/library/audited.c");
    let name = format!("daemon-{}", std::process::id());
    let mut command = scene.command("check");
    command.arg("--kernel").arg(format!("lib:{}:leaves_a_daemon", library.display()));
    command.args(["--launches", "20", "--warmup", "1", "--untrusted"]).env("PLIMSOLL_TEST_DAEMON", &name);
    let (code, record) = scene.run(&mut command);
    assert_eq!(code, 0, "{:#?}", record.results);
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let names = processes.filter_map(|process| std::fs::read_to_string(process.path().join("comm")).ok());
    assert!(!names.map(|found| found.trim().to_owned()).any(|found| found == name));
}

#[test]
fn memory_that_is_mapped_nowhere_counts_against_a_ceiling() {
    // The ceiling is far above what the kernel takes without it.
    each_ends(&["--untrusted", "--peak-rss", "200MiB"], &[("plain", &["timed"]), ("hides_memory", &["ceiling"])]);
}

#[test]
fn shared_memory_is_its_own_if_the_machine_allows_it() {
    let scene = Scene::new(1);
    let library = built(&scene, "tests/kernels/library/audited.c");
    let mut command = scene.command("check");
    command.arg("--kernel").arg(format!("lib:{}:sees_shared_memory", library.display()));
    command.args(["--launches", "20", "--warmup", "1", "--untrusted"]);
    // The name has the process that supervises, which the shell becomes.
    let mut shell = Command::new("sh");
    let script = "echo shared > /dev/shm/plimsoll-test-$$; PLIMSOLL_TEST_SUPERVISOR=$$ exec \"$0\" \"$@\"";
    shell.args(["-c", script]);
    shell.arg(command.get_program()).args(command.get_args());
    let (code, record) = scene.run(&mut shell);
    for file in std::fs::read_dir("/dev/shm").unwrap().flatten() {
        if file.file_name().to_string_lossy().starts_with("plimsoll-test-") {
            let _ = std::fs::remove_file(file.path());
        }
    }
    let isolation = record.policy.capture().unwrap().isolation.clone().unwrap();
    let held = isolation.held.contains(&Layer::OwnMemory);
    assert_eq!(held, code == 0, "{isolation:?}: {:#?}", record.results);
}

#[test]
fn honest_libraries_are_not_accused() {
    let honest = ["plain", "has_a_workspace", "writes_zeros_first", "prints", "takes_long_once"];
    each_ends(&["--untrusted"], &honest.map(|name| (name, &["timed"][..])));
}

#[test]
fn a_record_says_what_an_audit_held_a_kernel_to() {
    let scene = Scene::new(1);
    let library = built(&scene, "tests/kernels/library/audited.c");
    let record = audited(&scene, &library, "plain", &["--untrusted"]);
    let audit = record.results.entries[0].profile.as_ref().unwrap().audit.as_ref().unwrap();
    assert!(audit.follows && audit.judged >= 24 && audit.launches > audit.judged, "{audit:#?}");
    // Nobody wakes up a worker in no time.
    assert!(audit.overhead_ns > 0.0);
    let said = record.verdicts.iter().find(|verdict| verdict.subject == "profile").unwrap();
    assert!(said.message.contains("timed launches judged, on average at most "), "{}", said.message);
    // Nobody named a reference, and Plimsoll has the operator.
    let held = |audit: &Audit| (audit.values, audit.reference.clone(), audit.chosen, audit.unreferenced.clone());
    assert_eq!(held(audit), (Values::All, Some("builtin:embedding".to_owned()), true, None));
    let isolation = record.policy.capture().unwrap().isolation.as_ref().unwrap();
    assert!(!isolation.held.is_empty());
    let itself = audited(&scene, &library, "plain", &["--untrusted", "--reference", "captured"]);
    let audit = itself.results.entries[0].profile.as_ref().unwrap().audit.as_ref().unwrap();
    let why = "no implementation of torch.nn.functional.embedding is at hand";
    assert_eq!(held(audit), (Values::All, None, false, Some(why.to_owned())));
    // The same is timed in the same way.
    assert_eq!(itself.semantics_digest, record.semantics_digest);
    let said = itself.verdicts.iter().find(|verdict| verdict.subject == "profile").unwrap();
    assert!(said.message.contains("1 without a reference"), "{}", said.message);
    let plain = audited(&scene, &library, "plain", &[]);
    assert_ne!(plain.semantics_digest, record.semantics_digest);
    assert!(plain.results.entries[0].profile.as_ref().unwrap().audit.is_none());
}

#[test]
fn an_argument_that_is_declared_constant_may_be_kept() {
    let scene = Scene::new(1);
    let library = built(&scene, "tests/kernels/library/audited.c");
    let record = audited(&scene, &library, "keeps_the_table", &["--audit", "--constant", "weight"]);
    assert_eq!(end_of(&record.results.entries[0]), "timed", "{:#?}", record.results.entries[0]);
}

#[test]
fn an_argument_that_is_changed_in_place_as_declared_is_put_there_anew() {
    let scene = Scene::new(1);
    let library = built(&scene, "tests/kernels/library/audited.c");
    for (name, end) in [("writes_an_argument", "timed"), ("writes_an_argument_when_timed", "stale-output")] {
        let record = audited(&scene, &library, name, &["--audit", "--mutates", "weight"]);
        assert_eq!(end_of(&record.results.entries[0]), end, "{name}: {}", found(&record.results.entries[0]));
    }
}

/// Whatever computes them, captured values alone show nothing.
#[test]
fn an_entry_of_which_no_value_changes_fails_unless_it_is_allowed() {
    let scene = Scene::new(1);
    let library = built(&scene, "tests/kernels/library/audited.c");
    let constant = ["--audit", "--constant", "weight", "--constant", "input"];
    let reference = [&constant[..], &["--reference", "builtin:embedding"]].concat();
    let allowed = [&constant[..], &["--allow-blind", "entry_000000.pt"]].concat();
    for (flags, end) in [(&constant[..], "unsupported"), (&reference, "unsupported"), (&allowed, "timed")] {
        let record = audited(&scene, &library, "keeps_the_first", flags);
        let entry = &record.results.entries[0];
        assert_eq!(end_of(entry), end, "{flags:?}: {}", found(entry));
    }
}

#[test]
fn two_kernels_are_audited_in_turns() {
    let scene = Scene::new(1);
    let library = built(&scene, "tests/kernels/library/audited.c");
    let flags = ["--audit", "--vs", "builtin:embedding", "--pairs", "2"];
    let record = audited(&scene, &library, "plain", &flags);
    let versus = record.results.versus.as_ref().unwrap();
    assert!(versus.pairs[0].times_ns.len() == 2 && versus.entries[0].profile.as_ref().unwrap().audit.is_some());
    let record = audited(&scene, &library, "counts_launches", &flags);
    assert_eq!(end_of(&record.results.entries[0]), FailureKind::StaleOutput.name());
}

#[test]
fn flags_of_an_audit_are_refused_without_one() {
    let scene = Scene::new(1);
    for (flags, said) in
        [(&["--constant", "weight"][..], "add --audit"), (&["--audit", "--protocol", "cold"], "kernelforge or samples")]
    {
        let mut command = scene.command("check");
        let (code, _, err) = run(command.args(["--kernel", "builtin:embedding"]).args(flags));
        assert!(code == 2 && err.contains(said), "{err}");
    }
}

/// A suite of kernels in Python: an entry for each kernel.
struct Suite {
    scene: Scene,
    python: PathBuf,
    file: PathBuf,
    kernels: Vec<(String, String, Vec<String>)>,
}

impl Suite {
    fn of(which: &str) -> Option<Self> {
        Self::written("suite.py", "suite_capture.py", &[which])
    }

    /// Honest kernels, each with an operator of its own.
    fn of_forms() -> Option<Self> {
        Self::written("forms.py", "forms.py", &[])
    }

    fn written(file: &str, writer: &str, args: &[&str]) -> Option<Self> {
        let (scene, python) = (Scene::new(1), torch_python()?);
        let mut command = Command::new(&python);
        let (code, out, err) = run(command.arg(cheats(writer)).arg(scene.path("suite")).args(args));
        assert_eq!(code, 0, "{err}");
        Some(Self { scene, python, file: cheats(file), kernels: serde_json::from_str(&out).unwrap() })
    }

    fn reference(&self) -> String {
        format!("py:{}:reference", self.file.display())
    }

    /// How the entry of each kernel ends.
    fn ends(&self, flags: &[&str]) -> Vec<(&'static str, String)> {
        let mut command = check_in_python(&self.scene, &self.scene.path("suite"), &self.file, &self.python);
        command.args(flags);
        for (at, (.., ends)) in self.kernels.iter().enumerate() {
            if ends.iter().any(|end| end == "blind") {
                command.args(["--allow-blind", &format!("entry_{at:06}.pt")]);
            }
        }
        if self.file.ends_with("forms.py") {
            // With threads of OpenMP that spin between launches, as users have them.
            command.env_remove("OMP_WAIT_POLICY");
        }
        self.scene.run(&mut command).1.results.entries.iter().map(|result| (end_of(&result), found(&result))).collect()
    }
}

/// A check of the function `launch` of `file` on `capture`.
fn check_in_python(scene: &Scene, capture: &Path, file: &Path, python: &Path) -> Command {
    let mut command = plimsoll();
    command.arg("check").arg(capture).arg("--record").arg(scene.record());
    command.arg("--kernel").arg(format!("py:{}:launch", file.display()));
    command.arg("--python").arg(python).args(["--warmup", "1", "--launches", "40"]);
    command
}

fn cheats(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/kernels/cheats").join(file)
}

#[test]
fn honest_kernels_are_not_accused() {
    let Some(suite) = Suite::of("honest") else { return };
    assert!(suite.kernels.len() >= 40);
    let ends = suite.ends(&["--untrusted", "--reference", &suite.reference()]);
    let accused: Vec<_> = suite.kernels.iter().zip(ends).filter(|(_, end)| end.0 != "timed").collect();
    assert!(accused.is_empty(), "{accused:#?}");
}

/// Outputs and arguments of other forms, with a reference and without.
#[test]
fn honest_kernels_of_any_form_are_not_accused() {
    let Some(suite) = Suite::of_forms() else { return };
    let reference = suite.reference();
    let (by_reference, by_itself) = thread::scope(|scope| {
        let by_itself = scope.spawn(|| Suite::of_forms().unwrap().ends(&["--untrusted"]));
        (suite.ends(&["--untrusted", "--reference", &reference]), by_itself.join().unwrap())
    });
    for ends in [by_reference, by_itself] {
        assert_eq!(ends.len(), suite.kernels.len());
        let accused: Vec<_> = suite.kernels.iter().zip(ends).filter(|(_, end)| end.0 != "timed").collect();
        assert!(accused.is_empty(), "{accused:#?}");
    }
}

/// Large arguments mostly change at some places only, which kernels may look for.
#[test]
fn kernels_that_look_at_samples_of_large_arguments_are_detected() {
    let Some(suite) = Suite::written("sampled.py", "sampled.py", &[]) else { return };
    let ends = suite.ends(&["--untrusted", "--reference", &suite.reference()]);
    assert_eq!(ends.len(), suite.kernels.len());
    let wrong = suite.kernels.iter().zip(ends).filter(|((.., ends), (end, _))| !ends.iter().any(|one| one == end));
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What a launch took is not among the numbers that its kernel finds.
#[test]
fn a_kernel_that_changes_numbers_in_frames_is_timed_as_long_as_it_takes() {
    let Some(python) = torch_python() else { return };
    let (scene, kernel) = (Scene::new(1), cheats("frames.py"));
    let (code, _, err) = run(Command::new(&python).arg(&kernel).arg(scene.path("frames")));
    assert_eq!(code, 0, "{err}");
    let mut command = check_in_python(&scene, &scene.path("frames"), &kernel, &python);
    let record = scene.run(command.args(["--audit", "--protocol", "samples"])).1;
    let entry = &record.results.entries[0];
    let profile = entry.profile.as_ref().unwrap_or_else(|| panic!("{}", found(entry)));
    // The launch sleeps for a millisecond.
    assert!(profile.statistics.as_ref().is_some_and(|times| times.min_ns >= 1e6), "{}", found(entry));
}

/// Without a reference, another implementation of the operator shows what is wrong alike in every process.
#[test]
fn kernels_that_are_wrong_alike_are_told_by_an_implementation_of_their_operator() {
    let Some(python) = torch_python() else { return };
    let scene = Scene::new(1);
    let (code, out, err) = run(Command::new(&python).arg(cheats("alike.py")).arg(scene.path("alike")));
    assert_eq!(code, 0, "{err}");
    let functions: BTreeMap<String, Vec<(String, String)>> = serde_json::from_str(&out).unwrap();
    let ends = |(function, kernels): &(String, Vec<(String, String)>)| {
        let (scene, capture) = (Scene::new(1), scene.path("alike").join(function));
        let mut command = check_in_python(&scene, &capture, &cheats("alike.py"), &python);
        let record = scene.run(command.arg("--untrusted")).1;
        assert_eq!(record.results.entries.len(), kernels.len());
        let mut wrong = Vec::new();
        for ((name, end), entry) in kernels.iter().zip(record.results.entries.iter()) {
            let audit = entry.profile.as_ref().and_then(|profile| profile.audit.as_ref());
            if end_of(&entry) != end || audit.is_some_and(|audit| !audit.chosen) {
                wrong.push(format!("{name}: {end} expected; {} {audit:?}", found(&entry)));
            }
        }
        wrong
    };
    // Two at a time: most of the time goes into the import of torch.
    let functions: Vec<_> = functions.into_iter().collect();
    let wrong: Vec<String> = thread::scope(|scope| {
        let parts = functions.chunks(functions.len().div_ceil(2));
        let parts = parts.map(|part| scope.spawn(|| part.iter().flat_map(ends).collect::<Vec<_>>()));
        parts.collect::<Vec<_>>().into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_cheat_passes_with_a_false_time() {
    let Some(suite) = Suite::of("cheats") else { return };
    let reference = suite.reference();
    // Side by side, because a cheat is one on a busy machine, too; on a capture of its own, which a cheat may change.
    let (by_reference, by_itself) = thread::scope(|scope| {
        let by_itself = scope.spawn(|| Suite::of("cheats").unwrap().ends(&["--audit"]));
        (suite.ends(&["--untrusted", "--reference", &reference]), by_itself.join().unwrap())
    });
    let mut table: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    let mut wrong = Vec::new();
    for ((name, family, ends), judged) in suite.kernels.iter().zip(by_reference.iter().zip(&by_itself)) {
        let ((held, by_reference), (alone, by_itself)) = judged;
        let computed = ends.iter().any(|end| end == "true-time");
        let as_expected = |end: &str| ends.iter().any(|one| one == end) || (computed && end == "timed");
        if !as_expected(held) || !(as_expected(alone) || ACCUSED.contains(alone)) {
            wrong.push(format!("{name}: {ends:?} expected; with a reference {by_reference}; without {by_itself}"));
        }
        let row = table.entry(family).or_default();
        row[0] += 1;
        row[1] += usize::from(*held != "timed");
        row[2] += usize::from(*alone != "timed");
        row[3] += usize::from(computed);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    println!("| family | kernels | detected, with a reference | without | compute what is timed |");
    for (family, [all, held, alone, computed]) in table {
        println!("| {family} | {all} | {held} | {alone} | {computed} |");
    }
}
