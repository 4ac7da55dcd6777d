//! Finds the payloads of a remote archive without a request for each local header.

use std::ops::Range;

use super::super::source::SourceFile;
use super::entry::{DESCRIPTOR, Entry, LOCAL_BYTES};
use crate::error::CaptureError;

/// The most bytes of one record, such as the pickle, that are fetched in advance.
const FRONT: u64 = 16 << 20;

/// The alignment of payloads that torch writes by default.
const ALIGNMENT: u64 = 64;

/// Fetches every record that is not a storage at once, and returns for each storage where its payload starts if torch
/// wrote it: right before the data descriptor, which ends where the next record begins. `None` if the local header must
/// be read.
pub(super) fn payloads(
    source: &SourceFile,
    entries: &[Entry],
    root: Option<&str>,
    directory: u64,
) -> Result<Vec<Option<u64>>, CaptureError> {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_unstable_by_key(|&index| entries[index].header);
    let next = |at: usize| order.get(at + 1).map_or(directory, |&index| entries[index].header).min(directory);
    let is_storage = |entry: &Entry| {
        let name = root.and_then(|root| entry.name.strip_prefix(root)).unwrap_or(&entry.name);
        name.starts_with("data/")
    };
    let mut found = vec![None; entries.len()];
    let mut front: Vec<Range<u64>> = Vec::new();
    for (at, &index) in order.iter().enumerate() {
        let (entry, end) = (&entries[index], next(at));
        // A record that lies outside of the file is refused when its local header is read.
        if entry.header >= end {
            continue;
        }
        if is_storage(entry) {
            let local = entry.header..(entry.header + (LOCAL_BYTES + entry.name.len()) as u64).min(end);
            found[index] = if source.has(&local) { None } else { payload(entry, end) };
        } else {
            front.push(entry.header..end.min(entry.header.saturating_add(FRONT)));
        }
    }
    source.fetch(&front)?;
    Ok(found)
}

/// Where torch would have put the payload of `entry`, whose record ends at `end`.
fn payload(entry: &Entry, end: u64) -> Option<u64> {
    let large = |value: u64| value >= u64::from(u32::MAX);
    let descriptor = match entry.flags & DESCRIPTOR {
        0 => 0,
        _ if large(entry.bytes) || large(entry.compressed) || large(entry.header) => 24,
        _ => 16,
    };
    let payload = end.checked_sub(descriptor)?.checked_sub(entry.compressed)?;
    let extra = payload.checked_sub(entry.header + (LOCAL_BYTES + entry.name.len()) as u64)?;
    (extra <= u64::from(u16::MAX) && payload.is_multiple_of(ALIGNMENT)).then_some(payload)
}
