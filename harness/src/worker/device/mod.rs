//! Launches of a kernel of a shared library, or of an operator, on a GPU: inputs uploaded from their files, outputs brought
//! back.
//!
//! The host holds none of a tensor but what is on its way (`Ring`). A validation gives the arguments of one call after the
//! other the same addresses, as on the CPU; calls of a batch are resident together, a storage that they share once; the
//! launch after the timed ones finds everything at other addresses.

mod kernel;
mod launch;
mod on_device;
mod outputs;
mod resident;
mod seen;

pub use kernel::DeviceKernel;
pub use launch::{DeviceLaunches, Timing};
