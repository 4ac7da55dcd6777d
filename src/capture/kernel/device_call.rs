//! [`DeviceCall`]: the arguments that a kernel is launched on, in the memory of a GPU.

use super::error::KernelError;
use crate::{Argument, OutsideStorage, TensorRef, TensorSpec};

/// A run of bytes on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceRange {
    /// The address of the first byte, on the device.
    pub address: u64,
    /// The length in bytes.
    pub bytes: u64,
}

/// One call of a kernel on a GPU: as a [`Call`](super::Call), with its storages and outputs on the device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceCall<'a> {
    /// The name of each argument.
    pub params: &'a [String],
    /// The arguments, parallel to `params`.
    pub args: &'a [Argument],
    /// The number of the device.
    pub device: u32,
    /// Each storage, by [`TensorRef::storage`]; storages that no argument reaches may be empty.
    pub storages: &'a [DeviceRange],
    /// Each output, contiguous, with the address of its first byte.
    pub outputs: &'a [(TensorSpec, u64)],
    /// The stream that the kernel is to launch on; 0 is the default stream.
    pub stream: usize,
}

impl DeviceCall<'_> {
    /// The address of the first byte of a tensor's storage; `name` is its argument's name, for messages.
    ///
    /// # Errors
    /// [`KernelError`] if the storage does not exist, or the tensor reaches beyond it.
    pub fn storage_of(&self, name: &str, tensor: &TensorRef) -> Result<u64, KernelError> {
        let storage = self.storages.get(tensor.storage).ok_or_else(|| KernelError::NoSuchStorage {
            name: name.to_owned(),
            storage: tensor.storage,
            storages: self.storages.len(),
        })?;
        let layout = &tensor.layout;
        let whole = layout.shape.len() == layout.strides.len() && layout.logical_bytes().is_some();
        if whole && layout.reach().is_some_and(|reach| reach.end <= storage.bytes) {
            return Ok(storage.address);
        }
        let source = OutsideStorage { layout: layout.clone(), storage: storage.bytes };
        Err(KernelError::OutsideStorage { name: name.to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dtype, Layout};

    #[test]
    fn tensors_lie_in_their_storages() {
        let storages = [DeviceRange { address: 4096, bytes: 8 }];
        let call = DeviceCall { params: &[], args: &[], device: 0, storages: &storages, outputs: &[], stream: 0 };
        let place = |shape: &[u64], storage| {
            let layout = Layout::contiguous(Dtype::F32, shape);
            call.storage_of("x", &TensorRef { layout, storage }).map_err(|error| error.to_string())
        };
        assert_eq!(place(&[2], 0), Ok(4096));
        assert!(place(&[3], 0).unwrap_err().contains("reaches beyond its storage of 8 bytes"));
        assert!(place(&[u64::MAX], 0).is_err());
        assert!(place(&[2], 1).unwrap_err().contains("is in storage 1, but the call has 1 storages"));
    }
}
