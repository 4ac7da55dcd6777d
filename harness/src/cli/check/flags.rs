//! The arguments of `check`, `validate` and `profile`.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use plimsoll::ByteSize;
use plimsoll::compare::{Preset, Tolerance};
use plimsoll::defaults;
use plimsoll::gpu::Place;
use plimsoll::kernel::{KernelSpec, Reference};
use plimsoll::timing::RelativeError;

use super::super::args::{CeilingFlags, ConfigFlags, RemoteFlags, ReportFlags, ShardFlags, default, duration};

#[derive(Args)]
pub struct Check {
    /// A folder of `entry_*.pt`, one such file, a store, or STORE/captures/NAME
    ///
    /// Any of them may be at an address: s3://BUCKET/PATH, gs://, az:// or https://.
    pub capture: PathBuf,

    /// The kernel: `builtin:`, `torch:`, `lib:`, `py:` or `kernelforge:` and its place
    ///
    /// `builtin:embedding`, `torch:NAME` (PyTorch's own operator), `lib:FILE.so[:NAME]` (TVM-FFI C ABI),
    /// `py:FILE.py[:FUNCTION]` (`launch`) or `kernelforge:FOLDER` (kernel.cu, kernel.cpp or kernel.py).
    #[arg(long, short, value_name = "KERNEL", env = "PLIMSOLL_KERNEL")]
    pub kernel: KernelSpec,

    /// More files that the kernel is made of, such as the sources of a library
    ///
    /// What a kernel reads while it loads and builds is seen. A library is known by its sources instead of the binary if they
    /// are named.
    #[arg(long, value_name = "FILE,..", env = "PLIMSOLL_KERNEL_SOURCE", value_delimiter = ',')]
    pub kernel_source: Vec<PathBuf>,

    /// Where the kernel is launched: `cpu`, `cuda`, `cuda:N`, or `auto`
    ///
    /// `auto` takes the GPU with the number of the process on its node, as the launcher says (LOCAL_RANK and its kin); without a
    /// launcher the first, and without a GPU the CPU.
    #[arg(long, value_name = "DEVICE", env = "PLIMSOLL_DEVICE", default_value = "cpu")]
    pub device: Device,

    /// Time replays of a CUDA graph of one launch
    ///
    /// For a small kernel, that is the work without the cost of launching.
    #[arg(long, env = "PLIMSOLL_GRAPH")]
    pub graph: bool,

    /// Whose outputs are expected: `captured`, `torch`, `float64`, or a kernel
    ///
    /// `captured` is the default. `torch` computes them with torch:FUNCTION of the captured function. `float64` does so in float64
    /// and gives tolerances that fit the dtype instead of fixed ones. If nothing is given, an audit looks for an
    /// implementation of that function which reproduces the captured outputs, and compares outputs of other values with its
    /// own.
    #[arg(long, value_name = "KERNEL", env = "PLIMSOLL_REFERENCE")]
    pub reference: Option<Reference>,

    /// An argument that the kernel may change in place; may be repeated
    ///
    /// A kernel that changes any other argument fails the entry.
    #[arg(long, value_name = "ARG", env = "PLIMSOLL_MUTATES", value_delimiter = ',')]
    pub mutates: Vec<String>,

    #[command(flatten)]
    pub audit: AuditFlags,

    /// The Python with torch for `py:` kernels
    ///
    /// Also the one with tvm-ffi, for libraries that need it.
    #[arg(long, value_name = "PATH", env = "PLIMSOLL_PYTHON", default_value = default("check.python"))]
    pub python: PathBuf,

    /// The longest that one launch may take; measuring an entry may take ten times that
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_TIMEOUT", default_value = default("check.timeout"), value_parser = duration)]
    pub timeout: Duration,

    /// Stop at the first entry that does not pass
    #[arg(long, env = "PLIMSOLL_FAIL_FAST")]
    pub fail_fast: bool,

    /// What the digest of an entry covers
    ///
    /// `skeleton`: everything but the storages, whose CRCs are covered; `full`: every byte.
    #[arg(long, value_name = "WHAT", env = "PLIMSOLL_DIGEST", default_value = "skeleton")]
    pub digest: DigestMode,

    /// How often a store's objects are verified before a kernel gets their bytes
    #[arg(long, value_name = "WHEN", env = "PLIMSOLL_VERIFY_OBJECTS", default_value = "once")]
    pub verify: VerifyMode,

