//! [`IdleCheck`]: a check whether the device worked on anything besides a stream that has ended.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::context::Gpu;
use super::error::GpuError;
use super::stream::{Event, Stream};

/// A check whether the device worked on anything besides a stream that has ended.
///
/// The driver's event of a whole context shows that it was reached; its manual does not promise that it records when.
/// So a stream without other work waits for it, and an event of that stream records the time.
#[derive(Debug)]
pub struct IdleCheck {
    end: Event,
    whole: Event,
    aside: Stream,
    all: Event,
}

impl IdleCheck {
    /// How much later all other work may end and still count as the end of the same work: one stream learns of the end
    /// of another up to 3 us after it on an H200, and 16 us if others use the device.
    pub const TOLERANCE: Duration = Duration::from_micros(20);
    /// The tolerance if the driver has no event for all streams and the host waits for them, because the host may be
    /// delayed.
    const TOLERANCE_OF_HOST: Duration = Duration::from_millis(2);
    /// How often the check is repeated with nothing launched, after it has found other work.
    const CONTROLS: u32 = 8;

    /// Makes a check on `gpu`, which can be put into streams again and again.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn new(gpu: &Rc<Gpu>) -> Result<Self, GpuError> {
        Ok(Self { end: Event::new(gpu)?, whole: Event::untimed(gpu)?, aside: Stream::new(gpu)?, all: Event::new(gpu)? })
    }

    /// Puts the check into `stream` without waiting, and returns whether the driver has an event for all streams.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn begin(&self, stream: &Stream) -> Result<bool, GpuError> {
        // The order matters: however late the host makes the second call, a device that does nothing else reaches it
        // last.
        let recorded = match self.record_all() {
            Err(error) if !error.is_fault() => false,
            other => other?,
        };
        self.end.record(stream)?;
        Ok(recorded)
    }

    /// Records the event of the whole context; `false` if the driver has no such event. If the driver has it and
    /// refuses it, the host can still wait.
    fn record_all(&self) -> Result<bool, GpuError> {
        if !self.whole.record_all()? {
            return Ok(false);
        }
        self.aside.wait_for(&self.whole)?;
        self.all.record(&self.aside)?;
        Ok(true)
    }

    /// Waits for everything, and returns how long the device went on after the stream had ended, if that is longer than
    /// the tolerance. If other programs have their turns on the device, a check of nothing finds as much: then nobody
    /// knows.
    ///
    /// # Errors
    /// [`GpuError`] if any of the work failed.
    pub fn finish(&self, stream: &Stream, all_recorded: bool) -> Result<Option<Duration>, GpuError> {
        let late = self.late(stream, all_recorded)?;
        for _ in 0..late.map_or(0, |_| Self::CONTROLS) {
            stream.gpu().synchronize()?;
            let all_recorded = self.begin(stream)?;
            if self.late(stream, all_recorded)?.is_some() {
                return Ok(None);
            }
        }
        Ok(late)
    }

    fn late(&self, stream: &Stream, all_recorded: bool) -> Result<Option<Duration>, GpuError> {
        self.end.wait()?;
        let (late, tolerance) = if all_recorded {
            self.all.wait()?;
            (Duration::from_nanos(self.all.since(&self.end)?.max(0.0) as u64), Self::TOLERANCE)
        } else {
            let began = Instant::now();
            stream.gpu().synchronize()?;
            (began.elapsed(), Self::TOLERANCE_OF_HOST)
        };
        Ok((late > tolerance).then_some(late))
    }
}
