//! `generate`: a synthetic capture.

use clap::{Args, ValueEnum};
use plimsoll::ByteSize;
use plimsoll::capture::Dtype;
use plimsoll::capture::synthesize::{self, Plan, Preset};
use plimsoll::capture::write::Options;
use serde_json::json;
use std::path::PathBuf;

use super::{Failed, output, shown};
use crate::progress;
use crate::signals::Cancel;

#[derive(Args)]
pub struct Generate {
    /// The folder to make
    pub dir: PathBuf,

    /// What to make: `gemma4-e2b-gb10` or `embedding`
    ///
    /// gemma4-e2b-gb10: twenty calls of two embedding tables, 51.25 GiB; embedding: one table.
    #[arg(long, value_name = "PRESET", env = "PLIMSOLL_PRESET", required_unless_present = "op")]
    pub preset: Option<PresetName>,

    /// Calls of an operator, such as linear; PyTorch computes the outputs
    ///
    /// A function of torch.nn.functional by its example (`linear`, `conv2d`, `softmax` ...), or any operator with
    /// --arg.
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_OP", conflicts_with_all = ["preset", "scale", "total"])]
    pub op: Option<String>,

    /// An argument of the operator, such as `input=float32[8,64]`; may be repeated
    ///
    /// Replaces the example's: `target=int64[8]<10` (below 10), `stride=(2,1)`, `mode=bilinear`, `bias=none`.
    #[arg(long = "arg", value_name = "NAME=VALUE", env = "PLIMSOLL_ARG", requires = "op")]
    pub args: Vec<String>,

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

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PresetName {
    /// KernelForge #76: ten calls, each of the token table and the per-layer table
    #[value(name = "gemma4-e2b-gb10")]
    Gemma4E2bGb10,
    /// One table of --vocab rows and --dim columns
    Embedding,
}

/// The number of entries of the preset `embedding` by default.
const EMBEDDING_ENTRIES: u64 = 8;

/// Writes the capture; the signal's code if it was interrupted.
pub fn run(generate: &Generate) -> Result<u8, Failed> {
    let name = generate.preset.ok_or("name what to make: --preset or --op")?;
    let cancel = Cancel::install()?;
    let plan = preset(name, generate).plan()?;
    let bar = progress::bytes("generate", plan.total());
    let progress = |bytes: ByteSize| bar.inc(bytes.bytes());
    let options = Options { threads: generate.threads, cancel: cancel.flag(), progress: &progress };
    let started = std::time::Instant::now();
    let written = plan.write(&generate.dir, &options);
    bar.finish_and_clear();
    match (written, cancel.signal()) {
        (Err(_), Some(signal)) => {
            output::note(&"interrupted: nothing was left behind");
            Ok(128 + signal)
        }
        (written, _) => {
            written?;
            show(generate, &plan, started.elapsed())?;
            Ok(0)
        }
    }
}

fn preset(name: PresetName, generate: &Generate) -> Preset {
    let preset = match name {
        PresetName::Gemma4E2bGb10 => synthesize::gemma4_e2b_gb10(),
        PresetName::Embedding => {
            let Generate { vocab, dim, seq, dtype, .. } = *generate;
            synthesize::embedding(vocab, dim, seq, dtype).entries(EMBEDDING_ENTRIES)
        }
    };
    let preset = generate.entries.map_or(preset.clone(), |entries| preset.entries(entries));
    let preset = match (generate.scale, generate.total) {
        (Some((numerator, denominator)), _) => preset.scale(numerator, denominator),
        (None, Some(total)) => preset.total(total),
        (None, None) => preset,
    };
    preset.seed(generate.seed)
}

fn show(generate: &Generate, plan: &Plan, took: std::time::Duration) -> Result<(), Failed> {
    let dir = generate.dir.display();
    if generate.json {
        let entries: Vec<_> = plan
            .entries()
            .iter()
            .map(|e| json!({ "name": e.file_name(), "bytes": e.bytes(), "table": e.table(), "seq": e.seq() }))
            .collect();
        let document =
            json!({ "dir": dir.to_string(), "seed": generate.seed, "bytes": plan.total(), "entries": entries });
        return output::json(&document);
    }
    let rate = ByteSize::new((plan.total().bytes() as f64 / took.as_secs_f64()) as u64);
    let mut tables: Vec<[u64; 2]> = Vec::new();
    for entry in plan.entries() {
        if !tables.contains(&entry.table()) {
            tables.push(entry.table());
        }
    }
    output::text(&format!(
        "{}: {} entries, {}, tables {tables:?}, {rate}/s\n",
        shown(&generate.dir),
        plan.entries().len(),
        plan.total()
    ))
}

fn scale(text: &str) -> Result<(u64, u64), String> {
    let (n, d) = text.split_once('/').unwrap_or((text, "1"));
    match (n.trim().parse(), d.trim().parse()) {
        (Ok(n), Ok(d)) if n > 0 && d > 0 => Ok((n, d)),
        _ => Err("a scale is a fraction such as 1/8, or 1".to_owned()),
    }
}
