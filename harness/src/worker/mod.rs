//! A worker: launches the kernels of a [`Host`] by the worker protocol.

mod alteration;
mod audit;
mod canaries;
mod device;
mod error;
mod evidence;
mod forked;
mod inherited;
mod inputs;
mod kept;
mod launch;
mod linked;
mod outputs;
mod private;
mod rules;
mod trial;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use plimsoll::gpu::GpuError;
use plimsoll::kernel::KernelSpec;
use plimsoll::kernel::library::Library;
use plimsoll::record::FailureKind;

use crate::protocol::{Reason, Reply, Request, Unavailable, VERSION};

use audit::{Asked, Audited, Given, Times, Values};
use device::{DeviceAudited, DeviceLaunches, IdleDevice, Timing, opened};
use error::CallError;
use launch::Launches;
use outputs::Outputs;

pub use device::DeviceKernel;
pub use launch::Loaded;

/// The differences between worker programs.
pub struct Host {
    /// The worker's name in the protocol.
    pub name: &'static str,
    /// The software that its kernels run on, by name and version.
    pub versions: BTreeMap<String, String>,
    /// Loads a kernel, or returns why it cannot be loaded.
    pub load: fn(&KernelSpec) -> Result<Loaded, String>,
    /// Loads a kernel for the GPU of this number, whose context is current, or returns why it cannot be loaded.
    pub load_on_device: fn(&KernelSpec, u32) -> Result<DeviceKernel, NotServed>,
}

/// Why a kernel cannot be served.
pub enum NotServed {
    /// No worker could serve the kernel.
    Refused(String),
    /// The software or device of the kernel is missing.
    Absent(String),
}

impl Host {
    /// The `plimsoll` command itself: built-in kernels and those of shared libraries.
    pub fn builtin() -> Self {
        let load = |spec: &KernelSpec| {
            let kernel = spec.load().map_err(|error| error.to_string())?;
            Ok(if matches!(spec, KernelSpec::Builtin(_)) { Loaded::Own(kernel) } else { Loaded::Foreign(kernel) })
        };
        let load_on_device = |spec: &KernelSpec, _| match spec {
            KernelSpec::Library { file, symbol } => match Library::open(file, symbol.as_deref()) {
                Ok(library) => Ok(DeviceKernel::Library(library)),
                Err(error) => Err(NotServed::Refused(error.to_string())),
            },
            _ => Err(NotServed::Refused(format!("{spec} runs on the CPU"))),
        };
        Self { name: "builtin", versions: BTreeMap::new(), load, load_on_device }
    }
}

/// A kernel, and its device.
enum Served {
    Host(Launches),
    Device(Box<DeviceLaunches>),
}

impl Served {
    fn of(host: &Host, spec: &KernelSpec, device: Option<u32>, small_context: bool) -> Result<Self, NotServed> {
        let Some(index) = device else {
            return Ok(Self::Host(Launches::of((host.load)(spec).map_err(NotServed::Refused)?)));
        };
        // Before the kernel: code that runs when it is loaded needs the device's context.
        let gpu = opened(index, small_context).map_err(|error| match error.is_absence() {
            true => NotServed::Absent(error.to_string()),
            false => NotServed::Refused(error.to_string()),
        })?;
        let refused = |error: GpuError| NotServed::Refused(error.to_string());
        let kernel = (host.load_on_device)(spec, index)?;
        let launches = DeviceLaunches::of(kernel, gpu, index).map_err(refused)?;
        Ok(Self::Device(Box::new(launches)))
    }
}

