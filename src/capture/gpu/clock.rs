//! [`CudaClock`]: a clock of events.

use std::time::Duration;

use super::error::GpuError;
use super::idle::IdleCheck;
use super::stream::{Event, Stream};
use crate::timing::{Clock, ClockError};

/// The clock of a stream: a mark is an event in it. If the device keeps working after the last mark was reached, the
/// kernel launched work outside of the marks, and no time is returned.
#[derive(Debug)]
pub struct CudaClock<'a> {
    stream: &'a Stream,
    events: Vec<Event>,
    idle: IdleCheck,
    recorded: usize,
    wanted: usize,
    /// The error of a mark, which cannot return it itself.
    failed: Option<GpuError>,
    checked: bool,
    late: Option<Duration>,
}

impl<'a> CudaClock<'a> {
    /// The name of the clock.
    pub const NAME: &'static str = "cuda";

    /// Makes a clock of `stream`.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn new(stream: &'a Stream) -> Result<Self, GpuError> {
        let idle = IdleCheck::new(stream.gpu())?;
        Ok(Self { stream, events: Vec::new(), idle, recorded: 0, wanted: 0, failed: None, checked: false, late: None })
    }

    /// How long the device continued after the last mark, if that is why no time is returned.
    pub fn late(&self) -> Option<Duration> {
        self.late
    }

    /// The times between the marks, and however long the device continued after the last one is left to
    /// [`late`](Self::late).
    ///
    /// # Errors
    /// [`GpuError`] of a mark, or of the work between.
    pub fn times(&mut self) -> Result<Vec<f64>, GpuError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.late = self.idle.finish(self.stream, self.checked)?;
        self.events[..self.recorded].windows(2).map(|pair| pair[1].since(&pair[0])).collect()
    }
}

fn refused(error: &GpuError) -> ClockError {
    ClockError { clock: CudaClock::NAME, reason: error.to_string() }
}

impl Clock for CudaClock<'_> {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn start(&mut self, marks: usize) -> Result<(), ClockError> {
        self.stream.gpu().synchronize().map_err(|error| refused(&error))?;
        while self.events.len() < marks {
            self.events.push(Event::new(self.stream.gpu()).map_err(|error| refused(&error))?);
        }
        (self.recorded, self.wanted) = (0, marks);
        (self.failed, self.checked, self.late) = (None, false, None);
        Ok(())
    }

    fn mark(&mut self) {
        let Some(event) = self.events.get(self.recorded) else { return };
        let mut recorded = event.record(self.stream);
        self.recorded += 1;
        if self.recorded == self.wanted && recorded.is_ok() {
            // Done at the last mark, before the host could wait for anything.
            recorded = self.idle.begin(self.stream).map(|checked| self.checked = checked);
        }
        if let Err(error) = recorded {
            self.failed.get_or_insert(error);
        }
    }

    fn resolve(&mut self) -> Result<Vec<f64>, ClockError> {
        let times = self.times().map_err(|error| refused(&error))?;
        match self.late {
            None => Ok(times),
            Some(late) => Err(ClockError {
                clock: Self::NAME,
                reason: format!(
                    "the device continued for {} after the kernel's stream had ended: the kernel works on a stream of its own \
                     and does not wait for it",
                    humantime::format_duration(late)
                ),
            }),
        }
    }
}
