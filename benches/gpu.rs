//! The speed of uploads to a GPU: a ring of pinned buffers filled from a file in the page cache, compared with the same
//! ring without filling, which is the time of pinned copies alone. Both run in turns; the output has the medians and
//! the process's largest resident set.
//!
//!     cargo bench --features full --bench gpu -- [FILE] [--json OUT]
//!
//! Without a file, one of 2 GiB is written below the target folder; with `--json` the figures are written to a file as
//! well. Without a GPU the benchmark says so, and measures nothing.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use plimsoll::gpu::{Gpu, Ring};
use plimsoll::meter::ProcessMemory;

const BYTES: u64 = 2 << 30;
const ROUNDS: usize = 7;

type Failed = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().position(|word| word == "--json").and_then(|at| arguments.drain(at..).nth(1));
    // `cargo test` and `cargo bench` add flags of their own.
    arguments.retain(|word| !word.starts_with("--"));
    let gpu = match Gpu::open(0) {
        Ok(gpu) => gpu,
        Err(error) => {
            eprintln!("not measured: {error}");
            return if error.is_absence() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
    };
    match measured(&gpu, arguments.first().map(Path::new), json.as_deref().map(Path::new)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn measured(gpu: &std::rc::Rc<Gpu>, file: Option<&Path>, json: Option<&Path>) -> Result<(), Failed> {
    let resident =
        || Ok::<_, Failed>(ProcessMemory::read(std::process::id())?.peak_rss.ok_or("the resident set is unknown")?);
    let context = resident()?;
    let path = file.map_or_else(written, |path| Ok(path.to_owned()))?;
    let file = File::open(&path)?;
    let bytes = file.metadata()?.len().min(BYTES);
    let memory = gpu.allocate(bytes)?;
    let mut ring = Ring::usual(gpu)?;
    let read = |at: u64, into: &mut [u8]| file.read_exact_at(into, at);
    let (mut uploads, mut copies) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut timed = |read: &plimsoll::gpu::ReadAt<'_>| -> Result<f64, Failed> {
            let start = Instant::now();
            ring.upload(read, bytes, &memory, 0)?;
            Ok(bytes as f64 / start.elapsed().as_secs_f64() / 1e9)
        };
        uploads.push(timed(&read)?);
        copies.push(timed(&|_, _| Ok(()))?);
    }
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let (upload, copy) = (median(&mut uploads), median(&mut copies));
    println!("{}: {bytes} bytes, {ROUNDS} rounds by turns, medians", gpu.facts().name);
    println!("upload from the page cache  {upload:8.2} GB/s");
    println!("pinned copies alone         {copy:8.2} GB/s");
    println!("upload / pinned             {:8.1} %", 100.0 * upload / copy);
    let peak = resident()?;
    println!("largest resident set        {peak}, {context} with the context alone");
    if let Some(json) = json {
        let (peak, context) = (peak.bytes(), context.bytes());
        let figures = serde_json::json!({
            "device": gpu.facts().name, "bytes": bytes, "rounds": ROUNDS, "upload_gb_s": upload, "pinned_gb_s": copy,
            "peak_rss": peak, "context_rss": context,
        });
        std::fs::write(json, format!("{figures}\n"))?;
    }
    Ok(())
}

/// An incompressible file of varied bytes.
fn written() -> Result<PathBuf, Failed> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("upload.bin");
    if path.metadata().is_ok_and(|file| file.len() == BYTES) {
        return Ok(path);
    }
    let block: Vec<u8> = (0..8u64 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
    let mut file = File::create(&path)?;
    for _ in 0..BYTES / block.len() as u64 {
        file.write_all(&block)?;
    }
    Ok(path)
}
