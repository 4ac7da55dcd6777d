//! The share of the entries that is run: that of a shard, or what an earlier record lacks.

use std::path::{Path, PathBuf};

use plimsoll::capture::Capture;
use plimsoll::gpu::{DeviceFacts, Place};
use plimsoll::merge::Merge;
use plimsoll::record::{
    CaptureSemantics, EntryResult, Profile, ProfileStatus, Record, Shard, SharedCapture, Validation,
};
use plimsoll::run::Share;

use super::super::Failed;
use super::super::args::{Chosen, launcher};
use super::Parts;
use super::flags::{Check, Device, Exclusive};
use crate::supervisor::list_devices;

/// The entries to run.
pub struct Shared {
    /// The capture, reduced to the entries to run.
    pub capture: Capture,
    pub chosen: Option<Chosen>,
    pub share: Option<Share>,
    /// The record that holds the other entries.
    resumed: Option<(PathBuf, Record)>,
}

/// The place of kernels, with the facts of the GPU if `auto` chose one.
pub fn device(check: &Check) -> Result<(Place, Option<DeviceFacts>), Failed> {
    let mut devices = match check.device {
        Device::Place(place) => return Ok((place, None)),
        Device::Auto => list_devices(&std::env::current_exe()?),
    };
    let local = launcher(None).ok().and_then(|found| found.local_rank).unwrap_or(0);
    // If there are more processes than GPUs, they share them.
    let Some(index) = (local as usize).checked_rem(devices.len()) else { return Ok((Place::Cpu, None)) };
    let facts = devices.swap_remove(index);
    Ok((Place::Cuda(facts.index), Some(facts)))
}

/// The share that the flags name; all entries if they name none.
pub fn share(parts: Parts, check: &Check, whole: Capture, device: Place) -> Result<Shared, Failed> {
    let flags = &check.share;
    let chosen = flags.shard.chosen()?;
    let mine = match &chosen {
        Some(chosen) => chosen.places(whole.names(), whole.sizes()),
        None => (0..whole.len()).collect(),
    };
    let mut places = mine.clone();
    let resumed = match &flags.resume {
        None => None,
        Some(_) if check.versus.vs.is_some() => {
            return Err(
                "--resume cannot be used with --vs: two kernels are timed pair by pair over all entries, so that of a \
                 run that was interrupted no entry is done; leave out --resume, or run more and smaller shards"
                    .into(),
            );
        }
        Some(path) => {
            let (record, good) = resumed(parts, path, &whole)?;
            places.retain(|place| good.binary_search(place).is_err());
            Some((path.clone(), record))
        }
    };
    let share = (chosen.is_some() || resumed.is_some()).then(|| Share {
        shard: Shard {
            index: chosen.as_ref().map_or(1, |chosen| chosen.index),
            count: chosen.as_ref().map_or(1, |chosen| chosen.count.get()),
            capture: shared(&whole),
            entries: mine.len(),
            bytes: places.iter().map(|&place| whole.sizes()[place]).sum(),
            places: places.clone(),
            timing: None,
        },
        rank: chosen.as_ref().and_then(Chosen::rank),
        lock: lock(device),
        in_turns: in_turns(check, chosen.as_ref()),
    });
    let capture = if share.is_some() { whole.select(&places) } else { whole };
    Ok(Shared { capture, chosen, share, resumed })
}

impl Shared {
    /// Whether the record of an earlier run has a part of what this run should do.
    pub fn is_resumed(&self) -> bool {
        self.resumed.is_some()
    }

    /// `record`, joined with the record of the entries that were not run again.
    ///
    /// # Errors
    /// The records belong to different runs, for example because the kernel changed.
    pub fn joined(self, record: Record) -> Result<Record, Failed> {
        let Some((path, earlier)) = self.resumed else { return Ok(record) };
        let mut merge = Merge::new(&std::env::temp_dir())?;
        merge.add_if(&path.display().to_string(), earlier, is_good)?;
        if !self.capture.is_empty() {
            merge.add("this run", record)?;
        }
        let merged = if self.chosen.is_some() { merge.finish_share()? } else { merge.finish()? };
        Ok(merged.record()?)
    }
}

