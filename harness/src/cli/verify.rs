//! `verify`: proof that a store gives every file back.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use plimsoll::ByteSize;
use plimsoll::capture::store::{Store, StoreError, VerifyOptions, VerifyReport};
use plimsoll::report::terminal::clean;

use super::{Failed, output, shown};
use crate::progress;
use crate::signals::Cancel;

#[derive(Args)]
pub struct Verify {
    /// The store
    pub store: PathBuf,

    /// What to verify: CAPTURE, CAPTURE/ENTRY or ENTRY [default: everything]
    pub entries: Vec<OsString>,

    /// Compare the entries with the files of this folder as well
    #[arg(long, value_name = "DIR")]
    pub against: Option<PathBuf>,

    /// Threads [default: one a processor]
    #[arg(long, value_name = "N", env = "PLIMSOLL_JOBS")]
    pub jobs: Option<NonZeroUsize>,

    /// Print what was found as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

/// Something is damaged, missing or different.
const DAMAGED: u8 = 1;

/// Verifies; 1 if something is wrong, the signal's code if it was interrupted.
pub fn run(verify: &Verify) -> Result<u8, Failed> {
    let cancel = Cancel::install()?;
    let store = Store::open(&verify.store)?;
    // Recipes that cannot be read are found by verifying, not by the bar.
    let bytes = store.file_bytes(&verify.entries).unwrap_or_default();
    let bar = progress::bytes("verify", if verify.against.is_some() { bytes + bytes } else { bytes });
    let progress = |bytes: ByteSize| bar.inc(bytes.bytes());
    let options = VerifyOptions {
        against: verify.against.as_deref(),
        entries: verify.entries.clone(),
        threads: verify.jobs,
        cancel: cancel.flag(),
        progress: &progress,
    };
    let verified = store.verify(&options);
    bar.finish_and_clear();
    let report = match (verified, cancel.signal()) {
        (Err(error @ StoreError::Cancelled), Some(signal)) => {
            output::note(&error);
            return Ok(128 + signal);
        }
        (verified, _) => verified?,
    };
    show(verify, &report)?;
    Ok(if report.holds() { 0 } else { DAMAGED })
}

fn show(verify: &Verify, report: &VerifyReport) -> Result<(), Failed> {
    if verify.json {
        return output::json(report);
    }
    let mut text = format!(
        "{}: {} objects, {}; {} entries, {}",
        shown(&verify.store),
        report.objects,
        report.object_bytes,
        report.entries,
        report.file_bytes,
    );
    if let (Some(compared), Some(folder)) = (report.compared, &verify.against) {
        text.push_str(&format!("; {compared} equal those of {}", shown(folder)));
    }
    text.push_str(if report.holds() { ": everything holds\n" } else { "\n" });
    for problem in &report.problems {
        text.push_str(&format!(" ✗ {}\n", clean(&problem.message)));
        problem.entries.iter().for_each(|entry| text.push_str(&format!("   hurts {}\n", clean(entry))));
    }
    output::text(&text)
}
