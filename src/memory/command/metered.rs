//! [`Metered`]: a command to run under the meter.

use std::process::Command;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};

use super::enforcement::{Guard, Room, make_group};
use super::error::CommandError;
use super::forked::own_pages;
use super::oom::OomWatch;
use super::root::Root;
use super::running::{Inherited, Running};
use super::start_latch::{self, Birth};
use crate::bytes::ByteSize;
use crate::ceiling::Ceilings;
use crate::meter::{Meter, MeterOptions, Metric, ProcessMemory, SwapScope};

/// A command whose process tree runs under the meter.
///
/// Standard input, output and error, the environment and the working directory are those of the [`Command`].
///
/// ```
/// use std::process::Command;
/// use plimsoll_memory::command::Metered;
///
/// let mut command = Command::new("sh");
/// command.args(["-c", "exit 3"]);
/// let ended = Metered::new(command).ceilings("peak_rss = 1 GiB".parse()?).spawn()?.wait()?;
/// assert_eq!(ended.end.exit_code, Some(3));
/// assert!(ended.verdicts[0].by.is_none(), "{}", ended.verdicts[0].message);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Metered {
    origin: Origin,
    name: Option<String>,
    phase: Option<String>,
    ceilings: Ceilings,
    enforce: bool,
    timeout: Option<Duration>,
    options: MeterOptions,
    own_cgroup: bool,
    bounded: bool,
    dies_with_thread: bool,
    room: Room,
}

/// Where the root of the tree comes from.
#[derive(Debug)]
enum Origin {
    Command(Command),
    /// A child of this process, and the process that it is a copy of.
    Fork {
        pid: u32,
        like: u32,
    },
}

impl Metered {
    /// Creates a run of `command` in one phase `run`, sampled every
    /// [`DEFAULT_SAMPLE_INTERVAL`](crate::meter::DEFAULT_SAMPLE_INTERVAL), without ceilings or a timeout.
    pub fn new(command: Command) -> Self {
        Self::from(Origin::Command(command), true)
    }

    /// Creates a run of a process that exists already: `pid`, a child of this process, is a copy of the process `like`
    /// by fork(2), and waits. When the run is spawned, the copy gets pages of its own, so that its figures are those of
    /// a process that came to the same point by itself. [`Metered::dies_with_thread`] does not apply to it.
    pub fn adopt(pid: u32, like: u32) -> Self {
        Self::from(Origin::Fork { pid, like }, false)
    }

    fn from(origin: Origin, before_exec: bool) -> Self {
        let options = MeterOptions { before_exec, pss: false, ..MeterOptions::default() };
        Self {
            origin,
            name: None,
            phase: Some("run".to_owned()),
            ceilings: Ceilings::default(),
            enforce: false,
            timeout: None,
            options,
            own_cgroup: false,
            bounded: false,
            dies_with_thread: false,
            room: Room::AsItIs,
        }
    }

    /// Judges the readings by these ceilings.
    pub fn ceilings(mut self, ceilings: Ceilings) -> Self {
        self.ceilings = ceilings;
        self
    }

    /// Whether the tree is stopped as soon as it exceeds a ceiling, rather than judged afterwards.
    pub fn enforce(mut self, enforce: bool) -> Self {
        self.enforce = enforce;
        self
    }

    /// Kills the whole tree once it has run for this long.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The time between two samples.
    pub fn sample_interval(mut self, interval: Duration) -> Self {
        self.options.sample_interval = interval;
        self
    }

    /// The time between two samples.
    #[deprecated(note = "call `sample_interval`")]
    pub fn interval(self, interval: Duration) -> Self {
        self.sample_interval(interval)
    }

    /// Whether the proportional set is read, which takes some 9 ms per GiB, at most every 100 ms.
    pub fn pss(mut self, pss: bool) -> Self {
        self.options.pss = pss;
        self
    }

    /// Whether each mapping is read, so that the readings show what grew.
    pub fn mappings(mut self, mappings: bool) -> Self {
        self.options.mappings = mappings;
        self
    }

    /// Whether GPU memory is read.
    pub fn gpu(mut self, gpu: bool) -> Self {
        self.options.gpu = gpu;
        self
    }

    /// Whether a control group is created for the run. `peak_cgroup` then covers exactly its processes, including page
    /// cache, page tables and the kernel's memory for them. If none can be created, `peak_cgroup` is absent with the
    /// reason.
    pub fn own_cgroup(mut self, own: bool) -> Self {
        self.own_cgroup = own;
        self
    }

    /// Whether a control group is created for the run if possible, so that short processes cannot hide: if the samples
    /// stay within a ceiling on `peak_rss` but the group's peak does not, the ceiling is not measurable.
    pub fn bounded_by_cgroup(mut self, bounded: bool) -> Self {
        self.bounded = bounded;
        self
    }

    /// Whether this process may move to another control group, if none can be created from its present one
    /// ([`Cgroup::make_room`](crate::meter::Cgroup::make_room)). Its parent moves with it if nobody else is in their
    /// group. Only for a process that was forked from its own program.
    pub fn makes_room(mut self, makes: bool) -> Self {
        self.room = if makes { Room::Made } else { Room::AsItIs };
        self
    }

    /// Limits sampling to one part in `parts` of a processor's time: the larger the tree, the less often it is sampled.
    pub fn cost(mut self, parts: u32) -> Self {
        self.options.parts = Some(parts);
        self
    }

