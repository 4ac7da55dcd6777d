//! [`TorchOperator`]: an operator of PyTorch as a kernel.

use plimsoll::gpu::{AllocatorUse, DeviceOperator};
use plimsoll::kernel::{Call, DeviceCall, Evaluation, Given, KernelError, Operator};

use crate::device;
use crate::dispatch::{self, BoundCall, Storages};
use crate::functional::Function;

/// The version of libtorch that this program is linked to.
pub fn version() -> String {
    dispatch::version()
}

/// An operator of PyTorch, by the name of a function of Python or of the dispatcher.
#[derive(Debug)]
pub struct TorchOperator {
    function: Function,
}

impl TorchOperator {
    /// The operator `name`: `embedding`, `torch.nn.functional.embedding`, `aten::embedding`, `aten::add.Tensor`.
    ///
    /// # Errors
    /// [`KernelError::NotReachable`] if neither libtorch nor a rule of [`functional`](crate::functional) has it.
    pub fn named(name: &str) -> Result<Self, KernelError> {
        let function = Function::named(name);
        if !function.has_rule() && !dispatch::exists(function.operator()) {
            let message = match function.composed_of() {
                Some(parts) => format!(
                    "`{name}` is not an operator of libtorch: Python composes it from {parts}; capture those, or use a `py:` \
                    kernel"
                ),
                None => format!(
                    "libtorch has no operator `{}`, and there is no rule for `{name}`: use a `py:` kernel",
                    function.operator()
                ),
            };
            return Err(KernelError::NotReachable { message });
        }
        Ok(Self { function })
    }
}

impl Operator for TorchOperator {
    fn bind<'a>(&'a self, call: &'a Call<'_>) -> Result<Box<dyn Evaluation + 'a>, KernelError> {
        let lowered = self.function.lower(call.params, call.args)?;
        Ok(Box::new(BoundCall::new(Storages::Host(call), &lowered)?))
    }
}

/// A [`TorchOperator`] on a CUDA device, in the stream that is libtorch's current one there: the default stream.
#[derive(Debug)]
pub struct TorchOnDevice {
    operator: TorchOperator,
    device: i32,
}

impl TorchOnDevice {
    /// Binds `operator` to the device `index`, which becomes that of this thread.
    ///
    /// # Errors
    /// [`KernelError`] if this libtorch cannot use it.
    pub fn new(operator: TorchOperator, index: u32) -> Result<Self, KernelError> {
        let device = i32::try_from(index).unwrap_or(i32::MAX);
        device::use_device(device)?;
        Ok(Self { operator, device })
    }
}

impl DeviceOperator for TorchOnDevice {
    fn bind<'a>(&'a self, call: &'a DeviceCall<'_>) -> Result<Box<dyn Evaluation + 'a>, KernelError> {
        let lowered = self.operator.function.lower(call.params, call.args)?;
        Ok(Box::new(BoundCall::new(Storages::Device(call), &lowered)?))
    }

    fn trim(&self) -> Result<(), KernelError> {
        device::trim(self.device)
    }

    fn allocated(&self) -> Result<AllocatorUse, KernelError> {
        device::allocated(self.device)
    }
}

impl Evaluation for BoundCall<'_> {
    fn launch(&mut self) -> Result<(), KernelError> {
        self.launch()
    }

    fn given(&mut self) -> Result<Vec<Given<'_>>, KernelError> {
        self.given()
    }
}
