//! Whatever is killed, closed or missing, `plimsoll run` leaves no process behind and reports the cause.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll::meter::{Metric, process_tree};
use plimsoll::record::{Record, RunState, VerdictStatus};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::OpenptFlags;

use crate::run::sleeps;
use crate::support::{comes, plimsoll, run, writer_of};

fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

/// The state letter of a process; `None` if it is gone.
fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat[stat.rfind(')')? + 2..].chars().next()
}

/// `plimsoll run -- sh -c SCRIPT` in its own folder, and what it leaves there.
struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn command(&self, script: &str) -> Command {
        let mut command = plimsoll();
        command.args(["run", "--record", "record.json", "--", "sh", "-c", script]);
        command.current_dir(self.dir.path()).stdout(Stdio::null()).stderr(File::create(self.path("report")).unwrap());
        command
    }

    fn start(&self, script: &str) -> Child {
        // A group of its own with a parent outside: the kernel ignores SIGTSTP in an orphaned group.
        let child = self.command(script).process_group(0).spawn().unwrap();
        assert!(comes(|| self.path("ready").exists()), "{}", self.text("report"));
        child
    }

    /// On its own terminal, whose other side is returned as well: writing to it is typing.
    fn on_a_terminal(&self, script: &str) -> (Child, OwnedFd) {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = rustix::pty::openpt(flags).unwrap();
        rustix::pty::grantpt(&ours).unwrap();
        rustix::pty::unlockpt(&ours).unwrap();
        let name = rustix::pty::ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let terminal = File::options().read(true).write(true).open(&name).unwrap();
        let command = self.command(script);
        let mut session = Command::new("setsid");
        // A test run started in the background ignores these signals, and its children inherit that.
        session.args(["--ctty", "--", "env", "--default-signal=INT,HUP,QUIT"]);
        session.arg(command.get_program()).args(command.get_args());
        session.current_dir(self.dir.path()).env("NO_COLOR", "1");
        session.stdin(terminal.try_clone().unwrap()).stdout(terminal.try_clone().unwrap());
        let child = session.stderr(File::create(self.path("report")).unwrap()).spawn().unwrap();
        assert!(comes(|| self.path("ready").exists()), "{}", self.text("report"));
        (child, ours)
    }

    fn partial(&self) -> Record {
        Record::read(&self.path("record.json.partial")).unwrap()
    }
}

/// A shell that leaves behind a daemon, an orphan in its own session and a child that ignores termination; each sleeps
/// for a known number of seconds, which identifies it.
fn scatters(mark: &str) -> String {
    format!(
        "(setsid sh -c 'sleep {mark} & sleep {mark}' &); (sh -c 'trap \"\" TERM; sleep {mark}; :' &) ; sleep {mark} & \
         until test -e record.json.partial; do sleep 0.05; done; touch ready; wait"
    )
}

#[test]
fn a_kill_of_plimsoll_leaves_no_process_and_a_partial_record() {
    let (scene, mark) = (Scene::new(), format!("77{}", std::process::id()));
    let mut child = scene.start(&scatters(&mark));
    assert!(comes(|| sleeps(&mark)));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(comes(|| !sleeps(&mark)), "a process is left");
    let notice = "plimsoll was killed, and ended the command with it. What was read is in record.json.partial";
    assert!(comes(|| scene.text("report").contains(notice)), "{}", scene.text("report"));
    let record = scene.partial();
    assert_eq!(record.state, RunState::Interrupted);
    assert!(record.phases[0].readings.contains_key(&Metric::PeakRss) && record.end.is_some(), "{record:?}");
    assert!(!scene.path("record.json").exists());
}

#[test]
fn a_kill_of_the_meter_leaves_no_process_and_a_partial_record() {
    let (scene, mark) = (Scene::new(), format!("76{}", std::process::id()));
    let mut child = scene.start(&scatters(&mark));
    // However rarely a slow machine is sampled, a later partial record shows what the processes took.
    let peak = |record: &Record| record.phases[0].readings[&Metric::PeakRss].bytes.bytes();
    let path = scene.path("record.json.partial");
    assert!(comes(|| Record::read(&path).is_ok_and(|record| peak(&record) > 1 << 20)));
    let meter = process_tree(child.id()).unwrap()[1].pid;
    send(meter, Signal::KILL);
    assert_eq!(child.wait().unwrap().code(), Some(137));
    assert!(!sleeps(&mark), "a process is left");
    assert!(scene.text("report").contains("the meter was killed by signal 9"), "{}", scene.text("report"));
    let record = scene.partial();
    assert_eq!((record.state, record.verdicts[0].status), (RunState::Interrupted, VerdictStatus::Inconclusive));
    assert!(record.verdicts[0].message.starts_with("it had not ended when this was written"), "{record:?}");
    assert!(peak(&record) > 1 << 20, "{record:?}");
}

#[test]
fn a_whole_run_leaves_no_partial_record() {
    let scene = Scene::new();
    let mut child = scene.start("touch ready; while ! test -e record.json.partial; do sleep 0.05; done; exit 4");
    assert_eq!(child.wait().unwrap().code(), Some(4));
    assert!(scene.path("record.json").exists() && !scene.path("record.json.partial").exists());
}

