//! The arguments of `inspect`, `compare`, `devices` and `schema`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use plimsoll::gpu::Place;

use super::report::ReportFlags;

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

    /// Write an expanded tensor whatever its size; one of more than 1 GiB and its storage is refused otherwise
    #[arg(long, requires = "tensor")]
    pub yes: bool,

    /// Print what was found as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum DigestFunctionName {
    /// SHA-256
    Sha256,
    /// BLAKE3, on all processors
    Blake3,
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

    #[command(flatten)]
    pub documents: ReportFlags,
}

#[derive(Args)]
pub struct Devices {
    /// Only this one
    #[arg(long, value_name = "DEVICE", env = "PLIMSOLL_DEVICE")]
    pub device: Option<Place>,
    /// Print the list as JSON
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
    /// The configuration, plimsoll.toml
    Config,
    /// Figures over the commits, `plimsoll.history/1`
    History,
    /// Records, judged, `plimsoll.gate/1`
    Gate,
    /// The GPUs of this machine, `plimsoll.devices/1`
    Devices,
    /// The benchmarks of criterion, judged, `plimsoll.bench-gate/1`
    BenchGate,
    /// Ceilings that are proposed, `plimsoll.calibration/1`
    Calibration,
    /// Ceilings that can be lowered, `plimsoll.ratchet/1`
    Ratchet,
}
