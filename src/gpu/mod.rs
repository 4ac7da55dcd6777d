//! NVIDIA GPUs: their driver, loaded at run time, and what they are.
//!
//! Nothing of CUDA is needed to build or to run: where there is no driver, [`Driver::load`] says so in a typed error, which
//! commands that were told to use a GPU end with.

mod device;
mod driver;
mod error;
mod name;

pub use device::{DeviceFacts, Devices, schema};
pub use driver::Driver;
pub use error::GpuError;
pub use name::{ParsePlaceError, Place, PlaceKind};

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
