//! Memory of a process, a tree of processes and the system.
//!
//! [`Meter`] samples a process tree from its own thread and returns [`PhaseReadings`] for each phase: resident,
//! anonymous, file-backed, shared, proportional and swapped memory of the tree, the system's available memory and swap,
//! the memory of a control group ([`Cgroup`]) and of GPUs. It also returns the composition at start, peak and end
//! ([`MemorySplit`]), the mappings that grew most ([`MappingGrowth`]), and what memory cost ([`Activity`]: faults,
//! stalls, kills, processor time). Every [`Reading`] has its [`Source`]: the kernel's own mark misses nothing, a sample
//! misses what is shorter than the interval. Figures that cannot be read are absent, with the reason.
//!
//! The reference of each [`Metric`]: a peak is absolute; a growth is the peak minus what the tree held when the first
//! phase began; retained memory is what the tree held at the end minus the same, zero if it fell. `swap_growth` and the
//! counts of [`Activity`] start anew with each phase.
//!
//! A sample costs some 25 us per process; for very large trees, sampling is limited to 0.8 % of the time of all
//! processors, and to one part in 20 of one. The proportional set and the mappings cost milliseconds. They are read when
//! a phase begins and ends and when the resident set has moved, for at most 0.5 % of the time. GPU memory is read for at
//! most 2 %.
//!
//! Only this module reads /proc and /sys. Its parsers take the bytes of a file, so that the files of every kernel can
//! be tested anywhere. It relies on these facts:
//! - `VmHWM` starts anew when a program is executed, while `ru_maxrss` survives: a small child of a large parent
//!   reports its parent's size as `ru_maxrss`. So only `VmHWM` is read, and before the process ends, because it is gone
//!   afterwards.
//! - Between fork or vfork and exec, a child has its parent's memory. It is skipped until it executes its program, has
//!   lived as a fork for 100 ms, or holds more than its parent. Otherwise every start of a small program would count a
//!   large parent twice.
//! - Writing `5` to `clear_refs` resets `VmHWM` to the present resident set.
//! - An open file of `/proc/PID` never refers to a later process with the same id.
//! - `smaps_rollup` is exact and slow (9 ms per GiB), and besides `smaps` the only source of the proportional set.
//! - Faults and processor time of a reaped process go to the process that reaped it, so over a tree they never fall.
//! - `VmSwap` counts only anonymous memory: swapped shared memory belongs to no process.

mod activity;
mod births;
mod caches;
mod cgroup;
mod children;
mod counting;
#[cfg(feature = "schema")]
mod doctor;
mod error;
mod exits;
mod finish;
mod gather;
mod glance;
mod gpu;
mod lives;
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
pub(crate) mod smaps;
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
pub use meminfo::{SystemMemory, available};
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