    #[command(flatten)]
    pub share: ShareFlags,
    #[command(flatten)]
    pub comparison: ComparisonFlags,
    #[command(flatten)]
    pub timing: TimingFlags,
    #[command(flatten)]
    pub versus: VersusFlags,
    #[command(flatten)]
    pub memory: MemoryFlags,
    #[command(flatten)]
    pub remote: RemoteFlags,
    #[command(flatten)]
    pub output: OutputFlags,
    #[command(flatten)]
    pub config: ConfigFlags,

    #[command(flatten)]
    pub documents: ReportFlags,
}

/// The place where kernels are launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// On the GPU assigned to this process among those of the node.
    Auto,
    /// On a named place.
    Place(Place),
}

impl FromStr for Device {
    type Err = <Place as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Place) }
    }
}

#[derive(Args)]
#[command(next_help_heading = "Shards")]
pub struct ShareFlags {
    #[command(flatten)]
    pub shard: ShardFlags,

    /// Run only what has no good result in this record, and join both
    ///
    /// Entries that passed and were timed are not run again. The record may be the FILE.partial of a run that was killed. Not
    /// with --vs: two kernels are timed pair by pair over all entries.
    #[arg(long, value_name = "RECORD", env = "PLIMSOLL_RESUME")]
    pub resume: Option<PathBuf>,

    /// Let no other shard of the node run while this one times its entries
    ///
    /// `auto`: if the launcher starts several processes a node and they have one device.
    #[arg(long, value_name = "WHEN", env = "PLIMSOLL_PROFILE_EXCLUSIVE", default_value = "auto", num_args = 0..=1,
        require_equals = true, default_missing_value = "always")]
    pub profile_exclusive: Exclusive,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Exclusive {
    /// If several processes of a launcher share a device of the node
    Auto,
    /// Take turns, by a lock on a file in TMPDIR
    Always,
    /// Time while other shards run; the record says so if any ran
    Never,
}

#[derive(Args)]
#[command(next_help_heading = "Comparison")]
pub struct ComparisonFlags {
    /// The comparison: `exact`, `torch` or `kernelforge`
    ///
    /// exact: bit by bit, the default for operators that move data; torch: the tolerances of assert_close by dtype, the
    /// default for all others; kernelforge: rtol 0.1, atol 0.01. With `--reference float64`, the tolerances that the reference
    /// gives, unless a rule is named or the operator moves data.
    #[arg(long = "compare", value_name = "RULE", env = "PLIMSOLL_COMPARE")]
    pub rule: Option<Preset>,

    /// Relative tolerance, instead of the rule's own
    #[arg(long, value_name = "R", env = "PLIMSOLL_RTOL")]
    pub rtol: Option<Tolerance>,

    /// Absolute tolerance, instead of the rule's own
    #[arg(long, value_name = "A", env = "PLIMSOLL_ATOL")]
    pub atol: Option<Tolerance>,

    /// NaN matches NaN
    #[arg(long, env = "PLIMSOLL_EQUAL_NAN")]
    pub equal_nan: bool,
}

#[derive(Args)]
#[command(next_help_heading = "Audit")]
pub struct AuditFlags {
    /// Time on values the kernel cannot know, and judge timed launches
    ///
    /// Its times are also checked against the supervisor's clock. A `kernelforge:` kernel is audited wherever that is
    /// possible, which is with `--protocol kernelforge` or `samples`; `--audit=off` times it without.
    #[arg(
        long, env = "PLIMSOLL_AUDIT", value_name = "on|off", num_args = 0..=1, require_equals = true,
        default_missing_value = "on", value_parser = BoolishValueParser::new(),
    )]
    pub audit: Option<bool>,

    /// Run the kernel without the rights of its user; audits it as well
    #[arg(long, env = "PLIMSOLL_UNTRUSTED")]
    pub untrusted: bool,

    /// With --audit: an argument that never changes; may be repeated
    ///
    /// Such as weights that the kernel keeps in another form.
    #[arg(long, value_name = "ARG", env = "PLIMSOLL_CONSTANT", value_delimiter = ',')]
    pub constant: Vec<String>,

    /// With --audit: an entry that may pass although its comparison is blind
    ///
    /// A comparison is blind if a wrong output would pass as well.
    #[arg(long, value_name = "ENTRY", env = "PLIMSOLL_ALLOW_BLIND", value_delimiter = ',')]
    pub allow_blind: Vec<String>,
}

