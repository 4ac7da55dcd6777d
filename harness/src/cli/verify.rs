//! `verify`: checks that a store can restore every file.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use plimsoll::ByteSize;
use plimsoll::capture::store::{EntryName, Store, StoreError, VerifyOptions, VerifyReport};
use plimsoll::report::terminal::clean;

use super::args::{RemoteFlags, ShardFlags};
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

    #[command(flatten)]
    pub share: ShardFlags,

    /// Threads [default: one a processor]
    #[arg(long, value_name = "N", env = "PLIMSOLL_JOBS")]
    pub jobs: Option<NonZeroUsize>,

    /// Print what was found as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,

    #[command(flatten)]
    pub remote: RemoteFlags,
}

/// Something is damaged, missing or different.
const DAMAGED: u8 = 1;

/// Verifies; 1 if something is wrong, the signal's code if it was interrupted.
pub fn run(verify: &Verify) -> Result<u8, Failed> {
    let cancel = Cancel::install()?;
    let local = verify.remote.open(&verify.store)?;
    let store = Store::open(local.path())?;
    let Some((entries, unused)) = share(verify, &store)? else {
        // There are more shares than entries.
        show(verify, &VerifyReport::default())?;
        return Ok(0);
    };
    // Verification reports unreadable recipes, not the bar.
    let bytes = store.file_bytes(&entries).unwrap_or_default();
    let bar = progress::bytes("verify", if verify.against.is_some() { bytes + bytes } else { bytes });
    let progress = |bytes: ByteSize| bar.inc(bytes.bytes());
    let options = VerifyOptions {
        against: verify.against.as_deref(),
        entries,
        unused,
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
    if let (Some(0), Some(folder)) = (report.compared, &verify.against) {
        return Err(format!("nothing was compared: no entry of the store is in {}", shown(folder)).into());
    }
    show(verify, &report)?;
    Ok(if report.holds() { 0 } else { DAMAGED })
}

/// The entries of the share to verify, and whether objects that no entry uses are read as well; `None` for a share
/// without entries.
fn share(verify: &Verify, store: &Store) -> Result<Option<(Vec<OsString>, bool)>, Failed> {
    let Some(chosen) = verify.share.chosen()? else { return Ok(Some((verify.entries.clone(), false))) };
    if verify.against.is_some() {
        return Err("--against compares whole folders: leave out --shard".into());
    }
    let (entries, sizes): (Vec<EntryName>, Vec<ByteSize>) = store.sizes(&verify.entries)?.into_iter().unzip();
    let names: Vec<String> = entries.iter().map(ToString::to_string).collect();
    let named = |place: usize| {
        let mut path = entries[place].capture.clone();
        path.push("/");
        path.push(&entries[place].entry);
        path
    };
    let share: Vec<OsString> = chosen.places(&names, &sizes).into_iter().map(named).collect();
    Ok((!share.is_empty()).then_some((share, chosen.index == 1 && verify.entries.is_empty())))
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
