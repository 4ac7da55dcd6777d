//! [`Sampler`]: samples the resident or anonymous memory of this process as fast as a thread can, and keeps the largest
//! value.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::{MeterError, OwnProcess};

/// The pause between two samples; with the system's own delay it comes to about 100 µs.
const PAUSE_BETWEEN_LOOKS: Duration = Duration::from_micros(50);

/// The kind of memory to sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The resident set.
    Resident,
    /// Its anonymous part.
    Anonymous,
}

/// A thread that samples this process all the time, and records samples during a measurement.
pub(super) struct Sampler {
    shared: Arc<Shared>,
    own: Mutex<OwnProcess>,
}

#[derive(Default)]
struct Shared {
    /// Odd during a measurement.
    turn: AtomicU64,
    /// 0 for the resident set, 1 for the anonymous part.
    kind: AtomicU64,
    /// The measurement that the largest sample belongs to, and that sample.
    largest: Mutex<(u64, u64)>,
}

impl Sampler {
    pub(super) fn start() -> Result<Self, MeterError> {
        let shared = Arc::new(Shared::default());
        let (own, mut looking) = (OwnProcess::open()?, OwnProcess::open()?);
        let looked_at = Arc::clone(&shared);
        let thread = thread::Builder::new().name("plimsoll peaks".to_owned());
        let run = move || {
            loop {
                looked_at.look(&mut looking);
                thread::sleep(PAUSE_BETWEEN_LOOKS);
            }
        };
        thread.spawn(run).map_err(|source| MeterError::Start { what: "the thread that samples peaks", source })?;
        Ok(Self { shared, own: Mutex::new(own) })
    }

    /// Starts a measurement; returns the current value.
    pub(super) fn begin(&self, kind: Kind) -> ByteSize {
        self.shared.kind.store(u64::from(kind == Kind::Anonymous), Ordering::SeqCst);
        let standing = self.now(kind);
        let turn = self.shared.turn.load(Ordering::SeqCst) + 1;
        *lock(&self.shared.largest) = (turn, standing.bytes());
        self.shared.turn.store(turn, Ordering::SeqCst);
        standing
    }

    /// Ends the measurement; returns the largest sample, including a final one.
    pub(super) fn end(&self) -> ByteSize {
        let last = self.now(self.shared.kind());
        self.shared.turn.fetch_add(1, Ordering::SeqCst);
        ByteSize::new(lock(&self.shared.largest).1).max(last)
    }

    fn now(&self, kind: Kind) -> ByteSize {
        match lock(&self.own).resident() {
            Ok(read) => kind.of(read),
            Err(error) => panic!("this process cannot be measured: {error}"),
        }
    }
}

impl Kind {
    fn of(self, (resident, anonymous): (ByteSize, ByteSize)) -> ByteSize {
        match self {
            Self::Resident => resident,
            Self::Anonymous => anonymous,
        }
    }
}

impl Shared {
    fn kind(&self) -> Kind {
        if self.kind.load(Ordering::SeqCst) == 0 { Kind::Resident } else { Kind::Anonymous }
    }

    fn look(&self, own: &mut OwnProcess) {
        let turn = self.turn.load(Ordering::SeqCst);
        if turn.is_multiple_of(2) {
            return;
        }
        let Ok(read) = own.resident() else { return };
        let sample = self.kind().of(read).bytes();
        // A sample that outlasted the measurement may belong to what came after it.
        if self.turn.load(Ordering::SeqCst) == turn {
            let mut largest = lock(&self.largest);
            if largest.0 == turn {
                largest.1 = largest.1.max(sample);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
