//! NVIDIA GPUs: their driver, loaded at run time, and the device side of launching kernels.
//!
//! CUDA is needed neither to build nor to run: without a driver, [`Driver::load`] returns a typed error, and commands
//! that should use a GPU end with it. A [`Gpu`] is a device in its primary context, with memory that is freed when it
//! is dropped; a [`Ring`] carries storages to it and outputs back through a few pinned buffers; the protocols of
//! [`timing`](crate::timing) time launches there with [`CudaClock`] and [`CudaCache`].
//!
//! Without the feature `gpu`, only the document types exist, and nothing that calls a driver.
//!
//! The tests run this code on an emulation of the driver, which they build; `harness/gpu-check.sh` runs it on a device.

mod accounting;
#[cfg(feature = "gpu")]
mod cache;
#[cfg(feature = "gpu")]
mod clock;
#[cfg(feature = "gpu")]
mod context;
mod device;
#[cfg(feature = "gpu")]
mod driver;
#[cfg(feature = "gpu")]
mod early;
mod error;
#[cfg(feature = "gpu")]
mod find;
#[cfg(feature = "gpu")]
mod functions;
#[cfg(feature = "gpu")]
mod graph;
#[cfg(feature = "gpu")]
mod idle;
mod name;
mod operator;
#[cfg(feature = "gpu")]
mod ring;
#[cfg(feature = "gpu")]
mod sampler;
mod state;
#[cfg(feature = "gpu")]
mod stream;
#[cfg(feature = "gpu")]
mod stream_barrier;

pub use accounting::{AllocatorUse, DeviceUse};
#[cfg(feature = "gpu")]
pub use cache::CudaCache;
#[cfg(feature = "gpu")]
pub use clock::CudaClock;
#[cfg(feature = "gpu")]
pub use context::{DeviceMemory, Gpu, MemoryInfo};
pub use device::{DeviceFacts, Devices, schema};
#[cfg(feature = "gpu")]
pub use driver::Driver;
#[cfg(feature = "gpu")]
pub use early::EarlyCopy;
pub use error::GpuError;
#[cfg(feature = "gpu")]
pub use graph::Graph;
#[cfg(feature = "gpu")]
pub use idle::IdleCheck;
pub use name::{ParsePlaceError, Place, PlaceKind};
pub use operator::DeviceOperator;
#[cfg(feature = "gpu")]
pub use ring::{ReadAt, Ring, Take, TransferError, same};
#[cfg(feature = "gpu")]
pub use sampler::StateSampler;
pub use state::{GpuState, Span};
#[cfg(feature = "gpu")]
pub use stream::{Event, Stream};
#[cfg(feature = "gpu")]
pub use stream_barrier::StreamBarrier;

/// The earlier name of [`StreamBarrier`].
#[cfg(feature = "gpu")]
#[deprecated(note = "renamed to `StreamBarrier`, because a gate judges records")]
pub type Gate = StreamBarrier;

#[cfg(all(test, feature = "gpu"))]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_driver_is_reported() {
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