/// Why the worker could not serve at all.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The process was not started by a supervisor.
    #[error("a worker is started by `plimsoll check`, not by hand: {0}")]
    NoSupervisor(&'static str),
    /// The channel broke.
    #[error("the channel to the supervisor: {0}")]
    Channel(#[from] io::Error),
    /// The supervisor sent an unknown message.
    #[error("the supervisor's message: {0}")]
    Message(#[from] serde_json::Error),
}

/// Serves the supervisor until it says `bye` or is gone.
///
/// # Errors
/// [`WorkerError`].
pub fn serve(host: &Host) -> Result<(), WorkerError> {
    // A supervisor that is killed takes its worker with it.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).map_err(io::Error::from)?;
    forked::watch()?;
    let inherited = inherited::take().map_err(WorkerError::NoSupervisor)?;
    let (channel, mut outputs) = (inherited.channel, Outputs::new(inherited.outputs));
    let mut values = Values::new(inherited.values, inherited.turns);
    let (mut audited, mut idle): (Option<Resident>, Option<IdleDevice>) = (None, None);
    let mut writer = channel.try_clone()?;
    let mut kernel = None;
    let mut lines = BufReader::new(channel).split(b'\n');
    while let Some(line) = lines.next() {
        match serde_json::from_slice(&line?)? {
            Request::Hello { protocol, kernel: spec, device, small_context } => {
                idle = None;
                let before = linked::mapped();
                let served = || Served::of(host, &spec, device, small_context);
                let mut reply = hello(host, protocol, served, &mut kernel);
                if let Reply::Hello { sources, .. } = &mut reply {
                    *sources = linked::linked(&spec, &before);
                }
                say(&mut writer, &reply)?;
            }
            Request::Launch { id, call } => {
                let (reply, inputs) = match &mut kernel {
                    Some(Served::Host(kernel)) => kernel.launch(id, &call, &mut outputs),
                    Some(Served::Device(kernel)) => (kernel.launch(id, &call, &mut outputs), None),
                    None => (no_kernel(Some(id)), None),
                };
                say(&mut writer, &reply)?;
                drop(inputs);
            }
            Request::Profile { id, calls, protocol, graph } => {
                let mut say = |reply| say(&mut writer, &reply);
                let mut next = || await_next(&mut lines);
                match &mut kernel {
                    Some(Served::Host(kernel)) => {
                        kernel.profile(id, &calls, protocol, &mut outputs, &mut say, &mut next)?;
                    }
                    Some(Served::Device(kernel)) => {
                        kernel.profile(id, &calls, Timing { protocol, graph }, &mut outputs, &mut say, &mut next)?;
                    }
                    None => say(no_kernel(Some(id)))?,
                }
            }
            Request::Next => {}
            Request::Idle { id, launches, device, small_context, .. } => {
                let mut done = || match device {
                    None => audit::idle(&launches, &mut values, &mut outputs),
                    Some(index) => {
                        let open = idle.take().map_or_else(|| IdleDevice::open(index, small_context), Ok)?;
                        idle.insert(open).region(&launches, &mut values, &mut outputs)
                    }
                };
                say(&mut writer, &region(id, done()))?;
            }
            Request::Audit { id, call } => {
                audited = None;
                let resident = match &mut kernel {
                    Some(Served::Host(_)) => Audited::of(call).map(|call| Resident::Host(Box::new(call))),
                    Some(Served::Device(kernel)) => kernel.audited(call).map(|call| Resident::Device(Box::new(call))),
                    None => {
                        say(&mut writer, &no_kernel(Some(id)))?;
                        continue;
                    }
                };
                let reply = match resident {
                    Ok(resident) => {
                        audited = Some(resident);
                        Reply::Ready { id }
                    }
                    Err(error) => error.reply(id, None),
                };
                say(&mut writer, &reply)?;
            }
            Request::Region { id, launches, asks, contents, fill } => {
                let asked = Asked { launches: &launches, asks, contents: &contents, fill };
                let reply = match (&mut kernel, &mut audited) {
                    (Some(Served::Host(kernel)), Some(Resident::Host(audited))) => {
                        region(id, audited.region(kernel.loaded(), &asked, &mut values, &mut outputs))
                    }
                    (Some(Served::Device(kernel)), Some(Resident::Device(audited))) => {
                        region(id, kernel.region(audited, &asked, &mut values, &mut outputs))
                    }
                    _ => no_audit(id),
                };
                say(&mut writer, &reply)?;
            }
            Request::Settle { id } => {
                let settled = match (&mut kernel, audited.take()) {
                    (_, Some(Resident::Host(mut audited))) => Some(audited.settle()),
                    (Some(Served::Device(kernel)), Some(Resident::Device(audited))) => Some(kernel.settle(&audited)),
                    _ => None,
                };
                let reply = settled.map_or_else(
                    || no_audit(id),
                    |settled| {
                        settled.map_or_else(|error| error.reply(id, None), |mutated| Reply::Settled { id, mutated })
                    },
                );
                say(&mut writer, &reply)?;
            }
            Request::DropCaches => {
                if let Some(Served::Device(kernel)) = &mut kernel {
                    kernel.drop_caches();
                }
                say(&mut writer, &Reply::CachesDropped)?;
            }
            // Do not wait for what a library does at the end of a process: it could hang.
            Request::Bye => end(),
        }
    }
    Ok(())
}

/// The call of an audit.
enum Resident {
    Host(Box<Audited>),
    Device(Box<DeviceAudited>),
}

/// The answer to a region.
fn region(id: u64, given: Result<Given, CallError>) -> Reply {
    given.map_or_else(
        |error| error.reply(id, None),
        |(Times { starts_ns, durations_ns }, outputs)| Reply::Region { id, starts_ns, durations_ns, outputs },
    )
}

/// Waits for the supervisor's `next`.
fn await_next(lines: &mut impl Iterator<Item = io::Result<Vec<u8>>>) -> io::Result<()> {
    let line = lines.next().ok_or(io::ErrorKind::UnexpectedEof)??;
    match serde_json::from_slice(&line)? {
        Request::Next => Ok(()),
        other => Err(io::Error::other(format!("{other:?} where `next` was to come"))),
    }
}

fn hello(
    host: &Host,
    protocol: u32,
    served: impl FnOnce() -> Result<Served, NotServed>,
    kernel: &mut Option<Served>,
) -> Reply {
    let refuse = |kind: Reason, message| Reply::Error { id: None, index: None, kind, message, detail: None };
    if protocol != VERSION {
        let message = format!("this worker speaks version {VERSION} of the protocol, not {protocol}");
        return refuse(FailureKind::Unsupported.into(), message);
    }
    match served() {
        Ok(loaded) => {
            *kernel = Some(loaded);
            Reply::Hello {
                protocol: VERSION,
                worker: host.name.to_owned(),
                pid: std::process::id(),
                versions: host.versions.clone(),
                sources: Vec::new(),
            }
        }
        Err(NotServed::Refused(message)) => refuse(FailureKind::Unsupported.into(), message),
        Err(NotServed::Absent(message)) => refuse(Reason::Unavailable(Unavailable::Unavailable), message),
    }
}

/// Ends the process without the exit handlers and destructors of loaded libraries.
fn end() -> ! {
    // SAFETY: nothing of this process has to be written or removed any more; the channel and the shared memory are the
    // system's.
    unsafe { libc::_exit(0) }
}

fn no_kernel(id: Option<u64>) -> Reply {
    let message = "no kernel was loaded: `hello` comes first".to_owned();
    Reply::Error { id, index: None, kind: FailureKind::Unsupported.into(), message, detail: None }
}

fn no_audit(id: u64) -> Reply {
    let message = "an audit begins with `audit`".to_owned();
    Reply::Error { id: Some(id), index: None, kind: FailureKind::Unsupported.into(), message, detail: None }
}

fn say(channel: &mut UnixStream, reply: &Reply) -> io::Result<()> {
    forked::end_if_child();
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    channel.write_all(&line)
}
