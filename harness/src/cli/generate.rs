//! `generate`: a synthetic capture.

use plimsoll::ByteSize;
use plimsoll::capture::synthesize::{self, Plan, Preset};
use plimsoll::capture::write::Options;
use serde_json::json;

use super::args::{Generate, PresetName};
use super::{Failed, generate_op, output, shown};
use crate::progress;
use crate::signals::Cancel;

/// Entries of the preset `embedding` where none are asked for.
const EMBEDDING_ENTRIES: u64 = 8;

/// Writes the capture; the signal's code where it was interrupted.
pub fn run(generate: &Generate) -> Result<u8, Failed> {
    let name = match (&generate.op, generate.preset) {
        (None, Some(name)) => name,
        (Some(operator), _) => return generate_op::run(generate, operator),
        (None, None) => return Err("name what to make: --preset or --op".into()),
    };
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
