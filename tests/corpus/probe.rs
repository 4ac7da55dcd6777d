//! Reads a file completely in a separate process, so that an abort, an endless loop and memory are visible from
//! outside.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use plimsoll::capture::{CaptureError, CaptureErrorKind, Entry, ItemValue, TensorItem, TorchFile};

/// Names the files for the child to read, one per line.
const FILES: &str = "PLIMSOLL_CORPUS_FILES";

/// The processor time after which the kernel ends a child that still reads the same file: some fifteen times what the
/// slowest takes without optimization. Other programs' time and waiting do not count.
const TIME: Duration = Duration::from_secs(60);

/// The memory that reading a file may take beyond the process's own, in KiB.
pub const MEMORY_KIB: u64 = 256 << 10;

/// The bytes of texts and numbers after which a reader of untrusted files stops, as `plimsoll inspect` does.
const WORK: usize = 128 << 20;

/// The result of reading one file.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything.
    Read,
    /// An error that names the file.
    Refused(String),
    /// The child died, took too much time or memory, or returned an error that does not name the file.
    Failed(String),
}

/// Reads the headers, every value, the call if it is an entry, elements of every tensor and every byte of every
/// storage.
///
/// One buffer is read per tensor, because an expanded tensor has more elements than anybody can read.
pub fn read_whole(path: &Path) -> Result<(), CaptureError> {
    let file = TorchFile::open(path)?;
    let mapped = file.map()?;
    let mut out = vec![0; 64 << 10];
    let mut failed = None;
    let mut work = 0;
    let _ = file.try_walk(&mut |item| {
        work += match &item.value {
            ItemValue::BigInt(digits) => digits.len(),
            ItemValue::Str(text) => text.len(),
            ItemValue::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        if let ItemValue::Tensor(TensorItem { elements: Some(elements), .. }) = &item.value
            && item.alias_of.is_none()
        {
            match mapped.view(elements) {
                Ok(view) => drop(view.read_into(0, &mut out)),
                Err(error) => failed = Some(error),
            }
        }
        if work > WORK { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    failed.map_or(Ok(()), Err)?;
    for index in 0..file.storages().len() {
        mapped.verify_storage(index)?;
        mapped.read_storage(index)?;
    }
    mapped.intact()?;
    // Files that are not entries are read as well.
    if let Err(error) = Entry::open(path)
        && !matches!(error.kind, CaptureErrorKind::Entry(_))
    {
        return Err(error);
    }
    Ok(())
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it has a peak");
    peak.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).expect("it is not negative")
}

/// Runs in the child: reads each file and prints the result on one line.
fn child(files: &str) {
    for file in files.lines() {
        // Keeps the peaks of different files apart. If the kernel forbids this, the growth appears too small for all
        // but the first.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let before = peak_kib();
        let limit = Rlimit { current: Some((processor_time() + TIME).as_secs()), ..getrlimit(Resource::Cpu) };
        setrlimit(Resource::Cpu, limit).expect("a limit below the hard one can be set");
        let outcome = match read_whole(Path::new(file)) {
            Ok(()) => "read".to_owned(),
            Err(error) if &*error.file == Path::new(file) => format!("refused {error}"),
            Err(error) => format!("names another file: {error}"),
        };
        // Linux counts pages loosely: the peak may appear slightly lower than before.
        let grown = peak_kib().saturating_sub(before);
        println!("\n@{grown} {}", outcome.replace(['\n', '\r'], " "));
    }
}

#[test]
#[ignore = "the child of the other tests"]
fn reads_the_files_that_it_is_given() {
    if let Ok(files) = std::env::var(FILES) {
        child(&files);
    }
}

/// Reads `files` in one child. Files after one that kills it are not read.
pub fn probe(files: &[&Path]) -> Vec<Outcome> {
    let mut command = Command::new(std::env::current_exe().expect("the test has a path"));
    command.args(["--ignored", "--exact", "--nocapture", "probe::reads_the_files_that_it_is_given"]);
    let list: Vec<_> = files.iter().map(|file| file.to_str().expect("names of tests are texts")).collect();
    let output = command.env(FILES, list.join("\n")).output().expect("the test starts itself");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut outcomes: Vec<_> = text.lines().filter_map(|line| line.strip_prefix('@')).map(outcome).collect();
    if outcomes.len() < files.len() {
        outcomes.push(Outcome::Failed(output.status.to_string()));
    }
    outcomes
}

fn outcome(line: &str) -> Outcome {
    let (kib, told) = line.split_once(' ').expect("the child writes a number and how it went");
    if kib.parse::<u64>().expect("a number") > MEMORY_KIB {
        return Outcome::Failed(format!("took {kib} KiB"));
    }
    match told.split_once(' ') {
        None if told == "read" => Outcome::Read,
        Some(("refused", error)) => Outcome::Refused(error.to_owned()),
        _ => Outcome::Failed(told.to_owned()),
    }
}
