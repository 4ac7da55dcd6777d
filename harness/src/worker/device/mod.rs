//! Launches a kernel of a shared library, or an operator, on a GPU: inputs are uploaded from their files, outputs
//! copied back.
//!
//! The host only holds the parts of a tensor that are in transit (`Ring`). A validation gives the arguments of
//! successive calls the same addresses, as on the CPU; calls of a batch are resident together and share common
//! storages; the launch after the timed ones finds everything at other addresses.

mod audit;
mod kernel;
mod launch;
mod on_device;
mod outputs;
mod resident;
mod seen;

pub use audit::{DeviceAudited, IdleDevice};
pub use kernel::DeviceKernel;
pub use launch::{DeviceLaunches, Timing, opened};
