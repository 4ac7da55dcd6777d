//! `pack`: puts a folder of entries into a store.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use plimsoll::ByteSize;
use plimsoll::capture::store::{PackOptions, PackReport, PackStatus, Store, StoreError, packable};
use plimsoll::elsewhere::{Keep, Outgoing, Sent, is_address};
use serde_json::json;

use super::args::{RemoteFlags, ShardFlags};
use super::{Failed, USAGE, output, shown};
use crate::progress;
use crate::signals::Cancel;

#[derive(Args)]
pub struct Pack {
    /// The folder of `entry_*.pt`
    pub dir: PathBuf,

    /// The store; it is made if there is none
    #[arg(long, value_name = "STORE", env = "PLIMSOLL_STORE")]
    pub out: PathBuf,

    /// The name of the capture in the store [default: that of the folder]
    #[arg(long, value_name = "NAME")]
    pub name: Option<OsString>,

    /// Delete each original once the store has returned its bytes
    #[arg(long = "move")]
    pub remove: bool,

    /// Replace entries that the store has with other content
    #[arg(long)]
    pub replace: bool,

    /// Compress storages with zstd if that saves a tenth
    ///
    /// They are decompressed whenever they are used.
    #[arg(long, env = "PLIMSOLL_COMPRESS")]
    pub compress: bool,

    #[command(flatten)]
    pub share: ShardFlags,

    /// Threads [default: one a processor]
    #[arg(long, value_name = "N", env = "PLIMSOLL_JOBS")]
    pub jobs: Option<NonZeroUsize>,

    /// Print what was done as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,

    #[command(flatten)]
    pub remote: RemoteFlags,
}

/// Packs; 2 if an entry was left out, the signal's code if it was interrupted.
pub fn run(pack: &Pack) -> Result<u8, Failed> {
    if is_address(&pack.dir) {
        let why = "pack needs a local folder: a store keeps the times of files, which objects do not have";
        return Err(format!("{}: {why}; copy the capture here first", shown(&pack.dir)).into());
    }
    if pack.remove && is_address(&pack.out) {
        let why =
            "--move deletes originals, and an upload may still fail: pack without it, `plimsoll verify` the address";
        return Err(format!("{}: {why}, then delete the folder", shown(&pack.out)).into());
    }
    let cancel = Cancel::install()?;
    let started = Instant::now();
    // A folder that cannot be packed leaves no store.
    let (files, sizes): (Vec<OsString>, Vec<ByteSize>) = packable(&pack.dir)?.into_iter().unzip();
    let bar = progress::bytes("pack", sizes.iter().copied().sum());
    let progress = |bytes: ByteSize| bar.inc(bytes.bytes());
    let options = PackOptions {
        name: pack.name.clone(),
        entries: share(pack, &files, &sizes)?,
        replace: pack.replace,
        compress: pack.compress,
        remove_originals: pack.remove,
        threads: pack.jobs,
        cancel: cancel.flag(),
        progress: &progress,
    };
    let out = Outgoing::open(&pack.out, &pack.remote.keep(Keep::HELD_BYTES))?;
    let packed = Store::create(out.path()).and_then(|store| store.pack(&pack.dir, &options));
    bar.finish_and_clear();
    let report = match (packed, cancel.signal()) {
        (Err(error @ StoreError::Cancelled), Some(signal)) => {
            output::note(&error);
            return Ok(128 + signal);
        }
        (packed, _) => packed?,
    };
    let sent = match (out.finish(cancel.flag()), cancel.signal()) {
        (Err(error), Some(signal)) => {
            output::note(&error);
            return Ok(128 + signal);
        }
        (sent, _) => sent?,
    };
    for other in &report.others {
        output::note(&format_args!("note: {other} is left alone: its name is not entry_*.pt"));
    }
    show(pack, &report, sent, started.elapsed())?;
    report.errors.iter().for_each(|error| super::report(error));
    Ok(if report.errors.is_empty() { 0 } else { USAGE })
}

/// The files of the share to pack; `None` to pack all.
fn share(pack: &Pack, files: &[OsString], sizes: &[ByteSize]) -> Result<Option<BTreeSet<OsString>>, Failed> {
    let Some(chosen) = pack.share.chosen()? else { return Ok(None) };
    if pack.remove {
        return Err(
            "--move would delete files that other shards need: pack all shards, verify the store, then delete them"
                .into(),
        );
    }
    let names: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
    Ok(Some(chosen.places(&names, sizes).into_iter().map(|place| files[place].clone()).collect()))
}

fn show(pack: &Pack, report: &PackReport, sent: Option<Sent>, took: Duration) -> Result<(), Failed> {
    let capture = report.capture.to_string_lossy();
    if pack.json {
        let errors: Vec<_> = report.errors.iter().map(ToString::to_string).collect();
        let mut document = json!({
            "store": pack.out.to_string_lossy(),
            "capture": capture,
            "bytes": report.bytes(),
            "added_bytes": report.added(),
            "entries": report.entries,
            "others": report.others,
            "errors": errors,
        });
        if let Some(sent) = sent {
            document["sent_bytes"] = json!(sent.bytes);
        }
        return output::json(&document);
    }
    let count = |status| report.entries.iter().filter(|entry| entry.status == status).count();
    let mut text = format!(
        "{}: {} entries, {}, {} added to the store",
        shown(&pack.out.join("captures").join(&report.capture)),
        report.entries.len(),
        report.bytes(),
        report.added(),
    );
    for (status, what) in [(PackStatus::Unchanged, "were there already"), (PackStatus::Replaced, "replaced")] {
        if count(status) > 0 {
            text.push_str(&format!(", {} {what}", count(status)));
        }
    }
    if let Some(sent) = sent {
        text.push_str(&format!(", {} sent in {} objects", sent.bytes, sent.objects));
    }
    let removed = report.entries.iter().filter(|entry| entry.removed).count();
    if removed > 0 {
        text.push_str(&format!(", {removed} originals deleted"));
    }
    let rate = ByteSize::new((report.bytes().bytes() as f64 / took.as_secs_f64()) as u64);
    output::text(&format!("{text}, {rate}/s\n"))
}
