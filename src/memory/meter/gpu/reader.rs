//! Reads the GPU memory of a tree's processes, as often as the cost allows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::devices::{Device, Devices};
use super::drm::DrmClients;
use crate::bytes::ByteSize;
use crate::meter::text::{key_values, numbers, read_path};
use crate::meter::throttle::Throttle;
use crate::meter::tree::Node;

/// One part in this many of the time may be spent. A call waits for the driver, so wall time counts rather than
/// processor time.
const PARTS: u32 = 50;
/// If a read takes no longer than this, the start and end of every phase are read.
const CHEAP: Duration = Duration::from_millis(20);
/// The initial PID namespace of the system (`PROC_PID_INIT_INO`).
const INITIAL_NAMESPACE: &str = "pid:[4026531836]";

/// The result of one pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GpuPass {
    /// Not read in this pass.
    NotTaken,
    Taken(GpuUse),
    /// The device cannot be read.
    Failed(Arc<str>),
}

/// Memory in use on all devices together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GpuUse {
    /// The memory of the tree's processes.
    Tree { bytes: ByteSize, unified: bool },
    /// The growth of everyone's memory since the reader was created, if processes cannot be matched: memory in use
    /// before then is not the tree's.
    Devices { bytes: ByteSize },
    /// The memory of devices that the tree's processes have opened, from the kernel's graphics drivers.
    Clients { bytes: ByteSize },
    /// The devices have no memory of their own, and do not report which processes use the system's.
    Unified,
}

/// The source of the readings.
#[derive(Debug)]
enum Asked {
    Driver(Box<dyn Devices>),
    Kernel(DrmClients),
}

/// Reads GPU memory.
#[derive(Debug)]
pub(crate) struct GpuReader {
    asked: Asked,
    /// Whether `/proc` shows processes by their host ids.
    host_ids: bool,
    /// The memory in use when the reader was created.
    before: ByteSize,
    throttle: Throttle,
    /// The least that a read has taken: the driver makes a read wait while a process creates its context, which says
    /// nothing about the next one.
    cost: Option<Duration>,
}

impl GpuReader {
    /// The reason, if there is no driver or no device.
    pub(crate) fn new() -> Result<Self, Arc<str>> {
        let refused = match super::devices() {
            Ok(devices) => return Self::with(devices, shows_host_ids()),
            Err(reason) => reason,
        };
        let clients = DrmClients::find().ok_or_else(|| format!("{refused}; and no device of amdgpu, i915 or xe"))?;
        Ok(Self::of(Asked::Kernel(clients), true, ByteSize::ZERO))
    }

    fn with(devices: Box<dyn Devices>, host_ids: bool) -> Result<Self, Arc<str>> {
        let found = devices.read().map_err(Arc::<str>::from)?;
        if found.is_empty() {
            return Err(Arc::from("the NVIDIA driver knows no device"));
        }
        Ok(Self::of(Asked::Driver(devices), host_ids, by_anyone(&found)))
    }

    fn of(asked: Asked, host_ids: bool, before: ByteSize) -> Self {
        Self { asked, host_ids, before, throttle: Throttle::new(PARTS, Duration::ZERO), cost: None }
    }

    /// Reads if that is worth its cost. `edge` means that a phase begins or ends here.
    pub(crate) fn pass(&mut self, now: Instant, nodes: &[Node], edge: bool) -> GpuPass {
        if !(self.throttle.is_due(now) || edge && self.cost.is_none_or(|cost| cost <= CHEAP)) {
            return GpuPass::NotTaken;
        }
        let began = Instant::now();
        let in_tree = |pid| nodes.iter().any(|node| node.id.pid == pid);
        let read = match &mut self.asked {
            Asked::Driver(devices) => {
                devices.read().map(|devices| in_use(&devices, self.before, self.host_ids.then_some(&in_tree)))
            }
            Asked::Kernel(clients) => {
                Ok(GpuUse::Clients { bytes: clients.memory_of(nodes.iter().map(|node| node.id.pid)) })
            }
        };
        let took = began.elapsed();
        let cost = self.cost.map_or(took, |least| least.min(took));
        self.cost = Some(cost);
        self.throttle.spent(now + took, cost);
        read.map_or_else(|reason| GpuPass::Failed(Arc::from(reason)), GpuPass::Taken)
    }
}

/// The devices' own memory in use.
fn by_anyone(devices: &[Device]) -> ByteSize {
    devices.iter().filter(|device| !device.is_unified()).filter_map(|device| device.used).sum()
}

/// `before` was in use at the beginning; `in_tree` is absent if listed processes cannot be matched.
fn in_use(devices: &[Device], before: ByteSize, in_tree: Option<&dyn Fn(u32) -> bool>) -> GpuUse {
    let unified = devices.iter().all(Device::is_unified);
    let of_device = |device: &Device| {
        let in_tree = in_tree?;
        let own = device.processes.as_ref()?.iter().filter(|process| in_tree(process.pid));
        own.map(|process| process.used).try_fold(ByteSize::ZERO, |sum, used| sum.checked_add(used?))
    };
    let tree = devices.iter().map(of_device).try_fold(ByteSize::ZERO, |sum, used| sum.checked_add(used?));
    match tree {
        Some(bytes) => GpuUse::Tree { bytes, unified },
        None if unified => GpuUse::Unified,
        None => GpuUse::Devices { bytes: by_anyone(devices).saturating_sub(before) },
    }
}

