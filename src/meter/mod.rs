//! Memory of a process, a tree of processes and the system.

mod reading;

pub use reading::{Metric, PhaseReadings, ProcessPeak, Reading, Source, TimelinePoint};
