//! The share of the entries that is run: that of a shard, or what an earlier record lacks.

use plimsoll::capture::Capture;
use plimsoll::gpu::{DeviceFacts, Place};
use plimsoll::merge::Resumed;
use plimsoll::record::Record;
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
    /// The results of the other entries.
    resumed: Option<Resumed>,
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
            let resumed = Resumed::of(path, &whole, parts != Parts::Profile, parts != Parts::Validate)?;
            places.retain(|place| resumed.done().binary_search(place).is_err());
            Some(resumed)
        }
    };
    if chosen.is_none() && resumed.is_none() {
        return Ok(Shared { capture: whole, chosen, share: None, resumed });
    }
    let capture = whole.select(&places);
    let mut share = Share::of(&whole, places, device);
    share.shard.entries = mine.len();
    if let Some(chosen) = &chosen {
        (share.shard.index, share.shard.count) = (chosen.index, chosen.count.get());
        share.rank = chosen.rank();
    }
    share.in_turns = in_turns(check, chosen.as_ref());
    Ok(Shared { capture, chosen, share: Some(share), resumed })
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
        let Some(resumed) = self.resumed else { return Ok(record) };
        let record = Some(record).filter(|_| !self.capture.is_empty());
        Ok(resumed.join(record, self.chosen.is_some())?)
    }
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
