//! `unpack`: restores entries of a store as files.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use plimsoll::ByteSize;
use plimsoll::capture::store::{Store, StoreError, UnpackOptions, UnpackReport};
use serde_json::json;

use super::args::RemoteFlags;
use super::{Failed, USAGE, output, shown};
use crate::progress;
use crate::signals::Cancel;

#[derive(Args)]
pub struct Unpack {
    /// The store
    pub store: PathBuf,

    /// The folder that the files go to
    ///
    /// The entries of each of several captures get a folder of their own there.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// What to unpack: CAPTURE, CAPTURE/ENTRY or ENTRY [default: everything]
    pub entries: Vec<OsString>,

    /// Threads [default: one a processor]
    #[arg(long, value_name = "N", env = "PLIMSOLL_JOBS")]
    pub jobs: Option<NonZeroUsize>,

    /// Print what was done as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,

    #[command(flatten)]
    pub remote: RemoteFlags,
}

/// Unpacks; 2 if an entry was left out, the signal's code if it was interrupted.
pub fn run(unpack: &Unpack) -> Result<u8, Failed> {
    let cancel = Cancel::install()?;
    let local = unpack.remote.open(&unpack.store)?;
    let store = Store::open(local.path())?;
    let bar = progress::bytes("unpack", store.file_bytes(&unpack.entries)?);
    let progress = |bytes: ByteSize| bar.inc(bytes.bytes());
    let options = UnpackOptions {
        entries: unpack.entries.clone(),
        threads: unpack.jobs,
        cancel: cancel.flag(),
        progress: &progress,
    };
    let unpacked = store.unpack(&unpack.out, &options);
    bar.finish_and_clear();
    let report = match (unpacked, cancel.signal()) {
        (Err(error @ StoreError::Cancelled), Some(signal)) => {
            output::note(&error);
            return Ok(128 + signal);
        }
        (unpacked, _) => unpacked?,
    };
    show(unpack, &report)?;
    report.errors.iter().for_each(|error| super::report(error));
    Ok(if report.errors.is_empty() { 0 } else { USAGE })
}

fn show(unpack: &Unpack, report: &UnpackReport) -> Result<(), Failed> {
    let bytes: ByteSize = report.files.iter().map(|file| file.bytes).sum();
    if unpack.json {
        let file = |file: &plimsoll::capture::store::UnpackedFile| json!({ "path": file.path.to_string_lossy(), "bytes": file.bytes, "was_there": file.was_there });
        let errors: Vec<_> = report.errors.iter().map(ToString::to_string).collect();
        return output::json(&json!({
            "store": unpack.store.to_string_lossy(),
            "bytes": bytes,
            "files": report.files.iter().map(file).collect::<Vec<_>>(),
            "errors": errors,
        }));
    }
    let there = report.files.iter().filter(|file| file.was_there).count();
    let there = if there > 0 { format!(", {there} were there already") } else { String::new() };
    output::text(&format!("{}: {} files, {bytes}{there}\n", shown(&unpack.out), report.files.len()))
}
