//! [`MemoryGuard`]: measures from its creation to its end, and judges.

use std::panic::Location;
use std::rc::Rc;

use super::alone::{self, Elsewhere, MeasuredIn};
use super::block::Block;
use super::limits::{Limit, LimitError, Limits};
use super::measured::Measured;
use crate::alloc::{HeapScope, uncounted};

/// Measures this process from its creation to its end and judges the readings by limits. It does what
/// [`assert_memory!`](crate::assert_memory) does around a block, for code that is not a block.
///
/// A guard belongs to the thread that created it. While it measures more than the heap, every other such block of the
/// process waits, except one nested in it on the same thread.
///
/// If other tests of its process run in parallel, it measures in a process of its own, as
/// [`assert_memory!`](crate::assert_memory) describes.
///
/// A guard that is dropped without a verdict judges like [`MemoryGuard::judge`], unless the thread is already
/// panicking.
///
/// ```
/// use plimsoll_memory::assert::MemoryGuard;
///
/// let guard = MemoryGuard::begin("peak_rss_growth = 64 MiB".parse::<plimsoll_memory::assert::Limits>()?);
/// let rows: Vec<u64> = (0..1000).collect();
/// let measured = guard.finish();
/// assert!(measured.passed(), "{measured}");
/// # drop(rows);
/// # Ok::<(), plimsoll_memory::assert::LimitError>(())
/// ```
#[must_use = "a guard that is dropped at once measures nothing"]
pub struct MemoryGuard {
    /// Absent once it has judged.
    begun: Option<Begun>,
    limits: Limits,
    at: &'static Location<'static>,
}

/// A guard that has started.
enum Begun {
    Here(Block),
    Elsewhere(Rc<Elsewhere>),
    /// The block cannot be measured, for this reason.
    Nowhere(String),
}

impl MemoryGuard {
    /// Starts measuring. As far as the limits need it, the guard waits for its turn, resets the high-water mark of the
    /// process if possible, and starts sampling.
    #[track_caller]
    pub fn begin(limits: impl Into<Limits>) -> Self {
        Self::begin_at(limits.into(), false, Location::caller())
    }

    fn begin_at(limits: Limits, of_test: bool, at: &'static Location<'static>) -> Self {
        let begun = uncounted(|| match limits.need_process().then(|| alone::place(of_test)) {
            None | Some(MeasuredIn::Here) => Begun::Here(Block::begin(&limits)),
            Some(MeasuredIn::Elsewhere(elsewhere)) => Begun::Elsewhere(elsewhere),
            Some(MeasuredIn::Nowhere(reason)) => Begun::Nowhere(reason),
        });
        Self { begun: Some(begun), limits, at }
    }

    /// Starts measuring for [`assert_memory!`](crate::assert_memory).
    ///
    /// # Panics
    /// If a limit is not an amount, or is given twice.
    #[doc(hidden)]
    #[track_caller]
    pub fn begin_block<const N: usize>(
        limits: [Result<Limit, LimitError>; N],
        heap_scope: HeapScope,
        of_test: bool,
    ) -> Self {
        let limits = uncounted(|| {
            let mut all = Limits { heap_scope, ..Limits::new() };
            limits.into_iter().try_for_each(|limit| all.add(limit?)).map(|()| all)
        });
        match limits {
            Ok(limits) => Self::begin_at(limits, of_test, Location::caller()),
            Err(error) => panic!("assert_memory!: {error}"),
        }
    }

    /// Ends the measurement and returns the judged readings.
    pub fn finish(mut self) -> Measured {
        self.end()
    }

    /// Ends the measurement and panics unless every limit holds.
    ///
    /// # Panics
    /// With the whole [message](fn@super::failure), if a limit is broken or not measurable.
    #[track_caller]
    pub fn judge(self) {
        self.judge_saying(|| None);
    }

    /// Like [`MemoryGuard::judge`], with the user's own message in front.
    ///
    /// # Panics
    /// If a limit is broken or not measurable.
    #[doc(hidden)]
    #[track_caller]
    pub fn judge_saying(mut self, message: impl FnOnce() -> Option<String>) {
        let measured = self.end();
        if !measured.passed() {
            panic!("{}", measured.failure(message().as_deref()));
        }
        // Created uncounted and dropped uncounted, so that an outer block sees neither.
        uncounted(|| drop(measured));
    }

    fn end(&mut self) -> Measured {
        uncounted(|| {
            let limits = std::mem::take(&mut self.limits);
            let name = format!("the block at {}", self.at);
            match self.begun.take() {
                Some(Begun::Here(block)) => {
                    let mut measured = Measured::of(name, block.finish(), &limits);
                    alone::send(&mut measured);
                    measured
                }
                Some(Begun::Elsewhere(elsewhere)) => match elsewhere.next(&name) {
                    Ok(measured) => measured,
                    Err(reason) => Measured::nowhere(name, &reason, &limits),
                },
                Some(Begun::Nowhere(reason)) => Measured::nowhere(name, &reason, &limits),
                None => Measured::nowhere(name, "it has ended already", &limits),
            }
        })
    }
}

impl Drop for MemoryGuard {
    fn drop(&mut self) {
        if self.begun.is_none() {
            return;
        }
        if std::thread::panicking() {
            uncounted(|| drop(self.begun.take()));
            return;
        }
        let measured = self.end();
        if !measured.passed() {
            panic!("{}", measured.failure(None));
        }
        uncounted(|| drop(measured));
    }
}
