//! [`MappedEntry`]: the storages of an entry as bytes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use super::archive::{self, Method, Record};
use super::argument::TensorRef;
use super::checksum;
use super::error::{ArchiveError, CaptureError, RebuildError};
use super::map::{Access, MappedFile};
use super::source::SourceFile;
use super::storage::{Encoding, Storage, StoragePlace};
use super::tensor::TensorView;

/// The storages of an entry, mapped from its file. Bytes are read when they are touched; only storages that are
/// deflated or big-endian in the file are decoded into memory, each on its first use.
///
/// Call [`MappedEntry::intact`] after using the bytes: a file that shrinks while it is mapped reads as zeros.
#[derive(Debug)]
pub struct MappedEntry {
    source: SourceFile,
    /// The maps: one for the whole file, because it takes addresses, not memory, and an entry may have more storages
    /// than a process may have maps, or the bytes of a small file; for an entry of a store, one for each object that
    /// holds storages as they are.
    maps: Vec<MappedFile>,
    /// The index of each storage's map.
    which: Vec<usize>,
    storages: Vec<Storage>,
    decoded: Vec<OnceLock<Vec<u8>>>,
    /// Whether the local header of each storage agreed with the directory; set once it was read.
    checked: Vec<OnceLock<()>>,
}

impl MappedEntry {
    pub(super) fn of(source: &SourceFile, storages: &[Storage]) -> Result<Self, CaptureError> {
        source.refuse_holes()?;
        let (maps, which) = if source.packed().is_some() {
            map_objects(storages)?
        } else {
            (vec![MappedFile::whole(source)?], vec![0; storages.len()])
        };
        let decoded = storages.iter().map(|_| OnceLock::new()).collect();
        let checked = storages.iter().map(|_| OnceLock::new()).collect();
        Ok(Self { source: source.clone(), maps, which, storages: storages.to_vec(), decoded, checked })
    }

    /// The bytes of a storage that is in its file as it is.
    fn in_place(&self, index: usize, offset: u64) -> &[u8] {
        &self.maps[self.which[index]][in_file(&self.storages[index], offset)]
    }

    /// Makes the bytes of storage `index`, or these ranges of it, available locally if they are elsewhere.
    ///
    /// # Errors
    /// If they cannot be fetched, or the file's headers contradict each other.
    ///
    /// # Panics
    /// If there is no such storage.
    pub fn fetch(&self, index: usize, ranges: Option<&[Range<u64>]>) -> Result<(), CaptureError> {
        let storage = &self.storages[index];
        let StoragePlace::File { offset, .. } = storage.place else {
            // A storage that must be decoded is fetched by the calls that read it.
            return self.check_header(index);
        };
        if !self.maps[self.which[index]].is_remote() {
            return Ok(());
        }
        let whole = 0..storage.bytes.bytes();
        let within =
            ranges.unwrap_or(std::slice::from_ref(&whole)).iter().map(|range| offset + range.start..offset + range.end);
        let header = storage.unread.filter(|_| self.checked[index].get().is_none()).map(|header| header..offset);
        let ranges: Vec<_> = header.into_iter().chain(within).collect();
        self.maps[self.which[index]].fetch(&ranges)?;
        self.check_header(index)
    }

    /// Makes the bytes of all storages available locally.
    pub(super) fn fetch_whole(&self) -> Result<(), CaptureError> {
        let mut wanted: Vec<Vec<Range<u64>>> = vec![Vec::new(); self.maps.len()];
        for (index, storage) in self.storages.iter().enumerate() {
            if let StoragePlace::File { offset, .. } = storage.place {
                let start = storage.unread.unwrap_or(offset);
                wanted[self.which[index]].push(start..offset + storage.bytes.bytes());
            }
        }
        self.maps.iter().zip(&wanted).try_for_each(|(map, ranges)| map.fetch(ranges))?;
        (0..self.storages.len()).try_for_each(|index| self.check_header(index))
    }

