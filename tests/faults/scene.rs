//! Shared by all kinds of faults: the seed, the tries, their row, and commands that are watched for a hang.

use std::fs;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plimsoll::random::SplitMix64;
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

/// How long a command may take before it counts as hanging: some hundred times what any of these takes, however busy
/// the machine.
const HANGS: Duration = Duration::from_secs(120);

/// The problem of a failed try.
pub enum Fault {
    /// Something that existed before is lost.
    Lost(String),
    /// A verdict, message or end is wrong.
    Wrong(String),
    /// A command did not end.
    Hung(String),
}

/// How a command ended.
pub struct Ended {
    /// Its exit code; 128 and the signal's number if it was killed.
    pub code: i32,
    /// Standard output and error.
    pub said: String,
}

impl Ended {
    /// Succeeds if it ended with one of `codes`, without a panic.
    pub fn one_of(self, codes: &[i32], what: &str) -> Result<Self, Fault> {
        let panicked = self.said.contains("panicked at");
        match codes.contains(&self.code) && !panicked {
            true => Ok(self),
            false => Err(Fault::Wrong(format!("{what}: exit {}: {}", self.code, self.said))),
        }
    }
}

/// A command of the program, without settings from the environment.
pub fn plimsoll(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PLIMSOLL_")) {
        command.env_remove(name);
    }
    arguments.iter().for_each(|argument| _ = command.arg(argument));
    command.env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// Starts `command` in its own group, with its output in the file `said`.
pub fn started(command: &mut Command, said: &Path) -> Child {
    let file = fs::File::create(said).expect("a file for what it says");
    command.stdout(file.try_clone().expect("a file")).stderr(file).process_group(0).spawn().expect("it starts")
}

/// Waits for the end of a child; a hanging one is killed with its group.
pub fn ended(mut child: Child, said: &Path) -> Result<Ended, Fault> {
    let began = Instant::now();
    let status = loop {
        match child.try_wait().expect("a child") {
            Some(status) => break status,
            None if began.elapsed() > HANGS => {
                let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
                let _ = child.wait();
                return Err(Fault::Hung(String::from_utf8_lossy(&fs::read(said).unwrap_or_default()).into_owned()));
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).expect("an end");
    Ok(Ended { code, said: String::from_utf8_lossy(&fs::read(said).unwrap_or_default()).into_owned() })
}

/// A folder for tries of one kind, and a capture in it.
pub struct Scene {
    dir: TempDir,
}

impl Scene {
    /// With a capture of `entries` entries of a table of some 64 KiB.
    pub fn new(entries: u32) -> Self {
        let scene = Self { dir: tempfile::tempdir().expect("a temporary folder") };
        let mut generate = plimsoll(&[&"generate", &scene.capture(), &"--preset", &"embedding", &"--entries"]);
        generate.arg(entries.to_string()).args(["--vocab", "512", "--dim", "64", "--seq", "32"]);
        scene
            .run(&mut generate)
            .and_then(|ended| ended.one_of(&[0], "generate"))
            .unwrap_or_else(|_| panic!("a capture"));
        scene
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn capture(&self) -> PathBuf {
        self.path("capture")
    }

    /// An empty folder of this name.
    pub fn fresh(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a folder");
        path
    }

    /// Runs a command to its end.
    pub fn run(&self, command: &mut Command) -> Result<Ended, Fault> {
        let said = self.path("said");
        ended(started(command, &said), &said)
    }
}

/// The files of a folder by name, with their contents.
pub fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let items = fs::read_dir(folder).into_iter().flatten().flatten().filter(|item| item.path().is_file());
    let mut files: Vec<_> = items
        .map(|item| (item.file_name().to_string_lossy().into_owned(), fs::read(item.path()).unwrap_or_default()))
        .collect();
    files.sort();
    files
}

/// Hidden files and folders that a command left in a folder.
pub fn litter(folder: &Path) -> Vec<String> {
    let items = fs::read_dir(folder).into_iter().flatten().flatten();
    items
        .map(|item| item.file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains(".plimsoll-"))
        .collect()
}

/// Runs tries of one kind of fault, and prints their row: `tries` of them, or as many as the time given by
/// `harness/faults.sh` allows.
///
/// # Panics
/// If a try lost something, got something wrong or hung.
pub fn tries(kind: &str, tries: usize, mut one: impl FnMut(&mut SplitMix64) -> Result<(), Fault>) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (seed, seconds) = (number("FAULTS_SEED").unwrap_or(20_261_122), number("FAULTS_SECONDS"));
    let began = Instant::now();
    let (mut done, mut found, mut counts) = (0, Vec::new(), [0; 3]);
    while seconds.map_or(done < tries, |seconds| began.elapsed().as_secs() < seconds) {
        // Each try has its own seed, with which it can be repeated alone.
        let of_try = seed.wrapping_add(done as u64);
        if let Err(fault) = one(&mut SplitMix64::new(of_try)) {
            let (at, what) = match fault {
                Fault::Lost(what) => (0, what),
                Fault::Wrong(what) => (1, what),
                Fault::Hung(what) => (2, what),
            };
            counts[at] += 1;
            found.push(format!("FAULTS_SEED={of_try}: {}: {what}", ["lost", "wrong", "hung"][at]));
        }
        done += 1;
    }
    let [lost, wrong, hung] = counts;
    println!("fault-row\t{kind}\t{done}\t{lost}\t{wrong}\t{hung}");
    assert!(found.is_empty(), "{kind}, {} of {done} tries:\n{}", found.len(), found.join("\n"));
}
