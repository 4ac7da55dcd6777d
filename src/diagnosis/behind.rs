//! [`Behind`]: reads text on its own thread, a bounded distance behind the writer.

use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use plimsoll_diagnose::Analysis;

/// The most text that may wait to be read. A writer that is further ahead waits: nothing is lost, and memory stays
/// bounded.
const AHEAD: usize = 8 << 20;

/// An analysis whose text is read on a separate thread, so that a writer does not wait for the reading.
#[derive(Debug)]
pub(super) struct Behind {
    shared: Arc<Shared>,
    /// `None` if the system could not start a thread: the text is then read while it is written.
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    analysis: Mutex<Analysis>,
}

/// The text that has not been read yet.
#[derive(Debug, Default)]
struct Waiting {
    text: Vec<u8>,
    /// Whether the thread is reading the text that it has taken.
    reading: bool,
    /// Whether no more text is accepted.
    closed: bool,
}

/// Writes text to be read.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    inline: bool,
}

impl Behind {
    pub(super) fn begin() -> Self {
        let shared = Arc::<Shared>::default();
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("diagnosis".to_owned()).spawn(move || read(&own)).ok();
        Self { shared, thread }
    }

    /// A writer of text.
    pub(super) fn writer(&self) -> Writer {
        Writer { shared: Arc::clone(&self.shared), inline: self.thread.is_none() }
    }

    /// The analysis, once everything written has been read.
    pub(super) fn analysis(&self) -> MutexGuard<'_, Analysis> {
        let mut waiting = self.shared.waiting();
        while !waiting.closed && (waiting.reading || !waiting.text.is_empty()) {
            waiting = self.shared.changed(waiting);
        }
        drop(waiting);
        self.shared.analysis()
    }

    /// The analysis, once everything has been read and writing is over.
    pub(super) fn finish(mut self) -> Analysis {
        let analysis = mem::take(&mut *self.analysis());
        self.shared.close();
        // The thread does not panic, and reads what it has taken.
        let _ = self.thread.take().map(JoinHandle::join);
        analysis
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Writer {
    /// Hands `text` over, once earlier text leaves room.
    pub(super) fn write(&self, text: &[u8]) {
        if self.inline {
            return self.shared.analysis().push(text);
        }
        let mut waiting = self.shared.waiting();
        while !waiting.closed && !waiting.text.is_empty() && waiting.text.len() + text.len() > AHEAD {
            waiting = self.shared.changed(waiting);
        }
        if !waiting.closed {
            waiting.text.extend_from_slice(text);
            self.shared.changed.notify_all();
        }
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed<'a>(&self, waiting: MutexGuard<'a, Waiting>) -> MutexGuard<'a, Waiting> {
        self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner)
    }

    fn analysis(&self) -> MutexGuard<'_, Analysis> {
        self.analysis.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.waiting().closed = true;
        self.changed.notify_all();
    }
}

/// Closes when the thread ends, for whatever reason: nobody waits for a reader that is gone.
struct Open<'a>(&'a Shared);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Reads text until the queue is closed.
fn read(shared: &Shared) {
    let _open = Open(shared);
    let mut text = Vec::new();
    loop {
        let mut waiting = shared.waiting();
        waiting.reading = false;
        shared.changed.notify_all();
        while waiting.text.is_empty() {
            if waiting.closed {
                return;
            }
            waiting = shared.changed(waiting);
        }
        mem::swap(&mut waiting.text, &mut text);
        waiting.reading = true;
        shared.changed.notify_all();
        drop(waiting);
        shared.analysis().push(&text);
        text.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_read_and_no_more_waits_than_is_allowed() {
        let behind = Behind::begin();
        behind.analysis().begin("output");
        let writer = behind.writer();
        // The thread cannot read while somebody uses the analysis: the writer waits, and goes on afterwards.
        let held = behind.shared.analysis();
        let line = [&b"step 1 loss 0.25 "[..], &[b'x'; 1000], b"\n"].concat();
        let lines = 3 * AHEAD / line.len();
        let write = std::thread::spawn(move || {
            for _ in 0..lines {
                writer.write(&line);
            }
            writer.write(b"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n");
        });
        while behind.shared.waiting().text.len() + 2 * 1018 < AHEAD {
            std::thread::yield_now();
        }
        assert!(!write.is_finished());
        drop(held);
        write.join().unwrap();
        behind.analysis().end();
        let shared = Arc::clone(&behind.shared);
        let findings = behind.finish().findings(None);
        assert_eq!(findings.inputs[0].lines, Some(lines as u64 + 1));
        assert_eq!(findings.events.len(), 1);
        assert!(shared.waiting().text.capacity() <= 2 * AHEAD);
    }
}
