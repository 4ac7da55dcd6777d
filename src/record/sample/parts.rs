//! Records of shards and of ranks.

use super::*;
use crate::shard::Shares;
use plimsoll_memory::meter::Metric;
use std::num::NonZeroU32;

/// The records of [`record`] run in this many shards.
pub(crate) fn shards(count: u32) -> Vec<Record> {
    let whole = record();
    let all = whole.semantics.capture().unwrap().clone();
    let names: Vec<String> = all.entries.iter().map(|entry| entry.name.clone()).collect();
    let sizes: Vec<ByteSize> = all.entries.iter().map(|entry| entry.bytes).collect();
    let shares = Shares::of(&names, &sizes, NonZeroU32::new(count).unwrap());
    let capture =
        SharedCapture { manifest: digest_of("capture"), entries: names.len(), bytes: sizes.iter().copied().sum() };
    let shard = |index| {
        let mut record = whole.clone();
        let places = shares.places(index).to_vec();
        let semantics = super::capture(&mut record);
        semantics.entries = places.iter().map(|&place| all.entries[place].clone()).collect();
        let result = |(index, &place): (usize, &usize)| EntryResult { index, ..whole.results.entries[place].clone() };
        record.results.entries = places.iter().enumerate().map(result).collect();
        record.semantics_digest = record.semantics.digest();
        record.phases[0].readings.get_mut(&Metric::PeakRss).unwrap().bytes = ByteSize::mib(1000 + u64::from(index));
        record.started = format!("2026-03-02T09:30:{index:02}.000Z");
        record.environment.hostname = Some(format!("node-{}", (index - 1) / 2));
        record.command.extend([format!("--shard={index}/{count}"), "--record".to_owned(), format!("{index}.json")]);
        record.shard = Some(Shard {
            index,
            count,
            capture: capture.clone(),
            entries: places.len(),
            bytes: shares.bytes(index),
            places,
            timing: Some(if index == 2 { TimedBeside::Shared } else { TimedBeside::Alone }),
        });
        record
    };
    (1..=count).map(shard).collect()
}

/// A command run by this many ranks, two per node, as one record. Rank 7 failed.
pub(crate) fn ranks(count: u32) -> Record {
    let mut whole = command();
    let part = |number: u32| {
        let mut record = whole.clone();
        record.phases[0].readings.get_mut(&Metric::PeakRss).unwrap().bytes = ByteSize::mib(10 + u64::from(number));
        record.environment.hostname = Some(format!("node-{}", number / 2));
        let (local_rank, node) = (Some(number % 2), Some(number / 2));
        record.rank = Some(Rank {
            launcher: "Slurm step".to_owned(),
            rank: number,
            ranks: count,
            local_rank,
            node_ranks: Some(2),
            node,
        });
        if number == 7 {
            record.end = Some(ProcessEnd { exit_code: Some(9), signal: None, cause: EndCause::Exited });
            record.exit_code = 9;
        }
        Part::from(record)
    };
    let parts = (0..count).map(part).collect();
    whole.parts = parts;
    whole
}
