//! [`Clock`], and the clock of the CPU.

use std::time::Instant;

/// An error of a clock that could not measure the time between its marks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {clock} clock gave no time: {reason}")]
pub struct ClockError {
    /// The name of the clock, such as `cuda`.
    pub clock: &'static str,
    /// The error that the clock reported.
    pub reason: String,
}

/// A clock that records marks now and resolves the time between them later.
///
/// Marks are in the order of the work that they separate: on the CPU a mark is read at once, on a device it is an event
/// put into the stream, whose time is known once the stream has reached it.
pub trait Clock {
    /// The name for the record, such as `cpu`.
    fn name(&self) -> &'static str;

    /// Begins a measurement of `marks` marks: waits for work launched before, forgets earlier marks, and allocates
    /// everything that a mark needs, so that [`Clock::mark`] neither allocates nor waits.
    ///
    /// # Errors
    /// [`ClockError`] if earlier work failed, or the marks could not be made.
    fn start(&mut self, marks: usize) -> Result<(), ClockError>;

    /// Records the next mark.
    fn mark(&mut self);

    /// Waits until every mark is reached, and returns the nanoseconds from each mark to the next: one value fewer than
    /// marks.
    ///
    /// # Errors
    /// [`ClockError`] if a mark was never reached.
    fn resolve(&mut self) -> Result<Vec<f64>, ClockError>;
}

/// The monotonic clock of this process. It never fails.
#[derive(Clone, Debug, Default)]
pub struct CpuClock {
    marks: Vec<Instant>,
}

impl Clock for CpuClock {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn start(&mut self, marks: usize) -> Result<(), ClockError> {
        self.marks.clear();
        self.marks.reserve(marks);
        Ok(())
    }

    fn mark(&mut self) {
        self.marks.push(Instant::now());
    }

    fn resolve(&mut self) -> Result<Vec<f64>, ClockError> {
        Ok(self.marks.windows(2).map(|pair| pair[1].duration_since(pair[0]).as_nanos() as f64).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn measures_the_time_between_each_mark_and_the_next() {
        let mut clock = CpuClock::default();
        for _ in 0..2 {
            let began = Instant::now();
            clock.start(3).unwrap();
            clock.mark();
            std::thread::sleep(Duration::from_millis(20));
            clock.mark();
            clock.mark();
            let whole = began.elapsed().as_nanos() as f64;
            let durations = clock.resolve().unwrap();
            assert_eq!(durations.len(), 2, "marks of an earlier measurement are forgotten");
            assert!(durations[0] >= 20e6 && durations[1] >= 0.0, "{durations:?}");
            // This holds however long the thread had to wait for the processor between two marks.
            assert!(durations.iter().sum::<f64>() <= whole, "{durations:?} of {whole} ns");
        }
    }

    #[test]
    fn no_marks_give_no_durations() {
        let mut clock = CpuClock::default();
        clock.start(0).unwrap();
        assert_eq!(clock.resolve().unwrap(), Vec::<f64>::new());
    }
}