#[derive(Args)]
#[command(next_help_heading = "Timing")]
pub struct TimingFlags {
    /// How an entry is timed
    #[arg(long, value_name = "PROTOCOL", env = "PLIMSOLL_PROTOCOL", default_value = "kernelforge")]
    pub protocol: ProtocolName,

    /// Launches of an entry before the timed ones
    #[arg(long, value_name = "N", env = "PLIMSOLL_WARMUP", default_value_t = plimsoll::timing::DEFAULT_WARMUP)]
    pub warmup: u32,

    /// Timed launches of an entry; with `until`, at least
    #[arg(long, value_name = "N", env = "PLIMSOLL_LAUNCHES", default_value_t = plimsoll::timing::DEFAULT_LAUNCHES)]
    pub launches: NonZeroU32,

    /// With `until`: the relative standard error of the mean to reach
    #[arg(long, value_name = "PART", env = "PLIMSOLL_RELATIVE_ERROR", default_value_t = RelativeError::DEFAULT)]
    pub relative_error: RelativeError,

    /// With `until`: the longest that the timed launches of an entry may take together
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_MAX_TIME", default_value = "2s", value_parser = duration)]
    pub max_time: Duration,
}

#[derive(Args)]
#[command(next_help_heading = "Two kernels")]
pub struct VersusFlags {
    /// Another kernel to time in turns with this one
    ///
    /// Both are validated first. The speedup is reported with an interval.
    #[arg(long, value_name = "KERNEL", env = "PLIMSOLL_VS")]
    pub vs: Option<KernelSpec>,

    /// Pairs of measurements for each entry; an interval needs 8
    #[arg(long, value_name = "N", env = "PLIMSOLL_PAIRS", default_value_t = defaults::PAIRS)]
    pub pairs: NonZeroU32,

    /// Fail unless --kernel is at least this many times as fast as --vs
    ///
    /// Judged by the interval over all entries; exit code 3 if that is inconclusive.
    #[arg(long, value_name = "RATIO", env = "PLIMSOLL_MIN_SPEEDUP", value_parser = ratio, requires = "vs")]
    pub min_speedup: Option<f64>,
}

fn ratio(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(ratio) if f64::is_finite(ratio) && ratio > 0.0 => Ok(ratio),
        _ => Err("a ratio is a number above 0, such as 1.2".to_owned()),
    }
}

#[derive(Args)]
#[command(next_help_heading = "Memory")]
pub struct MemoryFlags {
    /// The most bytes resident together while profiling
    ///
    /// Inputs, outputs and device copies count; a shared storage counts once.
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_BATCH_BYTES", default_value = default("check.batch_bytes"))]
    pub batch_bytes: ByteSize,

    /// What to do with an entry that exceeds --batch-bytes by itself
    #[arg(long, value_name = "RULE", env = "PLIMSOLL_OVER_CAP", default_value = "alone")]
    pub over_cap: OverCapRule,

    /// Replace a validation worker after it was given this many bytes of entries
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_RECYCLE_AFTER", default_value = default("check.recycle_after"))]
    pub recycle_after: ByteSize,

    /// Replace a validation worker whose resident memory reached this
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_RECYCLE_RSS")]
    pub recycle_rss: Option<ByteSize>,

    /// Time between two samples of memory
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_SAMPLE_INTERVAL", default_value = default("check.sample_interval"), value_parser = duration)]
    pub sample_interval: Duration,

    #[command(flatten)]
    pub ceilings: CeilingFlags,
}

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct OutputFlags {
    /// File for the record [default: plimsoll-record.json, none with --json]
    ///
    /// In its name %r stands for the rank (shard M of N has rank M - 1), %n for the number of the node, %h for the host. The
    /// default of a shard is plimsoll-record-M-of-N.json.
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_RECORD")]
    pub record: Option<PathBuf>,

    /// Write no record
    #[arg(long, conflicts_with = "record", env = "PLIMSOLL_NO_RECORD")]
    pub no_record: bool,

    /// Print the record instead of the report
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum DigestMode {
    /// Everything but the storages
    Skeleton,
    /// Every byte
    Full,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum VerifyMode {
    /// Before every use
    Always,
    /// Once, and again if its file is another; the store remembers it across runs
    Once,
    /// Not at all
    Never,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum ProtocolName {
    /// All launches in one timed region, the mean
    Kernelforge,
    /// Each launch timed
    Samples,
    /// Each launch timed, the cache emptied before it
    Cold,
    /// Each launch timed, until the mean is known well enough
    Until,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum OverCapRule {
    /// The entry is a batch of its own
    Alone,
    /// The run is refused
    Refuse,
}
