//! [`Frame`]: the bytes of an archive that its records depend on.

use std::ops::Range;

use super::Archive;
use super::directory::CENTRAL_BYTES;
use super::end::{u16_at, u32_at};
use super::entry::{DESCRIPTOR, LOCAL_BYTES};

/// The bytes of an archive that were used to read it, apart from two that differ between files that are otherwise
/// alike: the name of the root folder, and the CRC-32s of records that were not read.
#[derive(Debug)]
pub(in super::super) struct Frame {
    /// The bytes that are used as they are.
    pub(in super::super) common: Vec<Range<usize>>,
    /// The places of the root folder's name, which must be the same everywhere.
    pub(in super::super) roots: Vec<Range<usize>>,
    /// The place of the CRC-32 of each storage, by the storage's key.
    pub(in super::super) crcs: Vec<(String, usize)>,
}

impl Frame {
    /// The frame of `archive`, of which the records `read` were read; `bytes` are those of its file. `None` if other
    /// bytes than the CRC-32s depend on the records that were not read, or the archive is not laid out as torch does.
    pub(in super::super) fn of(archive: &Archive, bytes: &[u8], read: &[&str]) -> Option<Self> {
        let root = archive.root.as_deref()?.trim_end_matches('/').len();
        let mut frame = Self { common: Vec::new(), roots: Vec::new(), crcs: Vec::new() };
        frame.common.push(0..4);
        let mut at = archive.directory as usize;
        for record in &archive.records {
            let (local, central) = (record.local as usize, record.central as usize);
            // A record that was left out, such as a folder, was read too; so was a name outside of the root folder.
            let name = usize::from(u16_at(bytes, central + 28));
            if central != at || name != root + 1 + record.name.len() {
                return None;
            }
            at = central + CENTRAL_BYTES + name;
            at += usize::from(u16_at(bytes, central + 30)) + usize::from(u16_at(bytes, central + 32));
            let own = local + LOCAL_BYTES;
            frame.common.extend([local..own, own + root..own + name]);
            frame.roots.push(own..own + root);
            let own = central + CENTRAL_BYTES;
            frame.roots.push(own..own + root);
            if read.contains(&record.name.as_str()) {
                let payload = record.offset as usize;
                frame.common.extend([central..own, payload..payload + record.compressed as usize]);
            } else {
                // The local header is compared with the directory's CRC-32, unless it leaves it out.
                let crc = u32_at(bytes, local + 14);
                let left_out = crc == u32::MAX || (crc == 0 && u16_at(bytes, local + 6) & DESCRIPTOR != 0);
                if !left_out {
                    return None;
                }
                frame.common.extend([central..central + 16, central + 20..own]);
                frame.crcs.extend(record.name.strip_prefix("data/").map(|key| (key.to_owned(), central + 16)));
            }
            frame.common.push(own + root..at);
        }
        frame.common.push(at..bytes.len());
        Some(frame)
    }
}
