//! NVIDIA GPUs: their driver, loaded at run time, and what kernels need of a device.
//!
//! Nothing of CUDA is needed to build or to run: where there is no driver, [`Driver::load`] says so in a typed error, which
//! commands that were told to use a GPU end with. A [`Gpu`] is a device in its primary context, with memory that is freed
//! when it is dropped; a [`Ring`] carries storages to it and outputs back through a few pinned buffers; [`CudaClock`] and
//! [`CudaCache`] are what the protocols of [`timing`](crate::timing) time launches with there.
//!
//! This code has run on an emulation of the driver alone, which the tests build; `harness/gpu-check.sh` runs it on a device.

mod accounting;
mod cache;
mod clock;
mod context;
mod device;
mod driver;
mod error;
mod functions;
mod gate;
mod graph;
mod idle;
mod name;
mod operator;
mod ring;
mod state;
mod stream;

pub use accounting::{AllocatorUse, DeviceUse};
pub use cache::CudaCache;
pub use clock::CudaClock;
pub use context::{DeviceMemory, Gpu, MemoryInfo};
pub use device::{DeviceFacts, Devices, schema};
pub use driver::Driver;
pub use error::GpuError;
pub use gate::Gate;
pub use graph::Graph;
pub use idle::IdleCheck;
pub use name::{ParsePlaceError, Place, PlaceKind};
pub use operator::DeviceOperator;
pub use ring::{ReadAt, Ring, Take, TransferError, same};
pub use state::{GpuState, Span, StateSampler};
pub use stream::{Event, Stream};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_driver_is_told_so() {
        match Devices::find(None) {
            Ok(found) => assert!(found.devices.iter().all(|device| !device.name.is_empty())),
            Err(error) => {
                assert!(error.is_absence(), "{error}");
                if matches!(error, GpuError::NoDriver { .. }) {
                    assert!(error.to_string().starts_with("no NVIDIA driver found: libcuda.so.1"), "{error}");
                }
            }
        }
    }
}