    /// Checks the place of storage `index` against its local header, unless that was read already.
    fn check_header(&self, index: usize) -> Result<(), CaptureError> {
        let storage = &self.storages[index];
        if let Some(header) = storage.unread
            && self.checked[index].get().is_none()
        {
            let (StoragePlace::File { offset, .. } | StoragePlace::Encoded { offset, .. }) = storage.place;
            archive::check_local(&self.source, header, offset, &storage.key)?;
            let _ = self.checked[index].set(());
        }
        Ok(())
    }

    /// Whether storage `index` has to be decoded.
    pub(super) fn is_encoded(&self, index: usize) -> bool {
        matches!(self.storages[index].place, StoragePlace::Encoded { .. })
    }

    /// The bytes of storage `index` as they are in the file, fetched or not: only fetched bytes are meaningful. Empty
    /// if the storage must be decoded.
    ///
    /// # Panics
    /// If there is no such storage.
    pub fn unfetched(&self, index: usize) -> &[u8] {
        match self.storages[index].place {
            StoragePlace::File { offset, .. } => self.in_place(index, offset),
            StoragePlace::Encoded { .. } => &[],
        }
    }

    /// The bytes of storage `index` of [`Entry::storages`](super::Entry::storages), little-endian.
    ///
    /// # Errors
    /// If a storage that must be decoded is damaged.
    ///
    /// # Panics
    /// If there is no such storage.
    pub fn storage(&self, index: usize) -> Result<&[u8], CaptureError> {
        let storage = &self.storages[index];
        match &storage.place {
            StoragePlace::File { offset, .. } => {
                self.fetch(index, None)?;
                Ok(self.in_place(index, *offset))
            }
            StoragePlace::Encoded { offset, encoding, .. } => {
                let cell = &self.decoded[index];
                if let Some(bytes) = cell.get() {
                    return Ok(bytes);
                }
                let bytes = self.decode(index, *offset, *encoding)?;
                Ok(cell.get_or_init(|| bytes))
            }
        }
    }

