//! [`measure`]: runs a protocol with a clock.

use plimsoll_statistics::stopping::{Next, Rule};
use serde::{Deserialize, Serialize};

use super::cache::{Cache, Flush};
use super::clock::{Clock, ClockError};
use super::protocol::Protocol;
use super::statistics::Statistics;
use super::until::{MOST_LAUNCHES, Stop};

/// The durations that a protocol kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// The launches in each timed region; a duration is the mean over them.
    pub launches_per_sample: u32,
    /// Nanoseconds per launch, in the order in which they were taken.
    pub durations_ns: Vec<f64>,
    /// The write before each launch that emptied the cache; absent if the cache was left as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<Flush>,
    /// The reason why a measurement of open length ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
}

impl Samples {
    /// The samples of launches that were timed one by one.
    pub fn each(durations_ns: Vec<f64>) -> Self {
        Self { launches_per_sample: 1, durations_ns, flush: None, stop: None }
    }

    /// Adds the samples of a later measurement by the same protocol, and keeps the reason for the end of the one whose
    /// mean is known less well.
    pub fn extend(&mut self, later: Self) {
        self.durations_ns.extend(later.durations_ns);
        self.stop = self.stop.max(later.stop);
    }

    /// The summary of the durations; `None` if there are none.
    pub fn statistics(&self) -> Option<Statistics> {
        Statistics::of(&self.durations_ns)
    }
}

/// Why a measurement gave no samples.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeasureError<E> {
    /// A launch failed.
    #[error(transparent)]
    Launch(E),
    /// The clock failed.
    #[error(transparent)]
    Clock(#[from] ClockError),
}

/// Launches as `protocol` says, and times the launches with `clock`. `cache` is emptied only if the protocol says so.
///
/// # Errors
/// [`MeasureError`]: the first failure of a launch or of the clock ends the measurement.
pub fn measure<E>(
    protocol: Protocol,
    clock: &mut dyn Clock,
    cache: &mut dyn Cache,
    launch: &mut dyn FnMut() -> Result<(), E>,
) -> Result<Samples, MeasureError<E>> {
    for _ in 0..protocol.warmup() {
        launch().map_err(MeasureError::Launch)?;
    }
    match protocol {
        Protocol::KernelForge { launches, .. } => {
            clock.start(2)?;
            clock.mark();
            for _ in 0..launches.get() {
                launch().map_err(MeasureError::Launch)?;
            }
            clock.mark();
            let durations_ns = clock.resolve()?.into_iter().map(|ns| ns / f64::from(launches.get())).collect();
            Ok(Samples { launches_per_sample: launches.get(), durations_ns, flush: None, stop: None })
        }
        Protocol::Samples { launches, .. } => Ok(Samples::each(one_by_one(launches.get(), clock, launch)?)),
        Protocol::Cold { launches, .. } => {
            let flush = cache.prepare()?;
            clock.start(2 * launches.get() as usize)?;
            for _ in 0..launches.get() {
                cache.flush();
                clock.mark();
                launch().map_err(MeasureError::Launch)?;
                clock.mark();
            }
            // A flush is between the mark after a launch and the next mark.
            let durations_ns = clock.resolve()?.into_iter().step_by(2).collect();
            Ok(Samples { flush: Some(flush), ..Samples::each(durations_ns) })
        }
        Protocol::Until { launches, relative_error, time_ns, .. } => {
            let rule = Rule {
                fewest: launches.get(),
                most: MOST_LAUNCHES,
                relative_error: relative_error.get(),
                time: time_ns as f64,
            };
            let mut durations_ns = Vec::new();
            loop {
                match rule.next(&durations_ns) {
                    Next::Samples(more) => durations_ns.extend(one_by_one(more, clock, launch)?),
                    Next::Stop(reason) => {
                        return Ok(Samples { stop: Some(reason.into()), ..Samples::each(durations_ns) });
                    }
                }
            }
        }
    }
}

