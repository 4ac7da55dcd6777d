//! Memory of a process, a tree of processes and the system.
//!
//! [`Meter`] samples a process tree from a thread of its own and gives, phase by phase, [`PhaseReadings`]: resident,
//! anonymous, file-backed, shared, proportional and swapped memory of the tree, the system's available memory and swap,
//! the memory of a control group ([`Cgroup`]) and of GPUs; what it was made of at the start, the peak and the end
//! ([`MemorySplit`]), the mappings that grew most ([`MappingGrowth`]), and what it cost ([`Activity`]: faults, stalls,
//! kills, processor time). Every [`Reading`] has its [`Source`]: the kernel's own mark misses nothing, a sample misses
//! what is shorter than the interval. What cannot be read is absent, with the reason.
//!
//! What each [`Metric`] counts from: a peak is absolute; a growth is that peak less what the tree held when the first
//! phase began; what is retained is what it held at the end less the same, nothing if it fell. `swap_growth` and the
//! counts of [`Activity`] begin anew with each phase.
//!
//! A sample costs some 25 us a process, and no more than one part in 20 of the time if there are very many; the
//! proportional set and the mappings, which cost milliseconds, are read when the resident set has moved, for at most
//! 0.5 % of the time, and when a phase begins and ends; memory on GPUs is read for at most 2 %.
//!
//! Only this module reads /proc and /sys. Its parsers take the bytes of a file, so that every kernel's texts can be
//! tested anywhere. Facts that it stands on:
//! - `VmHWM` begins anew when a program is executed, while `ru_maxrss` survives: a small child of a large parent
//!   reports its parent's size as `ru_maxrss`. So `VmHWM` alone is read, before the process ends, for then it is gone.
//! - Between fork or vfork and exec a child has its parent's memory: it is passed over until it executes its program,
//!   has gone on as a fork for 100 ms, or holds more than its parent, as else every start of a small program would count
//!   a large parent twice.
//! - Writing `5` to `clear_refs` resets `VmHWM` to the resident set of now.
//! - A file of `/proc/PID` that is held open never tells of a later process with the same id.
//! - `smaps_rollup` is exact and slow (9 ms a GiB), and the only source of the proportional set beside `smaps`.
//! - Faults and processor time of a process that was reaped go to the one that reaped it: over a tree they only rise.
//! - `VmSwap` counts anonymous memory alone: shared memory that is swapped belongs to no process.

mod activity;
mod births;
mod caches;
mod cgroup;
mod children;
#[cfg(feature = "schema")]
mod doctor;
mod error;
mod finish;
mod gather;
mod glance;
mod gpu;
mod meminfo;
mod metric;
mod oom;
mod options;
mod own;
mod pass;
mod peaks;
mod phase;
mod population;
mod pressure;
mod process;
mod pss;
mod reading;
mod release;
mod sampler;
mod shared;
mod shared_memory;
mod smaps;
mod swap;
mod system;
mod text;
mod threads;
mod throttle;
mod timeline;
mod tree;
mod usage;
mod watch;

pub(crate) use activity::CpuTime;
pub use activity::{Activity, ActivityScope, CpuSource};
pub use caches::last_level_cache;
pub use cgroup::{Cgroup, CgroupEvents, CgroupLimits, CgroupStat, CgroupVersion};
#[cfg(feature = "schema")]
pub use doctor::{Doctor, FigureSight, Sight};
pub use error::MeterError;
pub use glance::{Glance, ProcessGlance, Viewer};
pub use meminfo::SystemMemory;
pub(crate) use metric::with_metrics;
pub use metric::{Facts, Metric, ParseMetricError, Part, Subject, When};
pub use oom::OomKills;
pub use options::{DEFAULT_SAMPLE_INTERVAL, MeterOptions};
pub use own::OwnProcess;
pub use pass::NOT_ASKED_FOR;
pub use pressure::MemoryPressure;
pub(crate) use process::processor_ticks_of;
pub use process::{ProcessId, ProcessMemory};
pub use reading::{
    EndMark, MemorySplit, PhaseReadings, ProcessCount, ProcessPeak, ProcessRss, Reading, SharedPages, Source,
    TimelinePoint, worst_reading,
};
pub use release::{Release, ReleaseProof};
pub use sampler::Meter;
pub use smaps::{MappingGrowth, MappingKind};
pub use swap::SwapScope;
pub use system::{SwapArea, SystemInfo};
pub(crate) use threads::{ThreadUsage, await_main_thread, is_gone, own_threads, processor_time};
pub use timeline::{TIMELINE_POINTS, sparkline};
pub use tree::process_tree;
pub use watch::{Breach, Holder, Watch};
