//! [`IdleCheck`]: whether a stream that has ended was all that the device was doing.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::context::Gpu;
use super::error::GpuError;
use super::stream::{Event, Stream};

/// Tells whether a stream that has ended was all that the device was doing.
///
/// The driver's event of a whole context tells that it was reached; its manual does not promise that it tells when. So a
/// stream that has nothing else to do waits for it, and an event of that stream tells the time.
#[derive(Debug)]
pub struct IdleCheck {
    end: Event,
    whole: Event,
    aside: Stream,
    all: Event,
}

impl IdleCheck {
    /// How much later everything else may end and still be the end of the same work: one stream learns of the end of another
    /// some microseconds after it.
    pub const TOLERANCE: Duration = Duration::from_micros(50);
    /// The same where the driver has no event for all streams, and the host waits for them: it may be kept from looking.
    const TOLERANCE_OF_HOST: Duration = Duration::from_millis(2);

    /// A check on `gpu`, which can be put into streams again and again.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn new(gpu: &Rc<Gpu>) -> Result<Self, GpuError> {
        Ok(Self { end: Event::new(gpu)?, whole: Event::untimed(gpu)?, aside: Stream::new(gpu)?, all: Event::new(gpu)? })
    }

    /// Puts the check into `stream`: nothing waits. Whether the driver has an event for all streams.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn begin(&self, stream: &Stream) -> Result<bool, GpuError> {
        // In this order, so that however late the host comes to the second, a device that does nothing else reaches it last.
        let recorded = match self.record_all() {
            Err(error) if !error.is_fault() => false,
            other => other?,
        };
        self.end.record(stream)?;
        Ok(recorded)
    }

    /// `false` where the driver has no such event. A driver that has it and refuses it can be asked by the host.
    fn record_all(&self) -> Result<bool, GpuError> {
        if !self.whole.record_all()? {
            return Ok(false);
        }
        self.aside.wait_for(&self.whole)?;
        self.all.record(&self.aside)?;
        Ok(true)
    }

    /// Waits for everything. How long the device went on after the stream had ended, where that is too long to be its end.
    ///
    /// # Errors
    /// [`GpuError`] where any of the work failed.
    pub fn finish(&self, stream: &Stream, all_recorded: bool) -> Result<Option<Duration>, GpuError> {
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
