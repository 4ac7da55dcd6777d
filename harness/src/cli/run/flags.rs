//! The arguments of `run`.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use plimsoll::diagnose::Verdict;
use plimsoll::meter::Metric;
use regex::bytes::Regex;

use super::super::args::{CeilingFlags, ConfigFlags, ReportFlags, default, duration};

#[derive(Args, Clone)]
#[command(after_help = "Standard input, output and error are the command's own; the report goes to standard error. \
    Exit codes: the command's own if nothing failed here, 128 + N if signal N ended it; 1 a ceiling is broken, \
    the timeout passed, or --fail-on was found; 3 a ceiling is not measurable; 2 bad usage; 126 the program cannot be executed; 127 there is no \
    such program.")]
pub struct Run {
    #[command(flatten)]
    pub ceilings: CeilingFlags,

    /// Kill the command as soon as it exceeds a ceiling
    ///
    /// By a control group if one can be made, else by sampling. Without the flag, ceilings are judged at the end.
    #[arg(long, env = "PLIMSOLL_ENFORCE")]
    pub enforce: bool,

    /// Kill the command after this time
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_RUN_TIMEOUT", value_parser = duration)]
    pub timeout: Option<Duration>,

    /// Run the command this many times; the worst run is judged
    ///
    /// The record keeps every run.
    #[arg(long, value_name = "N", env = "PLIMSOLL_REPEAT", default_value = default("run.repeat"))]
    pub repeat: NonZeroU32,

    /// Warm-up runs, not recorded
    #[arg(long, value_name = "N", env = "PLIMSOLL_WARMUP", default_value = default("run.warmup"))]
    pub warmup: u32,

    /// Run this shell command before each run, unmeasured, such as `make clean`
    ///
    /// Before warm-up runs too. Its standard output is discarded, and what it leaves running is ended before the run. If
    /// it fails, nothing more is run, and the exit code is 2.
    #[arg(long, value_name = "CMD", env = "PLIMSOLL_PREPARE", value_hint = clap::ValueHint::CommandString)]
    pub prepare: Option<OsString>,

    /// Continue with the next run if one fails
    #[arg(long, env = "PLIMSOLL_KEEP_GOING")]
    pub keep_going: bool,

    /// Read PSS as well, which takes up to 0.5 % of the time
    #[arg(long, env = "PLIMSOLL_PSS")]
    pub pss: bool,

    /// Read memory on GPUs
    #[arg(long, env = "PLIMSOLL_GPU")]
    pub gpu: bool,

    /// Give the command a control group, so that peak_cgroup counts only it
    #[arg(long, env = "PLIMSOLL_CGROUP")]
    pub cgroup: bool,

    /// Begin a phase at each matching line of the output; may be repeated
    ///
    /// The group `name`, or the first group, else the whole match names the phase.
    #[arg(long = "phase", value_name = "REGEX", env = "PLIMSOLL_PHASE")]
    pub phases: Vec<Regex>,

    /// A descriptor to which the command writes the name of each phase, on a line
    #[arg(long, value_name = "N", env = "PLIMSOLL_PHASE_FD", value_parser = clap::value_parser!(u8).range(3..))]
    pub phase_fd: Option<u8>,

    /// Watch the output, and say at the end what went wrong with memory
    #[arg(long, env = "PLIMSOLL_DIAGNOSE")]
    pub diagnose: bool,

    /// Fail if one of these was found, as `leak,fragmentation`; implies --diagnose
    #[arg(long, value_name = "VERDICT,..", env = "PLIMSOLL_FAIL_ON", value_delimiter = ',')]
    pub fail_on: Vec<Verdict>,

    /// Time between two samples of memory
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_SAMPLE_INTERVAL", default_value = default("run.sample_interval"), value_parser = duration)]
    pub sample_interval: Duration,

    /// The name that runs are compared by [default: the program's file name]
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_LABEL")]
    pub label: Option<String>,

    /// Write the record to this file
    ///
    /// In its name %r stands for the rank that a launcher (srun, mpirun, torchrun ..) gave this process, %n for the number of the
    /// node, %h for the host.
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_RECORD")]
    pub record: Option<PathBuf>,

    #[command(flatten)]
    pub config: ConfigFlags,

    /// Print the record on standard error instead of the report
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,

    /// Print no report if every ceiling holds and the command succeeds, and no progress
    #[arg(long, short, env = "PLIMSOLL_QUIET")]
    pub quiet: bool,

    /// Show the processes while they run; ignored unless stderr is a terminal
    #[arg(long, env = "PLIMSOLL_LIVE")]
    pub live: bool,

    #[command(flatten)]
    pub documents: ReportFlags,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD", value_hint = clap::ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

impl Run {
    /// Whether the output is watched.
    pub fn diagnoses(&self) -> bool {
        self.diagnose || !self.fail_on.is_empty()
    }

    /// Whether to make a control group for the command. In a group with other processes, a ceiling would not apply to
    /// the command alone.
    pub fn own_cgroup(&self) -> bool {
        self.cgroup || self.ceilings.limit(Metric::PeakCgroup)
    }
}
