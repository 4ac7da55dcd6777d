//! `plimsoll-torch-worker`: the worker that `plimsoll` starts for `torch:` kernels.

use std::collections::BTreeMap;
use std::process::ExitCode;

use plimsoll::kernel::KernelSpec;
use plimsoll_harness::worker::{self, DeviceKernel, Host, Loaded, NotServed};
use plimsoll_torch::{TorchOnDevice, TorchOperator};

fn main() -> ExitCode {
    // As in the Python worker, launches build no autograd graph.
    let _no_grad = tch::no_grad_guard();
    let versions = BTreeMap::from([("libtorch".to_owned(), plimsoll_torch::version())]);
    match worker::serve(&Host { name: "torch", versions, load, load_on_device }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("plimsoll-torch-worker: {error}");
            ExitCode::from(2)
        }
    }
}

fn load(spec: &KernelSpec) -> Result<Loaded, String> {
    Ok(Loaded::Operator(Box::new(operator(spec)?)))
}

fn load_on_device(spec: &KernelSpec, device: u32) -> Result<DeviceKernel, NotServed> {
    let operator = operator(spec).map_err(NotServed::Refused)?;
    let operator = TorchOnDevice::new(operator, device).map_err(|error| NotServed::Absent(error.to_string()))?;
    Ok(DeviceKernel::Operator(Box::new(operator)))
}

fn operator(spec: &KernelSpec) -> Result<TorchOperator, String> {
    let KernelSpec::Torch(name) = spec else {
        return Err(format!("plimsoll-torch-worker launches `torch:` kernels, not {spec}"));
    };
    TorchOperator::named(name).map_err(|error| error.to_string())
}
