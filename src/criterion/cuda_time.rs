//! [`CudaTime`]: time on a GPU.

use std::rc::Rc;

use super::library::measurement::{Measurement, ValueFormatter, WallTime};

use plimsoll_capture::gpu::{Event, Gpu, GpuError, Stream};

/// The time a GPU takes for the work that an iteration puts on its default stream, between two CUDA events.
///
/// The time is additive, so all of criterion's own loops measure it correctly. Work on other streams is missed unless
/// the iteration waits for it. The end of a measurement waits for the device, so that the next one starts on an idle
/// device.
#[derive(Debug)]
pub struct CudaTime {
    stream: Stream,
}

impl CudaTime {
    /// Creates the measurement for GPU `index`, which stays current on this thread.
    ///
    /// # Errors
    /// [`GpuError`] if there is no driver or device.
    pub fn new(index: u32) -> Result<Self, GpuError> {
        Ok(Self { stream: Stream::default_of(&Gpu::open(index)?) })
    }

    fn mark(&self) -> Event {
        let mark = Event::new(self.stream.gpu()).and_then(|event| event.record(&self.stream).map(|()| event));
        mark.unwrap_or_else(|error| panic!("CudaTime: {error}"))
    }

    /// The device, so that a benchmark can allocate memory on it.
    pub fn gpu(&self) -> &Rc<Gpu> {
        self.stream.gpu()
    }
}

impl Measurement for CudaTime {
    type Intermediate = Event;
    type Value = f64;

    fn start(&self) -> Event {
        self.mark()
    }

    fn end(&self, start: Event) -> f64 {
        let end = self.mark();
        let time = end.wait().and_then(|()| end.since(&start));
        time.unwrap_or_else(|error| panic!("CudaTime: {error}"))
    }

    fn add(&self, a: &f64, b: &f64) -> f64 {
        a + b
    }

    fn zero(&self) -> f64 {
        0.0
    }

    fn to_f64(&self, value: &f64) -> f64 {
        *value
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}