fn shared(whole: &Capture) -> SharedCapture {
    SharedCapture {
        manifest: whole.manifest().to_owned(),
        entries: whole.len(),
        bytes: whole.sizes().iter().copied().sum(),
    }
}

/// The resumed record reduced to its good results, and the indices of these, in order.
fn resumed(parts: Parts, path: &Path, whole: &Capture) -> Result<(Record, Vec<usize>), Failed> {
    let mut record = Record::read(path)?;
    let capture = shared(whole);
    let other = |why: &str| {
        let (path, capture) = (path.display(), whole.path().display());
        format!("{path} cannot be resumed with {capture}: {why}; name the record of a run on this capture")
    };
    let Some(semantics) = record.semantics.capture() else {
        return Err(other("it is not the record of a capture").into());
    };
    // Other differences are found when both are joined, which would cost the whole run.
    let (validates, times) = (parts != Parts::Profile, parts != Parts::Validate);
    if (semantics.comparison.is_some(), semantics.timing.is_some()) != (validates, times) {
        return Err(other("it was made by a different command of check, validate and profile").into());
    }
    if semantics.versus.is_some() {
        return Err(other("it compares two kernels (--vs), which can only be run again as a whole").into());
    }
    let mut whole_shard = None;
    let mut places = record.places();
    if record.shards().next().is_none() {
        // The record of a whole capture does not name the manifest; its entries identify the capture.
        let found = whole.names().iter().zip(whole.sizes().iter().copied());
        let mut pairs = semantics.entries.iter().zip(found);
        if semantics.entries.len() != whole.len()
            || !pairs.all(|(entry, (name, bytes))| (&entry.name, entry.bytes) == (name, bytes))
        {
            return Err(other("its entries have other names or sizes").into());
        }
        for (at, entry) in semantics.entries.iter().enumerate() {
            let same = whole.entry(at).and_then(|file| file.identity(entry.covers));
            if same.map_or(true, |found| found.to_string() != entry.digest) {
                return Err(other(&format!("{} has changed since", entry.name)).into());
            }
        }
        places = (0..whole.len()).collect();
        let (entries, bytes, places) = (whole.len(), capture.bytes, places.clone());
        whole_shard = Some(Shard { index: 1, count: 1, capture, entries, places, bytes, timing: None });
    } else if record.shards().any(|shard| shard.capture != capture) {
        return Err(other("its capture had other entries").into());
    }
    let good = places.into_iter().zip(&record.results.entries).filter(|(_, result)| is_good(semantics, result));
    let good = good.map(|(place, _)| place).collect();
    record.shard = whole_shard.or(record.shard);
    Ok((record, good))
}

/// Whether an entry passed everything that this run would check.
fn is_good(semantics: &CaptureSemantics, result: &EntryResult) -> bool {
    let timed = |profile: &Profile| profile.status == ProfileStatus::Timed;
    let validated = result.validation.as_ref().map_or(semantics.comparison.is_none(), Validation::passed);
    validated && result.profile.as_ref().map_or(semantics.timing.is_none(), timed)
}

/// The file that shards of this user lock to share a device.
fn lock(device: Place) -> PathBuf {
    let user = rustix::process::getuid().as_raw();
    let device = match device {
        Place::Cpu => "cpu".to_owned(),
        Place::Cuda(index) => {
            // Processes that see other devices number them differently.
            let visible = std::env::var("CUDA_VISIBLE_DEVICES").unwrap_or_default();
            let visible: String = visible.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
            format!("cuda-{visible}-{index}")
        }
    };
    std::env::temp_dir().join(format!("plimsoll-shards-{user}-{device}.lock"))
}

/// Whether shards of the node time their entries one after the other.
fn in_turns(check: &Check, chosen: Option<&Chosen>) -> bool {
    match check.share.profile_exclusive {
        Exclusive::Always => true,
        Exclusive::Never => false,
        Exclusive::Auto => {
            let Some(found) = chosen.and_then(|chosen| chosen.found.as_ref()) else { return false };
            // With one lock per device, a process that has a device for itself never waits.
            found.node_ranks.map_or(found.local_rank.is_some() && found.ranks > 1, |ranks| ranks > 1)
        }
    }
}