    /// Whose swap counts as `swap_growth`.
    pub fn swap(mut self, scope: SwapScope) -> Self {
        self.options.swap = scope;
        self
    }

    /// Sets the name of the started process in readings and messages, instead of its command's.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the phase that begins with the program's first instruction, instead of `run`. With `None` no phase begins
    /// before [`Running::phase`], and nothing before it counts.
    pub fn first_phase(mut self, phase: Option<&str>) -> Self {
        self.phase = phase.map(str::to_owned);
        self
    }

    /// Whether the high-water mark of the started process is reset when a phase begins, so that its peak is exact in
    /// each phase. For programs that do not read their own mark.
    pub fn resets_mark(mut self, resets: bool) -> Self {
        self.options.resets_root = resets;
        self
    }

    /// Whether this process may permanently become a subreaper (prctl(2)), so that daemons and orphans of the tree stay
    /// in it and end with it. Only for a process that starts nothing else: all of its children count as the tree's, and
    /// are killed and reaped when the run is over.
    pub fn subreaper(mut self, subreaper: bool) -> Self {
        self.options.adopts = subreaper;
        self
    }

    /// Whether the started process is killed when the thread that called [`Metered::spawn`] ends for any reason.
    pub fn dies_with_thread(mut self, dies: bool) -> Self {
        self.dies_with_thread = dies;
        self
    }

    /// Starts the command. The meter is ready before the program's first instruction.
    ///
    /// # Errors
    /// [`CommandError::Start`] if the program cannot be executed, others if it cannot be measured; the program has not
    /// run then.
    pub fn spawn(self) -> Result<Running, CommandError> {
        let Self {
            origin,
            name,
            phase,
            ceilings,
            enforce,
            timeout,
            mut options,
            own_cgroup,
            bounded,
            dies_with_thread,
            room,
        } = self;
        let (program, copied) = match &origin {
            Origin::Command(command) => (command.get_program().to_string_lossy().into_owned(), None),
            Origin::Fork { pid, like } => (format!("process {pid}"), Some(*like)),
        };
        let system =
            |what, source: Errno| CommandError::System { program: program.clone(), what, source: source.into() };
        if options.adopts {
            rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
                .map_err(|source| system("subreaper", source))?;
        }
        if enforce {
            options.watches = ceilings.watches();
        } else {
            options.pss_beyond = ceilings.get(Metric::PeakRss);
        }
        let guard = enforce.then(|| Guard::new(&ceilings, options.sample_interval, room));
        let mut group = guard.as_ref().and_then(Guard::cgroup).cloned();
        if group.is_none() && (own_cgroup || (bounded && ceilings.get(Metric::PeakRss).is_some())) {
            // An explicit request justifies a move; a mere bound does not.
            match make_group(if own_cgroup { room } else { Room::AsItIs }) {
                Ok(made) => group = Some(made),
                Err(_) if !own_cgroup => {}
                Err(error) => {
                    options.no_cgroup = Some(format!("no control group can be made for the command: {error}"))
                }
            }
        }
        options.cgroup.clone_from(&group);
        let group = group.as_ref();
        let prepare = |pid| {
            let at_gate = match copied {
                // The apparent peak even of a program that takes nothing.
                None => ProcessMemory::read(pid)?.peak_rss,
                // The memory of a copy is its own.
                Some(_) => Some(ByteSize::ZERO),
            };
            let oom = OomWatch::begin(pid, group);
            if let Some(group) = group {
                group.add(pid)?;
            }
            if let Some(like) = copied {
                own_pages(pid, like).map_err(|source| CommandError::System {
                    program: program.clone(),
                    what: "pages of its own",
                    source,
                })?;
            }
            let meter = Meter::start_with(MeterOptions { root: pid, ..options })?;
            if let Some(name) = &name {
                meter.name_process(pid, name);
            }
            if let Some(phase) = &phase {
                meter.phase(phase);
            }
            Ok((meter, at_gate, oom))
        };
        let began = Instant::now();
        let subreaper = options.adopts;
        let (root, (meter, at_gate, oom), at_exec) = match origin {
            Origin::Command(command) => {
                let birth = Birth { dies_with_thread };
                let (child, prepared, at_exec) =
                    start_latch::start(command, birth, prepare, |(meter, ..)| meter.sample())?;
                (Root::Spawned(child), prepared, at_exec)
            }
            Origin::Fork { pid, .. } => {
                let pid = Pid::from_raw(pid.cast_signed()).ok_or_else(|| system("process id", Errno::SRCH))?;
                let root = Root::Adopted(pid);
                match prepare(root.id()) {
                    Ok(prepared) => (root, prepared, None),
                    Err(error) => {
                        root.give_up();
                        return Err(error);
                    }
                }
            }
        };
        let pidfd = match rustix::process::pidfd_open(root.pid(), PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(source) => {
                root.give_up();
                return Err(system("process descriptor", source));
            }
        };
        let deadline = timeout.map(|timeout| (timeout, began + timeout));
        Ok(Running {
            program,
            root,
            pidfd,
            meter,
            inherited: Inherited { at_gate, at_exec },
            began,
            deadline,
            ceilings,
            guard,
            oom,
            subreaper,
            from_start: phase.is_some(),
            killed: None,
            phases: None,
            reaped: false,
        })
    }
}