/// Whether ids in `/proc` are host ids: in the initial namespace, and if `/proc` was mounted in an outer namespace, so
/// that processes have an additional id.
fn shows_host_ids() -> bool {
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok();
    let status = read_path("/proc/self/status", &mut Vec::new()).map(ids_of_namespaces).unwrap_or(0);
    namespace.is_some_and(|name| name.as_os_str() == INITIAL_NAMESPACE) || status > 1
}

/// How many ids the process of a `status` has, one per namespace that `/proc` shows (`NSpid`).
fn ids_of_namespaces(status: &[u8]) -> usize {
    key_values(status).find(|(key, _)| *key == b"NSpid").map_or(0, |(_, ids)| numbers(ids).count())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::devices::DeviceProcess;
    use super::*;
    use crate::meter::tree::Tree;

    const GIB: fn(u64) -> ByteSize = ByteSize::gib;

    fn device(name: &str, used: Option<u64>, processes: Option<&[(u32, Option<u64>)]>) -> Device {
        let process = |&(pid, used): &(u32, Option<u64>)| DeviceProcess { pid, used: used.map(GIB) };
        Device {
            name: name.to_owned(),
            used: used.map(GIB),
            processes: processes.map(|processes| processes.iter().map(process).collect()),
        }
    }

    #[test]
    fn memory_on_every_device_counts_for_the_trees_processes() {
        let first = device("NVIDIA H200", Some(90), Some(&[(7, Some(20)), (900, Some(60))]));
        let second = device("NVIDIA H200", Some(10), Some(&[(8, Some(9))]));
        let in_tree = |pid| pid < 100;
        let in_use = |devices: &[Device], host| in_use(devices, GIB(7), if host { Some(&in_tree) } else { None });
        let both = [first.clone(), second];
        assert_eq!(in_use(&both, true), GpuUse::Tree { bytes: GIB(29), unified: false });
        // In a container, host ids are useless: everything since the beginning is reported.
        assert_eq!(in_use(&both, false), GpuUse::Devices { bytes: GIB(93) });
        // A process of the tree whose memory is N/A, and a device without a list.
        let unknown = device("NVIDIA A2", Some(3), Some(&[(7, None)]));
        assert_eq!(in_use(&[first.clone(), unknown], true), GpuUse::Devices { bytes: GIB(86) });
        assert_eq!(in_use(&[first, device("NVIDIA A2", Some(3), None)], true), GpuUse::Devices { bytes: GIB(86) });
    }

    #[test]
    fn a_device_without_memory_of_its_own_is_one_pool_with_the_system() {
        let in_tree = |_| true;
        let in_use = |device: Device| in_use(&[device], ByteSize::ZERO, Some(&in_tree));
        let gb10 = device("NVIDIA GB10", None, Some(&[(7, Some(5))]));
        assert_eq!(in_use(gb10), GpuUse::Tree { bytes: GIB(5), unified: true });
        assert_eq!(in_use(device("Orin (nvgpu)", Some(60), None)), GpuUse::Unified);
        assert_eq!(in_use(device("NVIDIA GB10", None, Some(&[(7, None)]))), GpuUse::Unified);
    }

    #[test]
    fn namespaces_are_counted() {
        assert_eq!(ids_of_namespaces(b"Name:\tsh\nNSpid:\t4242\t7\nNSpgid:\t1\n"), 2);
        assert_eq!((ids_of_namespaces(b"NSpid:\t4242\n"), ids_of_namespaces(b"Name:\tx\n")), (1, 0));
    }

    #[test]
    fn reads_are_kept_to_their_share() {
        #[derive(Debug)]
        struct Recorded;
        impl Devices for Recorded {
            fn read(&self) -> Result<Vec<Device>, String> {
                std::thread::sleep(Duration::from_millis(1));
                Ok(vec![device("NVIDIA H200", Some(1), Some(&[(std::process::id(), Some(1))]))])
            }
        }
        let tree = Tree::new(std::process::id()).unwrap();
        let mut reader = GpuReader::with(Box::new(Recorded), true).unwrap();
        let now = Instant::now();
        let taken = GpuPass::Taken(GpuUse::Tree { bytes: GIB(1), unified: false });
        assert_eq!(reader.pass(now, tree.nodes(), false), taken);
        assert_eq!(reader.pass(now + Duration::from_millis(30), tree.nodes(), false), GpuPass::NotTaken);
        // However long the read took on a busy machine, a day is enough for the next.
        assert_eq!(reader.pass(now + Duration::from_secs(86_400), tree.nodes(), false), taken);
    }

    #[test]
    fn a_read_that_had_to_wait_does_not_hide_the_end_of_a_phase() {
        #[derive(Debug, Default)]
        struct Waits(AtomicBool);
        impl Devices for Waits {
            fn read(&self) -> Result<Vec<Device>, String> {
                // The second read waits for another process.
                if self.0.swap(true, Ordering::Relaxed) {
                    std::thread::sleep(2 * CHEAP);
                    self.0.store(false, Ordering::Relaxed);
                }
                Ok(vec![device("NVIDIA H200", Some(1), Some(&[(std::process::id(), Some(1))]))])
            }
        }
        let tree = Tree::new(std::process::id()).unwrap();
        let mut reader = GpuReader::of(Asked::Driver(Box::<Waits>::default()), true, ByteSize::ZERO);
        let now = Instant::now();
        for turn in 0..4 {
            let passed = reader.pass(now + turn * Duration::from_micros(1), tree.nodes(), true);
            assert!(matches!(passed, GpuPass::Taken(_)), "read {turn}: {passed:?}");
        }
    }
}