#[test]
fn a_terminal_that_is_closed_hangs_the_command_up() {
    let scene = Scene::new();
    let script = "trap 'echo hup > got; exit 6' HUP; touch ready; while :; do sleep 0.05; done";
    let (mut child, ours) = scene.on_a_terminal(script);
    drop(ours);
    assert_eq!(child.wait().unwrap().code(), Some(6));
    assert_eq!(scene.text("got"), "hup\n");
}

#[test]
fn the_keys_of_a_terminal_reach_the_command_once() {
    let scene = Scene::new();
    let script = "trap 'echo int >> got' INT; test -t 0 && test -t 1 && echo tty >> got; touch ready; \
                  while ! test -e go; do sleep 0.05; done; exit 5";
    let (mut child, ours) = scene.on_a_terminal(script);
    let mut keys = File::from(ours);
    keys.write_all(b"\x03").unwrap();
    assert!(comes(|| scene.text("got") == "tty\nint\n"), "{}", scene.text("got"));
    // Ctrl-Z is meant for jobs of a shell: this process has no shell to continue it, so the kernel ignores it.
    keys.write_all(b"\x1a").unwrap();
    std::thread::sleep(Duration::from_millis(200));
    fs::write(scene.path("go"), "").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5));
    assert_eq!(scene.text("got"), "tty\nint\n");
}

#[test]
fn a_stop_and_a_continuation_reach_the_command() {
    let scene = Scene::new();
    let mut child = scene.start("echo $$ > pid; touch ready; while ! test -e go; do sleep 0.02; done; exit 8");
    let command: u32 = scene.text("pid").trim().parse().unwrap();
    send(child.id(), Signal::TSTP);
    assert!(comes(|| state(command) == Some('T')), "{:?}", state(command));
    send(child.id(), Signal::CONT);
    assert!(comes(|| state(command) != Some('T')), "{:?}", state(command));
    fs::write(scene.path("go"), "").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(8));
}

#[test]
fn what_waits_for_its_configuration_can_be_ended() {
    let scene = Scene::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, scene.path("pipe"), 0o600.into()).unwrap();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut command = plimsoll();
        command.args(["run", "--config", "pipe", "--", "touch", "started"]).current_dir(scene.dir.path());
        let mut child = command.process_group(0).spawn().unwrap();
        let writer = writer_of(&scene.path("pipe"));
        send(child.id(), signal);
        assert_eq!(child.wait().unwrap().code(), Some(128 + signal.as_raw()));
        let written = rustix::io::write(writer, b"x");
        assert_eq!(written, Err(rustix::io::Errno::PIPE), "the meter still reads");
    }
    assert!(!scene.path("started").exists());
}

#[test]
fn a_signal_that_is_ignored_stays_ignored_and_others_are_handed_on() {
    let scene = Scene::new();
    let run = scene.command(
        "trap 'echo usr >> got' USR1; trap 'echo end >> got; exit 3' TERM; touch ready; \
                             while :; do sleep 0.02; done",
    );
    let mut ignoring = Command::new("sh");
    ignoring.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(run.get_program()).args(run.get_args());
    ignoring.current_dir(scene.dir.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = ignoring.spawn().unwrap();
    assert!(comes(|| scene.path("ready").exists()));
    send(child.id(), Signal::HUP);
    send(child.id(), Signal::USR1);
    assert!(comes(|| scene.text("got") == "usr\n"), "{}", scene.text("got"));
    send(child.id(), Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert_eq!(scene.text("got"), "usr\nend\n");
}

/// A command in its own mount namespace after `setup`; `None` if this process lacks the permission.
pub fn elsewhere(setup: &str, command: &Command) -> Option<(i32, String)> {
    let mut unshared = Command::new("unshare");
    unshared.args(["-m", "sh", "-c", &format!("({setup}) >/dev/null 2>&1 || exit 99; exec \"$@\""), "sh"]);
    unshared.arg(command.get_program()).args(command.get_args()).env("NO_COLOR", "1");
    let (code, _, report) = run(unshared.stdin(Stdio::null()));
    if code == 99 || (code == 1 && report.starts_with("unshare")) {
        println!("not possible here: {setup}");
        return None;
    }
    Some((code, report))
}

#[test]
fn a_full_disk_is_found_before_the_command_runs() {
    let scene = Scene::new();
    let disk = scene.path("disk");
    fs::create_dir(&disk).unwrap();
    let mut command = plimsoll();
    command.args(["run", "--record"]).arg(disk.join("record.json")).args(["--", "touch"]).arg(scene.path("ran"));
    let setup = format!("mount -t tmpfs -o size=64k tmpfs {}", disk.display());
    let Some((code, report)) = elsewhere(&setup, &command) else { return };
    assert_eq!(code, 2, "{report}");
    assert!(report.contains("record.json") && report.contains("space"), "{report}");
    assert!(!scene.path("ran").exists());
}

#[test]
fn without_proc_nothing_runs_and_the_message_says_what_lacks() {
    let scene = Scene::new();
    let mut command = plimsoll();
    command.args(["run", "--", "touch"]).arg(scene.path("ran"));
    let Some((code, report)) = elsewhere("mount -t tmpfs tmpfs /proc", &command) else { return };
    assert_eq!(code, 2, "{report}");
    assert!(report.contains("error: ") && report.contains("/proc"), "{report}");
    assert!(!Path::new(&scene.path("ran")).exists());
}
