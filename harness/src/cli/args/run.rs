//! The arguments of `run`.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use plimsoll::ByteSize;
use plimsoll::ceiling::{Ceiling, Ceilings};
use plimsoll::meter::Metric;
use regex::bytes::Regex;

use super::report::ReportFlags;
use super::{ConfigFlags, default, duration};

#[derive(Args, Clone)]
#[command(after_help = "Standard input, output and error are the command's own; the report goes to standard error. \
    Exit codes: the command's own where nothing failed here, 128 and the signal where one ended it; 1 a ceiling is broken \
    or the timeout passed; 3 a ceiling is not measurable; 2 bad usage; 126 the program cannot be executed; 127 there is no \
    such program.")]
pub struct Run {
    #[command(flatten)]
    pub ceilings: CeilingFlags,

    /// Kill the processes at a ceiling, by a control group where one may be made and by samples, instead of judging them
    /// at the end alone
    #[arg(long, env = "PLIMSOLL_ENFORCE")]
    pub enforce: bool,

    /// Kill the processes once they have run for so long
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_RUN_TIMEOUT", value_parser = duration)]
    pub timeout: Option<Duration>,

    /// Run it so many times: the record keeps every run, and the run that did worst by a ceiling is judged
    #[arg(long, value_name = "N", env = "PLIMSOLL_REPEAT", default_value = default("run.repeat"))]
    pub repeat: NonZeroU32,

    /// Run it so many times before, which counts for nothing
    #[arg(long, value_name = "N", env = "PLIMSOLL_WARMUP", default_value = default("run.warmup"))]
    pub warmup: u32,

    /// Go on with the next run where one fails
    #[arg(long, env = "PLIMSOLL_KEEP_GOING")]
    pub keep_going: bool,

    /// Read the proportional set, which takes up to 0.5 % of the time
    #[arg(long, env = "PLIMSOLL_PSS")]
    pub pss: bool,

    /// Read memory on NVIDIA GPUs
    #[arg(long, env = "PLIMSOLL_GPU")]
    pub gpu: bool,

    /// Make a control group for the command, so that `peak_cgroup` is of its processes alone
    #[arg(long, env = "PLIMSOLL_CGROUP")]
    pub cgroup: bool,

    /// Begin a phase at each line of the output that matches: named by the group `name` or the first, else the whole match.
    /// May be given several times
    #[arg(long = "phase", value_name = "REGEX", env = "PLIMSOLL_PHASE")]
    pub phases: Vec<Regex>,

    /// Give the command this descriptor, to which it writes the name of a phase on a line as it begins
    #[arg(long, value_name = "N", env = "PLIMSOLL_PHASE_FD", value_parser = clap::value_parser!(u8).range(3..))]
    pub phase_fd: Option<u8>,

    /// The time between two samples of memory
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_SAMPLE_INTERVAL", default_value = default("run.sample_interval"), value_parser = duration)]
    pub sample_interval: Duration,

    /// The name under which runs of the command are compared [default: the program's file name]
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_LABEL")]
    pub label: Option<String>,

    /// Where the record goes; none is written where this is not given
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_RECORD")]
    pub record: Option<PathBuf>,

    #[command(flatten)]
    pub config: ConfigFlags,

    /// Print the record on standard error instead of the report
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,

    /// Show the processes while they run in the lowest rows of the terminal; nothing where standard error is none
    #[arg(long, env = "PLIMSOLL_LIVE")]
    pub live: bool,

    #[command(flatten)]
    pub documents: ReportFlags,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

#[derive(Args)]
#[command(
    after_help = "The run is found by the environment variable PLIMSOLL_MARKS, which `plimsoll run` sets. Exit codes: 0 \
    the phase has begun; 2 there is no run, the name is none, or the run does not answer."
)]
pub struct Mark {
    /// The name of the phase that begins
    #[arg(value_name = "NAME")]
    pub name: String,
}

impl Run {
    /// Whether a control group is to be made for the command: a ceiling on one that others are in as well would be no
    /// ceiling of the command.
    pub fn own_cgroup(&self) -> bool {
        self.cgroup || self.ceilings.peak_cgroup.is_some()
    }
}

// Ceilings of a command. Each is absolute and of all of its processes together.
#[derive(Args, Clone)]
#[command(next_help_heading = "Ceilings")]
pub struct CeilingFlags {
    /// Resident memory at one instant
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_PEAK_RSS")]
    pub peak_rss: Option<ByteSize>,

    /// Anonymous resident memory at one instant
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_PEAK_ANON")]
    pub peak_anon: Option<ByteSize>,

    /// Proportional set at one instant: shared pages divided among their users
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_PEAK_PSS")]
    pub peak_pss: Option<ByteSize>,

    /// Shared memory (memfd, tmpfs, System V) at one instant
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_PEAK_SHMEM")]
    pub peak_shmem: Option<ByteSize>,

    /// Swap of the processes at one instant
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_PEAK_SWAP")]
    pub peak_swap: Option<ByteSize>,

    /// Memory of the control group that is made for the command, page cache included
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_PEAK_CGROUP")]
    pub peak_cgroup: Option<ByteSize>,

    /// Growth of the system's swap in use
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_SWAP_GROWTH")]
    pub swap_growth: Option<ByteSize>,

    /// Floor: memory that has to stay available on the system
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_AVAILABLE_FLOOR")]
    pub available_floor: Option<ByteSize>,

    /// Memory on GPUs at one instant
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_GPU_PEAK")]
    pub gpu_peak: Option<ByteSize>,

    /// Growth of the memory in use on a machine with one memory for host and GPU
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_UNIFIED_PEAK")]
    pub unified_peak: Option<ByteSize>,
}

impl CeilingFlags {
    /// What is limited.
    pub fn ceilings(&self) -> Ceilings {
        [
            (Metric::PeakRss, self.peak_rss),
            (Metric::PeakAnon, self.peak_anon),
            (Metric::PeakPss, self.peak_pss),
            (Metric::PeakShmem, self.peak_shmem),
            (Metric::PeakSwap, self.peak_swap),
            (Metric::PeakCgroup, self.peak_cgroup),
            (Metric::SwapGrowth, self.swap_growth),
            (Metric::AvailableFloor, self.available_floor),
            (Metric::GpuPeak, self.gpu_peak),
            (Metric::UnifiedPeak, self.unified_peak),
        ]
        .into_iter()
        .filter_map(|(metric, limit)| limit.map(|limit| Ceiling { metric, limit }))
        .collect::<Vec<_>>()
        .try_into()
        .expect("each metric stands there once")
    }
}
