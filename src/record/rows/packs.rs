//! [`Packed`]: rows, compressed, in memory or in a file.

use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::record::json;

/// The most bytes of packs in memory.
pub(super) const IN_MEMORY: usize = 1 << 20;

/// The fastest level: any level removes the field names, which are most of the bytes.
const LEVEL: i32 = 1;

/// Rows that are packed.
#[derive(Clone)]
pub(super) struct Packed {
    place: Held,
    /// The length before compression.
    length: usize,
}

#[derive(Clone)]
enum Held {
    Memory(Arc<[u8]>),
    File { file: Arc<File>, at: u64, bytes: usize },
}

/// The place of the packs.
#[derive(Default)]
pub(super) struct Shelf {
    /// The bytes of packs in memory.
    in_memory: usize,
    /// The file for the others, and its end.
    file: Option<(Arc<File>, u64)>,
}

impl Shelf {
    /// Packs `rows`.
    pub fn put<T: Serialize>(&mut self, rows: &[T]) -> Packed {
        let plain = json::line(&rows);
        let bytes = zstd::bulk::compress(&plain, LEVEL).expect("zstd compresses any bytes");
        let place = if self.in_memory + bytes.len() <= IN_MEMORY { None } else { self.write(&bytes) };
        let place = place.unwrap_or_else(|| {
            self.in_memory += bytes.len();
            Held::Memory(bytes.into())
        });
        Packed { place, length: plain.len() }
    }

    /// Forgets a pack that another replaces.
    pub fn take(&mut self, packed: &Packed) {
        if let Held::Memory(bytes) = &packed.place {
            self.in_memory = self.in_memory.saturating_sub(bytes.len());
        }
    }

    /// The packs of a copy. Their file is shared, and nothing is written twice.
    pub fn beside(&self) -> Self {
        Self { in_memory: self.in_memory, file: None }
    }

    /// Writes to the file; `None` if that is not possible, for example on a full disk, and memory has to do.
    fn write(&mut self, bytes: &[u8]) -> Option<Held> {
        let (file, end) = match &mut self.file {
            Some(file) => file,
            none => none.insert((Arc::new(tempfile::tempfile().ok()?), 0)),
        };
        file.write_all_at(bytes, *end).ok()?;
        let at = *end;
        *end += bytes.len() as u64;
        Some(Held::File { file: Arc::clone(file), at, bytes: bytes.len() })
    }
}

impl Packed {
    /// The rows.
    pub fn unpack<T: DeserializeOwned>(&self) -> Vec<T> {
        let plain = zstd::bulk::decompress(&self.bytes(), self.length).expect("zstd decompresses what it compressed");
        serde_json::from_slice(&plain).expect("rows of a record read back as they were written")
    }

    /// The pack.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match &self.place {
            Held::Memory(bytes) => Cow::Borrowed(bytes),
            Held::File { file, at, bytes } => {
                let mut read = vec![0; *bytes];
                if let Err(error) = file.read_exact_at(&mut read, *at) {
                    panic!("a temporary file for the rows of a record cannot be read: {error}");
                }
                Cow::Owned(read)
            }
        }
    }

    #[cfg(test)]
    pub fn is_in_file(&self) -> bool {
        matches!(self.place, Held::File { .. })
    }
}
