//! The worker of `torch:` kernels for the emulated driver (`tests/emulation`), on which libtorch's CUDA part does not
//! run: the memory of that device is the host's, so that CPU operators can compute on its tensors.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::rc::Rc;

use plimsoll::ByteSize;
use plimsoll::gpu::{AllocatorUse, DeviceOperator};
use plimsoll::kernel::{
    Call, DeviceCall, DeviceRange, Elements, Evaluation, Given, GivenValue, KernelError, KernelSpec, Operator,
};
use plimsoll_harness::worker::{self, DeviceKernel, Host, NotServed};
use plimsoll_torch::TorchOperator;

fn main() -> ExitCode {
    let _no_grad = tch::no_grad_guard();
    let load = |spec: &KernelSpec| Err(format!("{spec} is to be launched on the device"));
    let host = Host { name: "torch", versions: BTreeMap::new(), load, load_on_device };
    worker::serve(&host).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

fn load_on_device(spec: &KernelSpec, device: u32) -> Result<DeviceKernel, NotServed> {
    let name = spec.to_string();
    let operator = TorchOperator::named(name.trim_start_matches("torch:"));
    let operator = operator.map_err(|error| NotServed::Refused(error.to_string()))?;
    Ok(DeviceKernel::Operator(Box::new(OnEmulation { operator, device, memory: Rc::default() })))
}

struct OnEmulation {
    operator: TorchOperator,
    device: u32,
    memory: Rc<Memory>,
}

/// Temporary allocations of each launch besides its outputs.
const WORKSPACE: u64 = 4096;

/// The bytes of live tensors, and their maximum since the last trim.
#[derive(Default)]
struct Memory {
    now: Cell<u64>,
    peak: Cell<u64>,
}

impl Memory {
    fn holds(&self, bytes: u64) {
        self.now.set(bytes);
        self.peak.set(self.peak.get().max(bytes));
    }
}

struct Bound<'a> {
    evaluation: Box<dyn Evaluation + 'a>,
    memory: &'a Memory,
}

impl DeviceOperator for OnEmulation {
    fn bind<'a>(&'a self, call: &'a DeviceCall<'_>) -> Result<Box<dyn Evaluation + 'a>, KernelError> {
        assert_eq!((call.device, call.stream, call.outputs.len()), (self.device, 0, 0));
        let bytes = |range: &DeviceRange| match range.bytes {
            0 => &[][..],
            // SAFETY: the range is memory of the emulated device, which belongs to this process, for as long as the
            // call does.
            bytes => unsafe { std::slice::from_raw_parts(range.address as *const u8, bytes as usize) },
        };
        // A test process has few calls, so borrowed data may live to its end.
        let storages: &'a [&'a [u8]] = call.storages.iter().map(bytes).collect::<Vec<_>>().leak();
        let on_host = Box::leak(Box::new(Call { params: call.params, args: call.args, storages, outputs: &[] }));
        Ok(Box::new(Bound { evaluation: self.operator.bind(on_host)?, memory: &self.memory }))
    }

    fn trim(&self) -> Result<(), KernelError> {
        self.memory.peak.set(self.memory.now.get());
        Ok(())
    }

    fn allocated(&self) -> Result<AllocatorUse, KernelError> {
        let (now, peak) = (ByteSize::new(self.memory.now.get()), ByteSize::new(self.memory.peak.get()));
        Ok(AllocatorUse { allocated: now, allocated_peak: peak, reserved: now, reserved_peak: peak, workspace: None })
    }
}

impl Evaluation for Bound<'_> {
    fn launch(&mut self) -> Result<(), KernelError> {
        self.evaluation.launch()?;
        let given = self.evaluation.given()?;
        let bytes = given.iter().map(|leaf| match &leaf.value {
            GivenValue::Tensor { spec, .. } => spec.bytes().expect("it lies in memory"),
            GivenValue::Value(_) => 0,
        });
        let bytes = bytes.sum();
        self.memory.holds(bytes + WORKSPACE);
        self.memory.holds(bytes);
        Ok(())
    }

    fn given(&mut self) -> Result<Vec<Given<'_>>, KernelError> {
        let mut given = self.evaluation.given()?;
        for leaf in &mut given {
            if let GivenValue::Tensor { elements, .. } = &mut leaf.value
                && let Elements::Host(bytes) = *elements
                && !bytes.is_empty()
            {
                *elements = Elements::Device(DeviceRange { address: bytes.as_ptr() as u64, bytes: bytes.len() as u64 });
            }
        }
        Ok(given)
    }
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        self.memory.holds(0);
    }
}
