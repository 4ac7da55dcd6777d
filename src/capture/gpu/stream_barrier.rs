//! [`StreamBarrier`]: holds a stream, so that a kernel's work elsewhere becomes visible.

use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::error::GpuError;
use super::stream::Stream;

/// A barrier in a stream: work behind it does not begin until it opens. Dropping it opens it.
#[derive(Debug)]
pub struct StreamBarrier {
    latch: Arc<Latch>,
}

#[derive(Debug, Default)]
struct Latch {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Closed,
    Open,
    /// The barrier opened by itself.
    GaveWay,
}

impl StreamBarrier {
    /// The maximum time that it holds the stream: a kernel that waits for the stream during its launch would otherwise
    /// wait forever.
    pub const LONGEST_HOLD: Duration = Duration::from_secs(1);

    /// Puts a closed barrier into `stream`.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn close(stream: &Stream) -> Result<Self, GpuError> {
        let latch = Arc::new(Latch::default());
        let of_stream = Arc::into_raw(Arc::clone(&latch));
        // SAFETY: the function is called once with this pointer, which it frees; after a fault it might not be called,
        // and the process ends.
        stream.host_function(hold, of_stream.cast_mut().cast()).inspect_err(|_| {
            // SAFETY: a refused function is not called, so the pointer still belongs to this call.
            drop(unsafe { Arc::from_raw(of_stream) });
        })?;
        Ok(Self { latch })
    }

    /// Whether the barrier still holds the stream: once it gave way, work behind it may be under way.
    pub fn holds(&self) -> bool {
        *self.latch.lock() == State::Closed
    }

    /// Opens the barrier, and returns whether it held until now.
    pub fn open(self) -> bool {
        self.latch.end(State::Open)
    }
}

impl Drop for StreamBarrier {
    fn drop(&mut self) {
        self.latch.end(State::Open);
    }
}

impl Latch {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a closed barrier to `state`, and returns whether it was closed.
    fn end(&self, state: State) -> bool {
        let mut now = self.lock();
        let closed = *now == State::Closed;
        if closed {
            *now = state;
            self.changed.notify_all();
        }
        closed
    }
}

/// The function that holds the stream, on a thread of the driver.
unsafe extern "C" fn hold(latch: *mut c_void) {
    // SAFETY: the pointer was made from an `Arc` for this one call.
    let latch = unsafe { Arc::from_raw(latch.cast_const().cast::<Latch>()) };
    let closed = |state: &mut State| *state == State::Closed;
    drop(latch.changed.wait_timeout_while(latch.lock(), StreamBarrier::LONGEST_HOLD, closed));
    latch.end(State::GaveWay);
}
