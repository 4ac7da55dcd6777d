//! [`measure`]: a protocol run with a clock.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clock::{Clock, ClockError};
use super::protocol::Protocol;
use super::statistics::Statistics;

/// The durations that a protocol kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    /// The launches in each timed region; a duration is the mean over them.
    pub launches_per_sample: u32,
    /// Nanoseconds a launch, in the order in which they were taken.
    pub durations_ns: Vec<f64>,
}

impl Samples {
    /// The summary of the durations; `None` where there are none.
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

/// Launches as `protocol` asks, and times it with `clock`.
///
/// # Errors
/// [`MeasureError`]: the first launch or clock that fails ends the measurement.
pub fn measure<E>(
    protocol: Protocol,
    clock: &mut dyn Clock,
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
            Ok(Samples { launches_per_sample: launches.get(), durations_ns })
        }
        Protocol::Samples { launches, .. } => {
            clock.start(launches.get() as usize + 1)?;
            clock.mark();
            for _ in 0..launches.get() {
                launch().map_err(MeasureError::Launch)?;
                clock.mark();
            }
            Ok(Samples { launches_per_sample: 1, durations_ns: clock.resolve()? })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::num::NonZeroU32;
    use std::rc::Rc;

    use super::*;

    /// A clock that a launch moves on by hand, and that notes what was asked of it.
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

    const FOUR: NonZeroU32 = NonZeroU32::new(4).unwrap();

    /// Launch `n` (from 1) takes `n` nanoseconds.
    fn run(protocol: Protocol) -> (Samples, u32) {
        let now = Rc::new(Cell::new(0.0));
        let mut count = 0;
        let mut clock = ManualClock::new(&now);
        let samples = measure(protocol, &mut clock, &mut || {
            count += 1;
            now.set(now.get() + f64::from(count));
            Ok::<(), ()>(())
        });
        (samples.unwrap(), count)
    }

    #[test]
    fn kernelforge_keeps_the_mean_of_one_region_after_the_warmup() {
        let (samples, count) = run(Protocol::KernelForge { warmup: 2, launches: FOUR });
        assert_eq!(count, 6);
        assert_eq!(samples, Samples { launches_per_sample: 4, durations_ns: vec![(3.0 + 4.0 + 5.0 + 6.0) / 4.0] });
    }

    #[test]
    fn samples_keep_every_launch_after_the_warmup() {
        let (samples, count) = run(Protocol::Samples { warmup: 1, launches: FOUR });
        assert_eq!(count, 5);
        assert_eq!(samples, Samples { launches_per_sample: 1, durations_ns: vec![2.0, 3.0, 4.0, 5.0] });
        assert_eq!(samples.statistics().unwrap().median_ns, 3.5);
    }

    #[test]
    fn a_failed_launch_ends_the_measurement() {
        for fails_at in [0, 1, 3, 5] {
            let now = Rc::new(Cell::new(0.0));
            let mut count = 0;
            let result =
                measure(Protocol::KernelForge { warmup: 2, launches: FOUR }, &mut ManualClock::new(&now), &mut || {
                    count += 1;
                    if count > fails_at { Err(count) } else { Ok(()) }
                });
            assert_eq!(result, Err(MeasureError::Launch(fails_at + 1)));
        }
    }

    #[test]
    fn a_failed_clock_gives_no_samples() {
        let mut clock = ManualClock { fails: true, ..ManualClock::new(&Rc::default()) };
        let result = measure(Protocol::samples(), &mut clock, &mut || Ok::<(), ()>(()));
        let Err(MeasureError::Clock(error)) = result else { panic!("{result:?}") };
        assert_eq!(error.to_string(), "the manual clock gave no time: an event was never reached");
    }
}