/// The durations of `launches` launches, with a mark after each.
fn one_by_one<E>(
    launches: u32,
    clock: &mut dyn Clock,
    launch: &mut dyn FnMut() -> Result<(), E>,
) -> Result<Vec<f64>, MeasureError<E>> {
    clock.start(launches as usize + 1)?;
    clock.mark();
    for _ in 0..launches {
        launch().map_err(MeasureError::Launch)?;
        clock.mark();
    }
    Ok(clock.resolve()?)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::num::NonZeroU32;
    use std::rc::Rc;

    use super::*;
    use crate::timing::RelativeError;
    use plimsoll_memory::bytes::ByteSize;

    /// A clock that a launch advances by hand, and that records the calls it got.
    struct ManualClock {
        now: Rc<Cell<f64>>,
        marks: Vec<f64>,
        room: usize,
        fails: bool,
    }

    impl ManualClock {
        fn new(now: &Rc<Cell<f64>>) -> Self {
            Self { now: Rc::clone(now), marks: Vec::new(), room: 0, fails: false }
        }
    }

    impl Clock for ManualClock {
        fn name(&self) -> &'static str {
            "manual"
        }
        fn start(&mut self, marks: usize) -> Result<(), ClockError> {
            self.marks.clear();
            self.room = marks;
            Ok(())
        }
        fn mark(&mut self) {
            self.marks.push(self.now.get());
        }
        fn resolve(&mut self) -> Result<Vec<f64>, ClockError> {
            assert_eq!(self.marks.len(), self.room, "room is made for exactly the marks recorded");
            if self.fails {
                return Err(ClockError { clock: "manual", reason: "an event was never reached".into() });
            }
            Ok(self.marks.windows(2).map(|pair| pair[1] - pair[0]).collect())
        }
    }

    /// A cache whose flush takes long, and that counts flushes.
    #[derive(Default)]
    struct ManualCache {
        now: Rc<Cell<f64>>,
        prepared: bool,
        flushes: u32,
    }

    impl Cache for ManualCache {
        fn prepare(&mut self) -> Result<Flush, ClockError> {
            self.prepared = true;
            Ok(Flush::of(Some(ByteSize::mib(1))))
        }
        fn flush(&mut self) {
            assert!(self.prepared);
            self.flushes += 1;
            self.now.set(self.now.get() + 1e6);
        }
    }

    const FOUR: NonZeroU32 = NonZeroU32::new(4).unwrap();

    /// Launch `n` (from 1) takes `n` nanoseconds.
    fn run(protocol: Protocol) -> (Samples, u32, u32) {
        let now = Rc::new(Cell::new(0.0));
        let mut count = 0;
        let mut clock = ManualClock::new(&now);
        let mut cache = ManualCache { now: Rc::clone(&now), ..ManualCache::default() };
        let samples = measure(protocol, &mut clock, &mut cache, &mut || {
            count += 1;
            now.set(now.get() + f64::from(count));
            Ok::<(), ()>(())
        });
        (samples.unwrap(), count, cache.flushes)
    }

    #[test]
    fn kernelforge_keeps_the_mean_of_one_region_after_the_warmup() {
        let (samples, count, flushes) = run(Protocol::KernelForge { warmup: 2, launches: FOUR });
        assert_eq!((count, flushes), (6, 0));
        let mean = (3.0 + 4.0 + 5.0 + 6.0) / 4.0;
        assert_eq!(samples, Samples { launches_per_sample: 4, ..Samples::each(vec![mean]) });
    }

    #[test]
    fn samples_keep_every_launch_after_the_warmup() {
        let (samples, count, flushes) = run(Protocol::Samples { warmup: 1, launches: FOUR });
        assert_eq!((count, flushes), (5, 0));
        assert_eq!(samples, Samples::each(vec![2.0, 3.0, 4.0, 5.0]));
        assert_eq!(samples.statistics().unwrap().median_ns, 3.5);
    }

    #[test]
    fn cold_launches_each_come_after_a_flush_that_is_not_timed() {
        let (samples, count, flushes) = run(Protocol::Cold { warmup: 1, launches: FOUR });
        assert_eq!((count, flushes), (5, 4), "warm-up launches need none");
        let flush = Some(Flush { written: ByteSize::mib(2), cache: Some(ByteSize::mib(1)) });
        assert_eq!(samples, Samples { flush, ..Samples::each(vec![2.0, 3.0, 4.0, 5.0]) });
    }

    #[test]
    fn until_goes_on_in_rounds_and_keeps_every_launch() {
        let until = |relative_error, time_ns| Protocol::Until {
            warmup: 1,
            launches: FOUR,
            relative_error: RelativeError::new(relative_error).unwrap(),
            time_ns,
        };
        let (samples, count, flushes) = run(until(0.3, 1_000_000));
        assert_eq!((count, flushes), (5, 0));
        assert_eq!(samples, Samples { stop: Some(Stop::RelativeError), ..Samples::each(vec![2.0, 3.0, 4.0, 5.0]) });
        // 2 + 3 + .. + 14 are the first launches to take 100 ns together.
        let (samples, ..) = run(until(1e-6, 100));
        assert_eq!(samples.stop, Some(Stop::Time));
        let kept: Vec<f64> = (2..).map(f64::from).take(samples.durations_ns.len()).collect();
        assert_eq!(samples.durations_ns, kept);
        assert!((13..=17).contains(&kept.len()), "{kept:?}");
    }

    #[test]
    fn a_failed_launch_ends_the_measurement() {
        for fails_at in [0, 1, 3, 5] {
            let protocol = Protocol::KernelForge { warmup: 2, launches: FOUR };
            let now = Rc::new(Cell::new(0.0));
            let mut count = 0;
            let result = measure(protocol, &mut ManualClock::new(&now), &mut ManualCache::default(), &mut || {
                count += 1;
                if count > fails_at { Err(count) } else { Ok(()) }
            });
            assert_eq!(result, Err(MeasureError::Launch(fails_at + 1)));
        }
    }

    #[test]
    fn a_failed_clock_gives_no_samples() {
        let mut clock = ManualClock { fails: true, ..ManualClock::new(&Rc::default()) };
        let result = measure(Protocol::samples(), &mut clock, &mut ManualCache::default(), &mut || Ok::<(), ()>(()));
        let Err(MeasureError::Clock(error)) = result else { panic!("{result:?}") };
        assert_eq!(error.to_string(), "the manual clock gave no time: an event was never reached");
    }
}