    /// The bytes that [`storage`](MappedEntry::storage) returns; a storage that must be decoded is owned by the caller,
    /// who can free it, and its CRC is checked.
    ///
    /// # Errors
    /// As [`MappedEntry::storage`].
    ///
    /// # Panics
    /// If there is no such storage.
    pub fn read_storage(&self, index: usize) -> Result<Cow<'_, [u8]>, CaptureError> {
        let storage = &self.storages[index];
        match &storage.place {
            StoragePlace::File { .. } => self.storage(index).map(Cow::Borrowed),
            StoragePlace::Encoded { offset, encoding, .. } => self.decode(index, *offset, *encoding).map(Cow::Owned),
        }
    }

    /// Fails if the CRC-32 that the file records for storage `index` differs from `actual`, which is that of its bytes
    /// as they are in the file.
    ///
    /// # Errors
    /// [`ArchiveError::Crc`].
    ///
    /// # Panics
    /// If there is no such storage.
    pub fn check_crc(&self, index: usize, actual: u32) -> Result<(), CaptureError> {
        let storage = &self.storages[index];
        match storage.crc32 {
            Some(expected) if expected != actual => {
                let error = self.source.error(ArchiveError::Crc { expected, actual });
                Err(error.in_record(format!("data/{}", storage.key)).at(0))
            }
            _ => Ok(()),
        }
    }

    /// Reads storage `index`, in parallel and a few MiB at a time, and compares its CRC-32 if the file records one. A
    /// storage that must be decoded is left to [`MappedEntry::read_storage`], which compares.
    ///
    /// # Errors
    /// [`ArchiveError::Crc`].
    ///
    /// # Panics
    /// If there is no such storage.
    pub fn verify_storage(&self, index: usize) -> Result<(), CaptureError> {
        let storage = &self.storages[index];
        match storage.place {
            StoragePlace::File { offset, .. } if storage.crc32.is_some() => {
                self.fetch(index, None)?;
                self.check_crc(index, checksum::crc_of(&self.maps[self.which[index]], in_file(storage, offset)))
            }
            _ => Ok(()),
        }
    }

    fn decode(&self, index: usize, offset: u64, encoding: Encoding) -> Result<Vec<u8>, CaptureError> {
        self.check_header(index)?;
        let storage = &self.storages[index];
        let bytes = storage.bytes.bytes();
        let record = Record {
            name: format!("data/{}", storage.key),
            method: if encoding.deflated.is_some() { Method::Deflated } else { Method::Stored },
            crc: storage.crc32.unwrap_or(0),
            compressed: encoding.deflated.map_or(bytes, |b| b.bytes()),
            bytes,
            offset,
            unread: None,
            local: 0,
            central: 0,
        };
        let mut content = match (self.source.packed(), &storage.place) {
            (Some(packed), StoragePlace::Encoded { path, .. }) if encoding.zstd.is_some() => {
                let content = packed.decompressed(path, offset, record.compressed);
                let content = content.map_err(|error| self.source.error(error).in_record(&record.name))?;
                archive::check_crc(&self.source, &record, &content)?;
                content
            }
            (Some(_), StoragePlace::Encoded { path, .. }) => {
                archive::content(&SourceFile::open_object(path)?, &record, bytes)?.into_owned()
            }
            _ => archive::content(&self.source, &record, bytes)?.into_owned(),
        };
        if let Some(width) = encoding.swapped.filter(|&width| width > 1) {
            content.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        }
        Ok(content)
    }

    /// The tensor that `tensor` describes, over its storage's bytes.
    ///
    /// # Errors
    /// As [`MappedEntry::storage`].
    pub fn view<'a>(&'a self, tensor: &'a TensorRef) -> Result<TensorView<'a>, CaptureError> {
        let storage = self.storage(tensor.storage)?;
        TensorView::new(&tensor.layout, storage)
            .map_err(|error| self.source.error(RebuildError::Outside(Box::new(error))))
    }

    /// Checks that every byte read so far was the file's own. See [`MappedFile::intact`].
    ///
    /// # Errors
    /// If the file shrank or changed.
    pub fn intact(&self) -> Result<(), CaptureError> {
        self.maps.iter().try_for_each(MappedFile::intact)?;
        // The one map of a file outside of a store has checked that file.
        if self.source.packed().is_some() { self.source.unchanged() } else { Ok(()) }
    }

    /// Advises the kernel how storages will be read.
    pub fn advise(&self, access: Access) {
        self.maps.iter().for_each(|map| map.advise(access));
    }

    /// Takes the whole pages within `range` of storage `index` out of the process's resident memory; does nothing if
    /// the storage had to be decoded.
    ///
    /// # Panics
    /// If there is no such storage, or `range` reaches beyond it.
    pub fn release_storage(&self, index: usize, range: Range<usize>) {
        let storage = &self.storages[index];
        if let StoragePlace::File { offset, .. } = storage.place {
            let whole = in_file(storage, offset);
            let part = whole.start + range.start..whole.start + range.end;
            assert!(range.start <= range.end && part.end <= whole.end, "the range lies within the storage");
            self.maps[self.which[index]].release_pages(part);
        }
    }

    /// Takes all mapped pages out of the process's resident memory; pages that are touched again come back.
    pub fn release_pages(&self) {
        self.maps.iter().for_each(|map| map.release_pages(0..map.len()));
    }
}

/// Maps the objects that hold `storages`, and returns the index of the map for each.
fn map_objects(storages: &[Storage]) -> Result<(Vec<MappedFile>, Vec<usize>), CaptureError> {
    let (mut maps, mut which, mut known) = (Vec::new(), Vec::new(), HashMap::new());
    for storage in storages {
        which.push(match &storage.place {
            StoragePlace::File { path, .. } => match known.get(path) {
                Some(&index) => index,
                None => {
                    maps.push(MappedFile::unfetched(&SourceFile::open_object(path)?)?);
                    known.insert(path, maps.len() - 1);
                    maps.len() - 1
                }
            },
            // The storage is decoded, so this is never looked up.
            StoragePlace::Encoded { .. } => 0,
        });
    }
    Ok((maps, which))
}

/// The bytes of `storage` in its file, checked when the file was read.
fn in_file(storage: &Storage, offset: u64) -> Range<usize> {
    offset as usize..(offset + storage.bytes.bytes()) as usize
}
