//! [`OnDevice`]: a call with its storages and outputs on the device.

use plimsoll::capture::{Argument, TensorSpec};
use plimsoll::gpu::Stream;
use plimsoll::kernel::{DeviceCall, DeviceRange};
use plimsoll::run::Placement;

use super::resident::Home;
use crate::protocol::CallMessage;

/// A call on the device, ready to be launched.
pub struct OnDevice {
    pub args: Vec<Argument>,
    pub homes: Vec<Option<Home>>,
    pub ranges: Vec<DeviceRange>,
    pub placement: Placement,
    /// The places of all outputs.
    pub room: Home,
    outputs: Vec<(TensorSpec, u64)>,
}

impl OnDevice {
    pub fn new(call: &CallMessage, homes: Vec<Option<Home>>, placement: Placement, room: Home) -> Self {
        let ranges = homes.iter().map(|home| home.as_ref().map_or_else(DeviceRange::default, Home::range)).collect();
        let start = room.range().address;
        let outputs = placement.outputs.iter().map(|o| (o.spec.clone(), start + o.offset as u64)).collect();
        let args = call.args.clone();
        Self { args, homes, ranges, placement, room, outputs }
    }

    pub fn call<'a>(&'a self, call: &'a CallMessage, device: u32, stream: &Stream) -> DeviceCall<'a> {
        DeviceCall {
            params: &call.params,
            args: &self.args,
            device,
            storages: &self.ranges,
            outputs: &self.outputs,
            stream: stream.handle(),
        }
    }
}
