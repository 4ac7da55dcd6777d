//! The process of the test: runs the body and reports to its parent.

use std::any::Any;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::process::{ExitCode, Termination, exit};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use super::super::phase::{Sink, install};
use super::super::wire::line;
use super::message::{CHILD, LONGEST_PANIC, Message, Outcome};
use crate::alloc::{HeapReadings, Scope, uncounted};
use crate::meter::await_main_thread;
use crate::socket::peer;

/// The exit code of a process that has lost its parent.
const LOST: i32 = 70;

/// How long to wait for the test harness's main thread, which has nothing to do but wait for the test.
const SETTLES: Duration = Duration::from_millis(500);

/// The process of one test.
pub(super) struct Child {
    name: String,
    channel: Arc<Channel>,
}

impl Child {
    /// This process, if it was started to run the test `name`: its standard input is a socket to its parent. The
    /// variable alone does not suffice, because the body's child processes inherit it.
    pub(super) fn of_parent(name: &str) -> Option<Self> {
        if std::env::var_os(CHILD).is_none_or(|wanted| wanted != name) {
            return None;
        }
        let parent = rustix::process::getppid()?.as_raw_nonzero().get().unsigned_abs();
        if peer(rustix::stdio::stdin()) != Some(parent) {
            return None;
        }
        let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).ok()?;
        let empty = rustix::fs::open("/dev/null", OFlags::RDONLY, Mode::empty()).ok()?;
        rustix::stdio::dup2_stdin(empty).ok()?;
        let channel = Channel { socket: Mutex::new(socket.into()), pid: std::process::id() };
        Some(Self { name: name.to_owned(), channel: Arc::new(channel) })
    }

    /// Runs the body on a thread with the test's name, as the test harness does, and ends the process.
    pub(super) fn run<R: Termination>(self, body: impl FnOnce() -> R + Send + 'static) -> ! {
        if std::thread::current().name() == Some(&self.name) {
            run_here(&self.channel, body);
        }
        // With one thread, the test harness may use its main thread.
        let channel = Arc::clone(&self.channel);
        let started = uncounted(|| {
            let thread = std::thread::Builder::new().name(self.name).spawn(move || run_here(&channel, body))?;
            // The thread ends the process, unless it panics after the body's panic was caught.
            let _ = thread.join();
            Err(io::Error::other("it has panicked outside the body"))
        });
        let message = started.map_or_else(
            |error: io::Error| format!("the thread of the test: {error}"),
            |never: Infallible| match never {},
        );
        end(&self.channel, Outcome::Panicked { message }, Err("the test did not run".to_owned()))
    }

    /// Runs the body in the async runtime that polls this future, and ends the process.
    pub(super) async fn run_async<F: Future<Output: Termination>>(self, body: F) {
        let heap = begin(&self.channel);
        let mut body = pin!(body);
        let outcome = poll_fn(|context| {
            let polled = catch_unwind(AssertUnwindSafe(|| body.as_mut().poll(context).map(Termination::report)));
            match polled {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(code)) => Poll::Ready(returned(code)),
                Err(panic) => Poll::Ready(panicked(panic.as_ref())),
            }
        });
        end(&self.channel, outcome.await, heap)
    }
}

fn run_here<R: Termination>(channel: &Arc<Channel>, body: impl FnOnce() -> R) -> ! {
    let heap = begin(channel);
    let outcome = match catch_unwind(AssertUnwindSafe(|| body().report())) {
        Ok(code) => returned(code),
        Err(panic) => panicked(panic.as_ref()),
    };
    end(channel, outcome, heap)
}

fn returned(code: ExitCode) -> Outcome {
    if code == ExitCode::SUCCESS { Outcome::Returned } else { Outcome::Failed }
}

fn panicked(payload: &(dyn Any + Send)) -> Outcome {
    let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text.as_str(),
        (None, None) => "the panic carried no text",
    };
    let end = (0..=message.len().min(LONGEST_PANIC)).rev().find(|&end| message.is_char_boundary(end));
    Outcome::Panicked { message: message[..end.unwrap_or(0)].to_owned() }
}

/// Reports that the body begins, and counts allocations from here on.
fn begin(channel: &Arc<Channel>) -> Result<Scope, String> {
    // The sink reports phases until the process ends.
    std::mem::forget(install(channel.clone()));
    // What the test harness does while waiting is not part of the test.
    await_main_thread(SETTLES);
    // The output must be in the pipe before the parent looks.
    let _ = io::stdout().flush();
    channel.send(&Message::Ready);
    Scope::process().map_err(|error| error.to_string())
}

fn end(channel: &Channel, outcome: Outcome, heap: Result<Scope, String>) -> ! {
    let heap: Result<HeapReadings, String> = heap.map(Scope::finish);
    let _ = io::stdout().flush();
    channel.send(&Message::Done { outcome, heap });
    exit(0)
}

/// The connection to the parent.
struct Channel {
    socket: Mutex<UnixStream>,
    /// A forked copy of the process that gets here must not report.
    pid: u32,
}

impl Channel {
    /// Sends a message and waits for the answer. Without a parent there is no reason to run.
    fn send(&self, message: &Message) {
        if std::process::id() != self.pid {
            exit(LOST);
        }
        let line = line(message);
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let answered = socket.write_all(line.as_bytes()).and_then(|()| socket.read_exact(&mut [0]));
        if let Err(error) = answered {
            eprintln!("the channel to the parent of this test is closed: {error}; does the body close descriptors?");
            exit(LOST);
        }
    }
}

impl Sink for Channel {
    fn phase(&self, name: &str) {
        uncounted(|| self.send(&Message::Phase { name: name.to_owned() }));
    }
}
