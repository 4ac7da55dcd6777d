//! The arguments of every command.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use super::snapshot::SnapshotFlags;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use plimsoll::ByteSize;
use plimsoll::capture::Dtype;
use plimsoll::ceiling::{Ceiling, Ceilings};
use plimsoll::compare::{Preset, Tolerance};
use plimsoll::gate::{Allowance, DEFAULT_CONFIDENCE, Limit};
use plimsoll::kernel::KernelSpec;
use plimsoll::meter::Metric;

use super::estimate::Estimate;
use super::ledger::Ledger;
use super::matrix::Matrix;
use super::model::ModelFlags;
use super::pack::Pack;
use super::store::StoreArguments;
use super::unpack::Unpack;
use super::verify::Verify;

/// Test harness and regression benchmarks for memory: captured operator inputs, ceilings, records.
#[derive(Parser)]
#[command(name = "plimsoll", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 holds; 1 a ceiling, a comparison or a gate failed; 2 bad usage or unreadable \
    input; 3 not measurable or inconclusive.")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Validate a kernel on every entry of a capture, give the memory back, then profile it in batches
    Check(Check),
    /// Launch a kernel once on every entry of a capture and compare its outputs
    Validate(Check),
    /// Time a kernel on every entry of a capture, in batches capped by bytes
    Profile(Check),
    /// Run a command and the processes below it under the meter, and judge their memory
    Run(Run),
    /// Write a synthetic capture: deterministic by seed, any size, constant memory
    Generate(Generate),
    /// Show what changed between two records; exit 1 where their semantics differ
    Compare(Compare),
    /// Show what is inside a file of torch.save, or the files of a folder, from headers alone
    Inspect(Inspect),
    /// Keep the entries of a folder in a store, each storage once
    Pack(Pack),
    /// Write entries of a store as the files that they were, byte for byte
    Unpack(Unpack),
    /// Prove that a store gives every file back, without writing; exit 1 where it does not
    Verify(Verify),
    /// Look into a store, or collect its garbage
    Store(StoreArguments),
    /// Say what went wrong: find every memory event in logs, decode it and advise
    Diagnose(Box<Diagnose>),
    /// What training a model should cost: fixed state, activations, temporaries; whether it fits, and what to do
    Estimate(Box<Estimate>),
    /// Bytes a parameter by stage, measured beside expected; exit 1 where there is an excess
    Ledger(Box<Ledger>),
    /// Configurations of a command beside a baseline, run in turn under the meter or read from their logs
    Matrix(Matrix),
    /// Judge the benchmarks of criterion against a baseline; exit 1 where one regressed
    BenchGate(BenchGate),
    /// Run a command several times and propose ceilings for it
    Calibrate(Calibrate),
    /// Lower ceilings of tests in their source, where records show that usage fell
    Ratchet(Ratchet),
    /// Print the JSON Schema of a document
    Schema(Schema),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Serve a supervisor (started by `check`, `validate` and `profile`)
    #[command(hide = true)]
    Worker,
}

#[derive(Args)]
pub struct Check {
    /// The capture: a folder of `entry_*.pt`, or one such file; a store, or STORE/captures/NAME
    pub capture: PathBuf,

    /// What to check: `builtin:embedding`, or `py:FILE.py[:FUNCTION]` (function `launch` where none is named)
    #[arg(long, short, value_name = "KERNEL", env = "PLIMSOLL_KERNEL")]
    pub kernel: KernelSpec,

    /// The Python with torch for `py:` kernels
    #[arg(long, value_name = "PATH", env = "PLIMSOLL_PYTHON", default_value = "python3")]
    pub python: PathBuf,

    /// The longest that one launch may take; measuring an entry may take ten times that
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_TIMEOUT", default_value = "60s", value_parser = duration)]
    pub timeout: Duration,

    /// Stop at the first entry that does not pass
    #[arg(long, env = "PLIMSOLL_FAIL_FAST")]
    pub fail_fast: bool,

    /// What the digest of an entry covers: everything but its storages, whose CRCs are covered, or every byte
    #[arg(long, value_name = "WHAT", env = "PLIMSOLL_DIGEST", default_value = "skeleton")]
    pub digest: DigestMode,

    /// How often the objects of a store are verified before a kernel is given their bytes
    #[arg(long, value_name = "WHEN", env = "PLIMSOLL_VERIFY_OBJECTS", default_value = "once")]
    pub verify: VerifyMode,

    #[command(flatten)]
    pub comparison: ComparisonFlags,
    #[command(flatten)]
    pub timing: TimingFlags,
    #[command(flatten)]
    pub memory: MemoryFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}

