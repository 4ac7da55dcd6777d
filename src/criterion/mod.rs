//! The measurements, for the version of criterion that the parent module calls `library`.

use super::library;

mod cpu_time;
#[cfg(all(feature = "capture", feature = "gpu"))]
mod cuda_time;
mod format;
mod heap;
mod iterate;
mod peak;
mod resident;
mod sampled;

pub use cpu_time::CpuTime;
#[cfg(all(feature = "capture", feature = "gpu"))]
pub use cuda_time::CudaTime;
pub(super) use format::Amount;
pub use heap::PeakHeap;
pub use iterate::{IterEach, Measured, group};
pub use peak::PeakBytes;
pub use resident::{PeakAnon, PeakAnonGrowth, PeakRss, PeakRssGrowth};
