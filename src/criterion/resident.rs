//! [`PeakRss`], [`PeakAnon`] and their growths: the resident memory of an iteration.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::time::Duration;

use super::peak::{Peak, measure_peak};
use super::sampled::{Kind, Sampler};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::{MeterError, Metric, OwnProcess};

/// The largest resident set of the process during an iteration, including everything that it already held.
///
/// The reading is the kernel's high-water mark, reset before each iteration. If the mark cannot be reset, a warning
/// appears once and the memory is sampled like [`PeakAnon`].
#[derive(Clone, Copy, Debug, Default)]
pub struct PeakRss;

/// The largest resident set of the process during an iteration, minus its resident set when the iteration began.
///
/// Unlike [`PeakRss`], the growth does not depend on the rest of the bench file.
#[derive(Clone, Copy, Debug, Default)]
pub struct PeakRssGrowth;

/// The largest anonymous memory of the process during an iteration, including everything that it already held: sampled
/// about every 100 µs, because the kernel keeps no mark for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PeakAnon;

/// The largest anonymous memory of the process during an iteration, minus that at its beginning: sampled like
/// [`PeakAnon`].
#[derive(Clone, Copy, Debug, Default)]
pub struct PeakAnonGrowth;

measure_peak!(PeakRss);
measure_peak!(PeakRssGrowth);
measure_peak!(PeakAnon);
measure_peak!(PeakAnonGrowth);

/// The memory when an iteration began, in bytes.
pub(super) struct Standing(ByteSize);

impl Peak for PeakRss {
    const METRIC: Metric = Metric::PeakRss;
    type Start = Standing;

    fn begin() -> Standing {
        give_back();
        begin_rss()
    }

    fn reached(_: Standing) -> ByteSize {
        end_rss()
    }
}

impl Peak for PeakRssGrowth {
    const METRIC: Metric = Metric::PeakRssGrowth;
    type Start = Standing;

    fn begin() -> Standing {
        give_back();
        begin_rss()
    }

    fn reached(Standing(before): Standing) -> ByteSize {
        end_rss().saturating_sub(before)
    }
}

/// An iteration must last for some samples.
const SAMPLED: Duration = Duration::from_millis(2);

impl Peak for PeakAnon {
    const METRIC: Metric = Metric::PeakAnon;
    type Start = Standing;
    const SHORTEST_ITERATION: Duration = SAMPLED;

    fn begin() -> Standing {
        give_back();
        Standing(sampler().begin(Kind::Anonymous))
    }

    fn reached(_: Standing) -> ByteSize {
        sampler().end()
    }
}

impl Peak for PeakAnonGrowth {
    const METRIC: Metric = Metric::PeakAnonGrowth;
    type Start = Standing;
    const SHORTEST_ITERATION: Duration = SAMPLED;

    fn begin() -> Standing {
        give_back();
        Standing(sampler().begin(Kind::Anonymous))
    }

    fn reached(Standing(before): Standing) -> ByteSize {
        sampler().end().saturating_sub(before)
    }
}

/// Returns freed memory that the allocator kept to the system, so that equal work grows the process by the same amount
/// every time.
fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim may be called at any time by any thread; it frees nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// A benchmark can only report an error by panicking.
fn or_panic<T>(read: Result<T, MeterError>) -> T {
    read.unwrap_or_else(|error| panic!("this process cannot be measured: {error}"))
}

fn own<T>(read: impl FnOnce(&mut OwnProcess) -> Result<T, MeterError>) -> T {
    thread_local! {
        static OWN: RefCell<Option<OwnProcess>> = const { RefCell::new(None) };
    }
    OWN.with_borrow_mut(|own| {
        let own = match own {
            Some(own) => own,
            None => own.insert(or_panic(OwnProcess::open())),
        };
        or_panic(read(own))
    })
}

fn sampler() -> &'static Sampler {
    static SAMPLER: OnceLock<Sampler> = OnceLock::new();
    SAMPLER.get_or_init(|| or_panic(Sampler::start()))
}

/// Whether the kernel's mark can be reset; prints a warning once if not.
fn has_mark() -> bool {
    static HAS_MARK: OnceLock<bool> = OnceLock::new();
    *HAS_MARK.get_or_init(|| {
        let reset = own(|own| Ok(own.reset_mark().and_then(|()| own.memory())));
        let reason = match reset {
            Ok(memory) if memory.peak_rss.is_some() => return true,
            Ok(_) => "this kernel reports no VmHWM".to_owned(),
            Err(error) => error.to_string(),
        };
        eprintln!("plimsoll: peaks of the resident set are sampled every 100 µs, for the kernel's mark is not to be had: {reason}");
        false
    })
}

fn begin_rss() -> Standing {
    if !has_mark() {
        return Standing(sampler().begin(Kind::Resident));
    }
    Standing(own(|own| {
        own.reset_mark()?;
        Ok(own.memory()?.rss)
    }))
}

fn end_rss() -> ByteSize {
    if !has_mark() {
        return sampler().end();
    }
    own(|own| {
        let memory = own.memory()?;
        Ok(memory.peak_rss.unwrap_or(memory.rss).max(memory.rss))
    })
}