#[derive(Args)]
#[command(next_help_heading = "Comparison")]
pub struct ComparisonFlags {
    /// The rule: `exact` (bitwise), `torch` (assert_close by dtype), `kernelforge` (rtol 0.1, atol 0.01). Default:
    /// exact for operators that move data, torch for all others
    #[arg(long = "compare", value_name = "RULE", env = "PLIMSOLL_COMPARE")]
    pub rule: Option<Preset>,

    /// Relative tolerance, in place of the rule's own
    #[arg(long, value_name = "R", env = "PLIMSOLL_RTOL")]
    pub rtol: Option<Tolerance>,

    /// Absolute tolerance, in place of the rule's own
    #[arg(long, value_name = "A", env = "PLIMSOLL_ATOL")]
    pub atol: Option<Tolerance>,

    /// NaN matches NaN
    #[arg(long, env = "PLIMSOLL_EQUAL_NAN")]
    pub equal_nan: bool,
}

#[derive(Args)]
#[command(next_help_heading = "Timing")]
pub struct TimingFlags {
    /// How an entry is timed: `kernelforge` (all launches in one region, the mean), `samples` (each launch)
    #[arg(long, value_name = "PROTOCOL", env = "PLIMSOLL_PROTOCOL", default_value = "kernelforge")]
    pub protocol: ProtocolName,

    /// Launches of an entry before the timed ones
    #[arg(long, value_name = "N", env = "PLIMSOLL_WARMUP", default_value_t = plimsoll::timing::DEFAULT_WARMUP)]
    pub warmup: u32,

    /// Timed launches of an entry
    #[arg(long, value_name = "N", env = "PLIMSOLL_LAUNCHES", default_value_t = plimsoll::timing::DEFAULT_LAUNCHES)]
    pub launches: NonZeroU32,
}

#[derive(Args)]
#[command(next_help_heading = "Memory")]
pub struct MemoryFlags {
    /// The most bytes resident together while profiling: inputs, outputs, device copies; shared storages once
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_BATCH_BYTES", default_value = "1GiB")]
    pub batch_bytes: ByteSize,

    /// What becomes of an entry that exceeds --batch-bytes by itself
    #[arg(long, value_name = "RULE", env = "PLIMSOLL_OVER_CAP", default_value = "alone")]
    pub over_cap: OverCapRule,

    /// Replace a validation worker after it was given this many bytes of entries
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_RECYCLE_AFTER", default_value = "16GiB")]
    pub recycle_after: ByteSize,

    /// Replace a validation worker whose resident memory reached this
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_RECYCLE_RSS")]
    pub recycle_rss: Option<ByteSize>,

    /// Ceiling: resident memory of the whole process tree
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_PEAK_RSS")]
    pub peak_rss: Option<ByteSize>,

    /// Ceiling: anonymous resident memory of the whole process tree
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_PEAK_ANON")]
    pub peak_anon: Option<ByteSize>,

    /// Ceiling: growth of the system's swap in use during a phase
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_SWAP_GROWTH")]
    pub swap_growth: Option<ByteSize>,

    /// Floor: memory that has to stay available on the system
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_AVAILABLE_FLOOR")]
    pub available_floor: Option<ByteSize>,

