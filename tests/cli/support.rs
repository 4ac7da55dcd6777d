//! Running the command, and the captures that it runs on.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use plimsoll::ByteSize;
use plimsoll::meter::{Metric, worst_reading};
use plimsoll::record::Record;
use rustix::fs::{Mode, OFlags};
use tempfile::TempDir;

/// The command with its environment cleared of what would change its behaviour.
pub fn plimsoll() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PLIMSOLL_")) {
        command.env_remove(name);
    }
    command.env("NO_COLOR", "1");
    command
}

/// Runs `command`; returns the exit code, standard output and standard error.
pub fn run(command: &mut Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    (status.code().expect("it ends by itself"), text(stdout), text(stderr))
}

/// Runs git in a repository of a test; returns its output.
pub fn git(dir: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(dir).args(["-c", "user.name=t", "-c", "user.email=t@example.com"]);
    let (code, out, err) = run(git.env("GIT_CONFIG_GLOBAL", "/dev/null").args(arguments));
    assert_eq!(code, 0, "{arguments:?}: {out}{err}");
    out
}

/// A folder for a test, and a capture of `entries` small entries in it.
pub struct Scene {
    dir: TempDir,
}

impl Scene {
    /// With a capture of one table of 512 rows of 64 bfloat16, 32 indices an entry.
    pub fn new(entries: u32) -> Self {
        let scene = Self { dir: tempfile::tempdir().expect("a temporary folder") };
        let mut generate = plimsoll();
        generate.arg("generate").arg(scene.capture()).args(["--preset", "embedding", "--vocab", "512", "--dim", "64"]);
        generate.args(["--seq", "32", "--entries", &entries.to_string()]);
        let (code, _, err) = run(&mut generate);
        assert_eq!(code, 0, "{err}");
        scene
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn capture(&self) -> PathBuf {
        self.path("capture")
    }

    pub fn entry(&self, index: usize) -> PathBuf {
        self.capture().join(format!("entry_{index:06}.pt"))
    }

    pub fn record(&self) -> PathBuf {
        self.path("record.json")
    }

    /// `plimsoll PART capture --record record.json`, to which the test adds a kernel and flags.
    pub fn command(&self, part: &str) -> Command {
        let mut command = plimsoll();
        command.arg(part).arg(self.capture()).arg("--record").arg(self.record());
        command
    }

    /// Runs the command and reads the record that it left.
    pub fn run(&self, command: &mut Command) -> (i32, Record) {
        let (code, out, err) = run(command);
        let record = Record::read(&self.record()).unwrap_or_else(|e| panic!("{e}\n{out}\n{err}"));
        (code, record)
    }
}

/// How long a test waits for an event before it counts as hanging: far more than any working test needs, however busy
/// the machine.
const WAIT_FOR_COMMAND: Duration = Duration::from_secs(600);

/// Waits until `holds` returns true; `false` if that never happened.
pub fn comes(mut holds: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    loop {
        if holds() {
            return true;
        }
        if began.elapsed() > WAIT_FOR_COMMAND {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs `command` in `folder`: its exit code, its standard error, and the peak of the memory that its processes have to
/// themselves. How much of a program is in memory is the system's choice.
pub fn measured(command: &Command, folder: &Path) -> (i32, String, ByteSize) {
    let record = folder.join("measured.json");
    let mut metered = plimsoll();
    metered.args(["run", "--quiet", "--record"]).arg(&record).arg("--").arg(command.get_program());
    let (code, _, err) = run(metered.args(command.get_args()).current_dir(folder));
    let phases = Record::read(&record).unwrap().phases;
    (code, err, worst_reading(&phases, Metric::PeakAnon).expect("a peak").1.bytes)
}

/// Opens a named pipe for writing, once somebody reads it: before, opening it without waiting is an error.
pub fn writer_of(pipe: &Path) -> OwnedFd {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK;
    let mut writer = None;
    assert!(comes(|| {
        writer = rustix::fs::open(pipe, flags, Mode::empty()).ok();
        writer.is_some()
    }));
    writer.unwrap()
}

/// A Python with torch; `None` with a message if the tests were started without one, which is a failure in CI.
pub fn torch_python() -> Option<PathBuf> {
    match std::env::var_os("PLIMSOLL_TORCH_PYTHON") {
        Some(python) => Some(python.into()),
        None if std::env::var_os("PLIMSOLL_TESTS_OF_TORCH").is_some_and(|which| which == "elsewhere") => {
            panic!("this test needs torch: name it in `of_torch` of harness/test.sh, so that it runs in that part")
        }
        None if std::env::var_os("CI").is_some() => panic!("PLIMSOLL_TORCH_PYTHON is not set: run harness/test.sh"),
        None => {
            eprintln!("not run: it needs a Python with torch in PLIMSOLL_TORCH_PYTHON (harness/test.sh sets one up)");
            None
        }
    }
}

/// The path of a kernel of the tests.
pub fn kernel(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/kernels").join(name);
    format!("py:{}.py", file.display())
}
