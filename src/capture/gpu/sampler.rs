//! [`StateSampler`]: reads the state of a GPU by NVML while something is timed on it.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};

use super::state::{GpuState, Span};

/// The name of the library that a driver installs.
const LIBRARY: &str = "libnvidia-ml.so.1";
/// The time between two samples: the driver's own figures are updated only every 20 ms or so.
const INTERVAL: Duration = Duration::from_millis(50);

/// A thread that reads the state of a GPU again and again, until this is dropped.
#[derive(Debug)]
pub struct StateSampler {
    nvml: Arc<Nvml>,
    pci: String,
    taken: Arc<Mutex<GpuState>>,
    /// A channel that ends the thread when it is dropped.
    ends: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StateSampler {
    /// Starts to sample the GPU at this place of the PCI bus, as the driver of CUDA names it.
    ///
    /// # Errors
    /// The reason, in words, if the state cannot be read.
    pub fn start(pci: &str) -> Result<Self, String> {
        let nvml = Nvml::builder().lib_path(LIBRARY.as_ref()).init().map_err(|error| format!("NVML: {error}"))?;
        nvml.device_by_pci_bus_id(pci).map_err(|error| format!("NVML: {pci}: {error}"))?;
        let (nvml, taken) = (Arc::new(nvml), Arc::new(Mutex::new(GpuState::default())));
        let (ends, ended) = channel::<()>();
        let of_thread = (Arc::clone(&nvml), pci.to_owned(), Arc::clone(&taken));
        let work = move || {
            let (nvml, pci, taken) = of_thread;
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let now = read(&nvml, &pci);
                taken.lock().unwrap_or_else(PoisonError::into_inner).add(&now);
            }
        };
        let thread = std::thread::Builder::new().name("gpu-state".to_owned()).spawn(work);
        let thread = thread.map_err(|error| format!("cannot start a thread to read the GPU's state: {error}"))?;
        Ok(Self { nvml, pci: pci.to_owned(), taken, ends: Some(ends), thread: Some(thread) })
    }

    /// The state read since the last call, including a reading now.
    pub fn take(&self) -> GpuState {
        let now = read(&self.nvml, &self.pci);
        let mut taken = std::mem::take(&mut *self.taken.lock().unwrap_or_else(PoisonError::into_inner));
        taken.add(&now);
        taken
    }
}

impl Drop for StateSampler {
    fn drop(&mut self) {
        drop(self.ends.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read(nvml: &Nvml, pci: &str) -> GpuState {
    let Ok(device) = nvml.device_by_pci_bus_id(pci) else { return GpuState::default() };
    let span = |value: Option<u32>| value.map(|value| Span { least: value, most: value });
    GpuState {
        samples: 1,
        interval_ns: INTERVAL.as_nanos() as u64,
        sm_clock_mhz: span(device.clock_info(Clock::SM).ok()),
        memory_clock_mhz: span(device.clock_info(Clock::Memory).ok()),
        temperature_c: span(device.temperature(TemperatureSensor::Gpu).ok()),
        power_mw: span(device.power_usage().ok()),
        throttled: device.current_throttle_reasons().map(names).unwrap_or_default(),
    }
}

/// The reasons that make a device slower than requested; idling, or clocks set by the user, are not among them.
fn names(reasons: ThrottleReasons) -> Vec<String> {
    let known = [
        (ThrottleReasons::SW_POWER_CAP, "software power cap"),
        (ThrottleReasons::HW_SLOWDOWN, "hardware slowdown"),
        (ThrottleReasons::SW_THERMAL_SLOWDOWN, "software thermal slowdown"),
        (ThrottleReasons::HW_THERMAL_SLOWDOWN, "hardware thermal slowdown"),
        (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "hardware power brake"),
    ];
    known.into_iter().filter(|(reason, _)| reasons.contains(*reason)).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_become_spans_and_reasons_stand_once() {
        let one = |clock, reasons: ThrottleReasons| GpuState {
            samples: 1,
            sm_clock_mhz: clock,
            throttled: names(reasons),
            ..GpuState::default()
        };
        let at = |mhz| Some(Span { least: mhz, most: mhz });
        let mut all = GpuState::default();
        all.add(&one(at(1755), ThrottleReasons::GPU_IDLE));
        all.add(&one(None, ThrottleReasons::SW_POWER_CAP | ThrottleReasons::SYNC_BOOST));
        all.add(&one(at(1200), ThrottleReasons::SW_POWER_CAP));
        assert_eq!((all.samples, all.sm_clock_mhz), (3, Some(Span { least: 1200, most: 1755 })));
        assert_eq!(all.throttled, ["software power cap"]);
    }
}