    /// The time between two samples of memory
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_SAMPLE_INTERVAL", default_value = "10ms", value_parser = duration)]
    pub sample_interval: Duration,
}

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct OutputFlags {
    /// Where the record goes [default: plimsoll-record.json, none with --json]
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_RECORD")]
    pub record: Option<PathBuf>,

    /// Write no record
    #[arg(long, conflicts_with = "record", env = "PLIMSOLL_NO_RECORD")]
    pub no_record: bool,

    /// Print the record instead of the report
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

#[derive(Args)]
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

    /// The time between two samples of memory
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_SAMPLE_INTERVAL", default_value = "10ms", value_parser = duration)]
    pub sample_interval: Duration,

    /// The name under which runs of the command are compared [default: the program's file name]
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_LABEL")]
    pub label: Option<String>,

    /// Where the record goes; none is written where this is not given
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_RECORD")]
    pub record: Option<PathBuf>,

    /// Print the record on standard error instead of the report
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Ceilings of a command. Each is absolute and of all of its processes together.
#[derive(Args)]
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

#[derive(Args)]
pub struct Generate {
    /// The folder to make
    pub dir: PathBuf,

    /// What to make: `gemma4-e2b-gb10` (twenty calls of two embedding tables, 51.25 GiB) or `embedding` (one table)
    #[arg(long, value_name = "PRESET", env = "PLIMSOLL_PRESET")]
    pub preset: PresetName,

    /// Divide the width of the tables: `1/8`
    #[arg(long, value_name = "N/D", env = "PLIMSOLL_SCALE", conflicts_with = "total", value_parser = scale)]
    pub scale: Option<(u64, u64)>,

    /// The largest scale whose files take no more than this
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_TOTAL")]
    pub total: Option<ByteSize>,

    /// How many entries
    #[arg(long, value_name = "N", env = "PLIMSOLL_ENTRIES")]
    pub entries: Option<u64>,

    /// The seed of weights and indices
    #[arg(long, value_name = "S", env = "PLIMSOLL_SEED", default_value_t = 0)]
    pub seed: u64,

    /// Threads [default: one a processor]
    #[arg(long, value_name = "N", env = "PLIMSOLL_THREADS")]
    pub threads: Option<std::num::NonZeroUsize>,

    /// Rows of the table (preset embedding)
    #[arg(long, value_name = "V", env = "PLIMSOLL_VOCAB", default_value_t = 32768)]
    pub vocab: u64,

    /// Width of the table (preset embedding)
    #[arg(long, value_name = "D", env = "PLIMSOLL_DIM", default_value_t = 1024)]
    pub dim: u64,

    /// Indices of an entry (preset embedding)
    #[arg(long, value_name = "S", env = "PLIMSOLL_SEQ", default_value_t = 128)]
    pub seq: u64,

    /// Dtype of the table (preset embedding)
    #[arg(long, value_name = "T", env = "PLIMSOLL_DTYPE", default_value = "bfloat16")]
    pub dtype: Dtype,

    /// Print what was made as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

#[derive(Args)]
pub struct Compare {
    /// The record to compare with
    pub a: PathBuf,
    /// The record that is compared
    pub b: PathBuf,
    /// Print the differences as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

#[derive(Args)]
pub struct Inspect {
    /// The file, or the folder whose *.pt, *.pth, *.ckpt and *.bin are inspected; a store, or STORE/captures/NAME
    pub path: PathBuf,

    /// Compute the digest of each tensor's elements: row-major, little-endian, conj and neg resolved
    #[arg(long, value_name = "FUNCTION", env = "PLIMSOLL_INSPECT_DIGEST")]
    pub digest: Option<DigestFunctionName>,

    /// Check the CRC-32 of every record
    #[arg(long, env = "PLIMSOLL_VERIFY")]
    pub verify: bool,

    /// Take the tensor at this path out, such as `$["kwargs"]["weight"]`
    #[arg(long, value_name = "PATH", requires = "out", conflicts_with_all = ["json", "digest", "verify"])]
    pub tensor: Option<String>,

    /// Where it goes; the extension tells the format: .npy, .safetensors, or .bin for the elements alone
    #[arg(long, value_name = "FILE", requires = "tensor")]
    pub out: Option<PathBuf>,

    /// Print what was found as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Exit codes: 0 nothing found; 1 a memory event was found; 2 an input could not be read.")]
pub struct Diagnose {
    /// Logs of any kind, plain or gzipped, kernel logs, Plimsoll records, memory snapshots; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Watch the log as it grows, until interrupted; one file
    #[arg(long)]
    pub follow: bool,

    #[command(flatten)]
    pub snapshot: SnapshotFlags,

    #[command(flatten)]
    pub model: ModelFlags,
    /// The memory of each GPU that the estimate has to fit into [default: what the text tells]
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_VRAM", help_heading = "Model")]
    pub vram: Option<ByteSize>,

    /// Print the findings as JSON; with --follow a line an event
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

#[derive(Args)]
#[command(
    after_help = "A regression exceeds every part of its limit, and the interval of its change excludes no change. \
    Exit codes: 0 none regressed; 1 one did; 2 unreadable; 3 it cannot be told, or there is nothing to compare with."
)]
pub struct BenchGate {
    /// Criterion's folder [default: $CRITERION_HOME, $CARGO_TARGET_DIR/criterion or target/criterion]
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,

    /// The baseline, as saved by `cargo bench -- --save-baseline NAME` [default: base, the run before]
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_BASELINE")]
    pub baseline: Option<String>,

    /// What a benchmark may grow by: `5% | 1 MiB`, or `PATTERN=..` for those whose name matches (`*` is any text); the last
    /// that matches counts [default: 5% | 64 KiB]
    #[arg(long = "limit", value_name = "LIMIT", env = "PLIMSOLL_LIMIT", value_delimiter = ',')]
    pub limits: Vec<Limit>,

    /// The confidence of the interval
    #[arg(long, value_name = "P", env = "PLIMSOLL_CONFIDENCE", default_value_t = DEFAULT_CONFIDENCE, value_parser = confidence)]
    pub confidence: f64,

    /// Print the judgement as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Exit codes: 0 ceilings are proposed; 2 bad usage, or FILE cannot be written; 3 a run failed.")]
pub struct Calibrate {
    /// How often the command is run
    #[arg(long, value_name = "N", env = "PLIMSOLL_RUNS", default_value = "10")]
    pub runs: NonZeroU32,

    /// What is left free beyond the worst reading: the larger of the two parts
    #[arg(long, value_name = "ALLOWANCE", env = "PLIMSOLL_HEADROOM", default_value = "10% | 4 MiB")]
    pub headroom: Allowance,

    /// Propose for this metric alone, such as peak_rss; may be given several times. peak_pss, gpu_peak and unified_peak are
    /// read only where they are asked for
    #[arg(long = "metric", value_name = "METRIC", env = "PLIMSOLL_METRICS", value_delimiter = ',')]
    pub metrics: Vec<Metric>,

    /// The name of the command in FILE and in what is printed [default: the program's file name]
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_LABEL")]
    pub label: Option<String>,

    /// Put the ceilings into this TOML file, as table [ceilings.NAME]; what else is in it stays
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_WRITE")]
    pub write: Option<PathBuf>,

    /// Kill a run once it has taken so long
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_RUN_TIMEOUT", value_parser = duration)]
    pub timeout: Option<Duration>,

    /// The time between two samples of memory
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_SAMPLE_INTERVAL", default_value = "10ms", value_parser = duration)]
    pub sample_interval: Duration,

    /// Print the proposal as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

#[derive(Args)]
#[command(
    after_help = "Records are written by tests where PLIMSOLL_RECORD_DIR is set. Exit codes: 0 done; 1 with --check, where \
    a ceiling could be lowered; 2 unreadable; 3 no record has a ceiling."
)]
pub struct Ratchet {
    /// Records, or folders of them
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,

    /// Where the tests stand: files, or folders to search
    #[arg(long = "source", value_name = "PATH", env = "PLIMSOLL_SOURCE", default_value = ".", value_delimiter = ',')]
    pub sources: Vec<PathBuf>,

    /// What is left free above the largest reading: the larger of the two parts. A ceiling moves only by more than that
    #[arg(long, value_name = "ALLOWANCE", env = "PLIMSOLL_HEADROOM", default_value = "10% | 4 MiB")]
    pub headroom: Allowance,

    /// Change nothing; exit 1 where a ceiling could be lowered
    #[arg(long, env = "PLIMSOLL_CHECK")]
    pub check: bool,

    /// Print what was found as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

#[derive(Args)]
pub struct Schema {
    /// Which document
    #[arg(default_value = "record")]
    pub document: Document,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Document {
    /// The record of a run, `plimsoll.record/1`
    Record,
    /// What changed between two records, `plimsoll.differences/1`
    Differences,
    /// What is inside files, `plimsoll.inspect/1`
    Inspect,
    /// What went wrong, `plimsoll.findings/1`
    Findings,
    /// What training a model should cost, `plimsoll.estimate/1`
    Estimate,
    /// Bytes a parameter by stage, `plimsoll.ledger/1`
    Ledger,
    /// Configurations beside a baseline, `plimsoll.matrix/1`
    Matrix,
    /// The benchmarks of criterion, judged, `plimsoll.bench-gate/1`
    BenchGate,
    /// Ceilings that are proposed, `plimsoll.calibration/1`
    Calibration,
    /// Ceilings that can be lowered, `plimsoll.ratchet/1`
    Ratchet,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum DigestFunctionName {
    /// SHA-256
    Sha256,
    /// BLAKE3, on all processors
    Blake3,
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
    /// Once a run, and again where its file is another
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
}

#[derive(Clone, Copy, ValueEnum)]
pub enum OverCapRule {
    /// It is a batch of its own
    Alone,
    /// The run is refused
    Refuse,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PresetName {
    /// KernelForge #76: ten calls, each of the token table and the per-layer table
    #[value(name = "gemma4-e2b-gb10")]
    Gemma4E2bGb10,
    /// One table of --vocab rows and --dim columns
    Embedding,
}

fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if !time.is_zero() => Ok(time),
        Ok(_) => Err("it has to be longer than nothing".to_owned()),
        Err(e) => Err(format!("{e}: write a number and a unit, such as 10ms, 60s or 5min")),
    }
}

fn confidence(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(confidence) if (0.5..1.0).contains(&confidence) => Ok(confidence),
        _ => Err("a confidence is a number from 0.5 to below 1, such as 0.99".to_owned()),
    }
}

fn scale(text: &str) -> Result<(u64, u64), String> {
    let (n, d) = text.split_once('/').unwrap_or((text, "1"));
    match (n.trim().parse(), d.trim().parse()) {
        (Ok(n), Ok(d)) if n > 0 && d > 0 => Ok((n, d)),
        _ => Err("a scale is a fraction such as 1/8, or 1".to_owned()),
    }
}
