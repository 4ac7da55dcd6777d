//! Blocks that need figures of the whole process, in a test that runs beside others: the enclosing test runs once more,
//! alone in a process of its own, where its blocks are measured.
//!
//! The first block of a test waits until that process has ended. The test then continues here unmeasured, and each of
//! its blocks ends with the verdict from there. A broken limit thus fails the test as usual: with its message, in its
//! place, and as the panic that `#[should_panic]` expects. The measurements arrive through a memory file that the
//! process inherits, one line of JSON per block.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::fs::MemfdFlags;

use super::isolated::{Output, To};
use super::measured::Measured;
use super::runner::{Runner, runner};
use super::wire::{line, value};
use crate::command::{CommandError, Metered, Step};
use crate::meter::processor_ticks_of;

/// The environment variable that names the file for measurements: the process that created it, and its descriptor.
const BLOCKS: &str = "PLIMSOLL_BLOCKS";
const FILE_NAME: &str = "plimsoll-blocks";
/// Maximum size of the file.
const MOST_BYTES: u64 = 64 << 20;
/// A process that makes no progress for this long is waiting for something that this process holds.
const WAIT_FOR_PROGRESS: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_secs(1);
/// How much of the end of the process's output is shown.
const SHOWN: usize = 4 << 10;

const WAYS_OUT: &str = "write `#[plimsoll::test]`, or run the tests with nextest or `--test-threads=1`";

thread_local! {
    /// The measurements of this thread's test: libtest starts one thread per test.
    static ELSEWHERE: RefCell<Option<Rc<Elsewhere>>> = const { RefCell::new(None) };
}

/// Where a block is measured.
pub(super) enum MeasuredIn {
    /// In this process.
    Here,
    /// In a process that ran the test alone.
    Elsewhere(Rc<Elsewhere>),
    /// Nowhere, with the reason.
    Nowhere(String),
}

/// The measurements of a test that ran alone.
pub(super) struct Elsewhere {
    measured: RefCell<VecDeque<Measured>>,
    /// How its process ended, as a sentence.
    ended: String,
}

/// Where to measure a block of this thread that needs figures of the whole process. `of_test` means that the code was
/// compiled as a test.
pub(super) fn place(of_test: bool) -> MeasuredIn {
    if let Some(elsewhere) = ELSEWHERE.with_borrow(Clone::clone) {
        return MeasuredIn::Elsewhere(elsewhere);
    }
    if crate::thread::is_main() {
        // libtest uses its main thread only if no tests run in parallel.
        return MeasuredIn::Here;
    }
    match runner() {
        Runner::OneAtATime => return MeasuredIn::Here,
        Runner::Other if !of_test => return MeasuredIn::Here,
        Runner::Other => {
            return MeasuredIn::Nowhere(
                "other threads of this process may be tests, and without libtest no test of it can be run alone: run the \
                 block on the main thread, one test at a time"
                    .to_owned(),
            );
        }
        Runner::Several => {}
    }
    let thread = std::thread::current();
    let Some(test) = thread.name() else {
        return MeasuredIn::Nowhere(format!(
            "other tests run in this process, and this thread has no name, by which its test could be run alone: move \
             the block to the thread of the test, or {WAYS_OUT}"
        ));
    };
    match run_alone(test) {
        Ok(elsewhere) => {
            let elsewhere = Rc::new(elsewhere);
            ELSEWHERE.set(Some(Rc::clone(&elsewhere)));
            MeasuredIn::Elsewhere(elsewhere)
        }
        Err(error) => MeasuredIn::Nowhere(format!(
            "other tests run in this process, and `{test}` could not be run alone: {error}; {WAYS_OUT}"
        )),
    }
}

impl Elsewhere {
    /// The measurements of the next finished block with this name.
    ///
    /// # Errors
    /// The reason, if there are none.
    pub(super) fn next(&self, name: &str) -> Result<Measured, String> {
        let mut measured = self.measured.borrow_mut();
        match measured.front() {
            Some(next) if next.name == name => Ok(measured.pop_front().expect("there is one")),
            Some(next) => Err(format!(
                "other tests run in this process, and in a process of its own this test behaved differently: there {} \
                 came next; {WAYS_OUT}",
                next.name
            )),
            None => Err(format!("other tests run in this process; {}; {WAYS_OUT}", self.ended)),
        }
    }
}

