//! `plimsoll-torch-worker`: the worker that `plimsoll` starts for `torch:` kernels.

use std::collections::BTreeMap;
use std::process::ExitCode;

use plimsoll::kernel::KernelSpec;
use plimsoll_harness::worker::{self, Host, Loaded};
use plimsoll_torch::TorchOperator;

fn main() -> ExitCode {
    // As the worker of Python: nothing that is launched builds a graph.
    let _no_grad = tch::no_grad_guard();
    let versions = BTreeMap::from([("libtorch".to_owned(), plimsoll_torch::version())]);
    match worker::serve(&Host { name: "torch", versions, load }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("plimsoll-torch-worker: {error}");
            ExitCode::from(2)
        }
    }
}

fn load(spec: &KernelSpec) -> Result<Loaded, String> {
    let KernelSpec::Torch(name) = spec else {
        return Err(format!("plimsoll-torch-worker launches `torch:` kernels, not {spec}"));
    };
    let operator = TorchOperator::named(name).map_err(|error| error.to_string())?;
    Ok(Loaded::Operator(Box::new(operator)))
}