/// Sends `measured` to the process that started this one to measure it, if there is one.
pub(super) fn send(measured: &mut Measured) {
    static FILE: OnceLock<Option<File>> = OnceLock::new();
    let Some(mut file) = FILE.get_or_init(inherited).as_ref() else { return };
    measured.notes.push("measured in a process of its own, which ran this test alone".to_owned());
    let line = line(measured);
    if file.metadata().is_ok_and(|file| file.len() + line.len() as u64 <= MOST_BYTES) {
        // The other process reports missing measurements as not measurable.
        let _ = file.write_all(line.as_bytes());
    }
}

/// The file of the process that started this one. A descendant of this process inherits the variable, but does not use
/// it.
fn inherited() -> Option<File> {
    let variable = std::env::var(BLOCKS).ok()?;
    let (parent, descriptor) = variable.split_once(':')?;
    let parent: i32 = parent.parse().ok()?;
    if rustix::process::getppid()?.as_raw_nonzero().get() != parent {
        return None;
    }
    let path = format!("/proc/self/fd/{}", descriptor.parse::<u32>().ok()?);
    let is_ours = std::fs::read_link(&path).ok()?.to_string_lossy().contains(FILE_NAME);
    is_ours.then(|| OpenOptions::new().append(true).open(&path).ok())?
}

/// Runs the test with this name in a second process of this program, and waits for its end.
fn run_alone(test: &str) -> Result<Elsewhere, CommandError> {
    let system = |what| move |source| CommandError::System { program: test.to_owned(), what, source };
    // Inherited, because it is not closed on exec.
    let file = rustix::fs::memfd_create(FILE_NAME, MemfdFlags::empty());
    let mut file = File::from(file.map_err(|error| system("memory file")(error.into()))?);
    let mut command = Command::new(std::env::current_exe().map_err(system("path of this program"))?);
    command
        .args([test, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"])
        .env(BLOCKS, format!("{}:{}", std::process::id(), file.as_raw_fd()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut running = Metered::new(command).first_phase(None).sample_interval(LOOK).dies_with_thread(true).spawn()?;
    let mut outputs = [
        Output::new(running.stdout(), To::Stdout).map_err(system("pipe"))?,
        Output::new(running.stderr(), To::Stderr).map_err(system("pipe"))?,
    ];
    let mut printed = String::new();
    let mut read = |outputs: &mut [Output; 2]| {
        for output in outputs {
            printed += &output.take();
        }
        keep_end(&mut printed);
    };
    let mut waiting = (None, Instant::now());
    loop {
        let pipes: Vec<_> = outputs.iter().filter_map(Output::fd).collect();
        let step = running.step_until(&pipes, Some(Instant::now() + LOOK))?;
        read(&mut outputs);
        if step == Step::Over {
            break;
        }
        let done = (processor_ticks_of(&running.meter().processes()), file.metadata().map(|file| file.len()).ok());
        if waiting.0 != Some(done) {
            waiting = (Some(done), Instant::now());
        } else if waiting.1.elapsed() >= WAIT_FOR_PROGRESS {
            running.cancel();
        }
    }
    let ended = running.wait()?;
    read(&mut outputs);
    let mut text = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut text)).map_err(system("memory file"))?;
    // The last line may be incomplete if the process was killed.
    let whole = text.split_inclusive('\n').map_while(|line| line.strip_suffix('\n'));
    let measured = whole.map_while(value).collect();
    let ended = if printed.contains("running 0 tests") {
        format!("`{test}` names no test, so that the block is on another thread than its test")
    } else {
        let said: Vec<&str> = printed.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let alone = format!("the process that ran `{test}` alone {} before the end of this block", ended.end);
        if said.is_empty() { alone } else { format!("{alone}, and printed: {}", said.join(" / ")) }
    };
    Ok(Elsewhere { measured: RefCell::new(measured), ended })
}

/// Keeps only the end of a long text.
fn keep_end(text: &mut String) {
    if text.len() > SHOWN {
        let from = (text.len() - SHOWN..=text.len()).find(|&from| text.is_char_boundary(from)).unwrap_or(0);
        text.drain(..from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text_is_kept_whole() {
        let mut text = "ü".repeat(SHOWN);
        keep_end(&mut text);
        assert_eq!(text, "ü".repeat(SHOWN / 2));
    }

    #[test]
    fn a_variable_of_others_names_no_file() {
        // This process was not started to run a single test.
        assert!(inherited().is_none());
    }
}
