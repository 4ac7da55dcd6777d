//! Digests of storages and tensors, and the CRC-32 of the bytes read for them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use rayon::prelude::*;
use sha2::Digest as _;

use super::document::{DigestFunction, EntryInspection};
use super::error::InspectError;
use super::listing::{Listing, hex};
use crate::{Access, CaptureError, Layout, MappedEntry, StoragePlace, TensorRef, TensorView, TorchFile};
use plimsoll_memory::bytes::ByteSize;

/// A digest being computed.
enum Hasher {
    Sha256(sha2::Sha256),
    Blake3(Box<blake3::Hasher>),
}

impl Hasher {
    fn new(function: DigestFunction) -> Self {
        match function {
            DigestFunction::Sha256 => Self::Sha256(sha2::Sha256::new()),
            DigestFunction::Blake3 => Self::Blake3(Box::default()),
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            // For less, handing work to another thread takes longer than doing it.
            Self::Blake3(hasher) if bytes.len() < 256 << 10 => drop(hasher.update(bytes)),
            Self::Blake3(hasher) => drop(hasher.update_rayon(bytes)),
        }
    }

    fn finish(self) -> String {
        match self {
            Self::Sha256(hasher) => hex(&hasher.finalize()),
            Self::Blake3(hasher) => hasher.finalize().to_hex().to_string(),
        }
    }
}

/// The bytes of a storage that are mapped at once. With less, threads wait for each other at the seams.
const WINDOW: usize = 16 << 20;

/// The bytes that are gathered at once if elements are not in order.
const GATHERED: usize = 1 << 20;

/// The most bytes that may be read to digest views of parts of storages, unless the file itself is a good part of that
/// size.
const VIEWS: u64 = 2 << 30;

/// How often each byte of a file may be read to digest views of it.
const VIEWS_PER_BYTE: u64 = 16;

/// Puts the digests of all tensors and storages into the element of `listing`, and checks the CRC-32 of each storage.
///
/// A storage is read once as a whole. A view of a part of it is read once more; equal views are read only once.
pub(super) fn digest(file: &TorchFile, listing: &mut Listing, function: DigestFunction) -> Result<(), InspectError> {
    let plan = Plan::new(file, &listing.elements);
    let map = file.map()?;
    map.advise(Access::Sequential);
    let storages = file.storages();
    let one = |index: usize| digest_storage(&map, index, &plan.views[index], function);
    // Decoded storages take memory, so they are read one at a time.
    let (mapped, decoded): (Vec<_>, Vec<_>) =
        (0..storages.len()).partition(|&index| matches!(storages[index].place(), StoragePlace::File { .. }));
    let mut digests: Vec<_> = mapped.into_par_iter().map(|index| one(index).map(|found| (index, found))).collect();
    digests.extend(decoded.into_iter().map(|index| one(index).map(|found| (index, found))));
    map.intact()?;
    // The first damaged storage is named, whichever thread was first.
    let mut found = digests.into_iter().collect::<Result<Vec<_>, _>>()?;
    found.sort_unstable_by_key(|(index, _)| *index);
    write(&mut listing.entry, &listing.elements, found);
    plan.over(file, listing)
}

/// The work to do: for each storage, the views of parts of it.
struct Plan<'a> {
    views: Vec<Vec<&'a Layout>>,
    /// The first tensor that exceeds the limit, and all tensors that do.
    over: Option<usize>,
    limit: u64,
}

impl<'a> Plan<'a> {
    fn new(file: &TorchFile, elements: &'a [(usize, TensorRef)]) -> Self {
        let storages = file.storages();
        let limit = VIEWS.max(file.file_size().bytes().saturating_mul(VIEWS_PER_BYTE));
        let mut views = vec![Vec::new(); storages.len()];
        let mut known = HashSet::new();
        let (mut bytes, mut over) = (0u64, None);
        for (tensor, TensorRef { layout, storage }) in elements {
            if is_whole(layout, storages[*storage].bytes()) || !known.insert((storage, layout)) {
                continue;
            }
            let after = bytes.saturating_add(layout.logical_bytes().unwrap_or(u64::MAX));
            if after > limit {
                over = over.or(Some(*tensor));
            } else {
                bytes = after;
                views[*storage].push(layout);
            }
        }
        Self { views, over, limit }
    }

    /// Fails if tensors were left out.
    fn over(&self, file: &TorchFile, listing: &Listing) -> Result<(), InspectError> {
        let Some(tensor) = self.over.map(|index| &listing.entry.tensors[index]) else { return Ok(()) };
        Err(InspectError::Digests {
            path: file.path().to_owned(),
            tensor: tensor.path.clone(),
            bytes: tensor.logical_bytes.unwrap_or_default(),
            limit: ByteSize::new(self.limit),
        })
    }
}

/// Whether the elements are the bytes of the storage, in order.
fn is_whole(layout: &Layout, storage: ByteSize) -> bool {
    let whole = layout.reach() == Some(0..storage.bytes());
    whole && layout.is_contiguous() && !layout.conj && !layout.neg
}

/// The digests of one storage and of views of it.
struct StorageDigests<'a> {
    whole: String,
    views: Vec<(&'a Layout, String)>,
}

fn digest_storage<'a>(
    map: &MappedEntry,
    index: usize,
    views: &[&'a Layout],
    function: DigestFunction,
) -> Result<StorageDigests<'a>, CaptureError> {
    let bytes = map.read_storage(index)?;
    let in_place = matches!(bytes, Cow::Borrowed(_));
    let mut crc = crc32fast::Hasher::new();
    let mut hasher = Hasher::new(function);
    for (at, window) in windows(&bytes) {
        if in_place {
            rayon::join(|| crc.update(window), || hasher.update(window));
            map.release_storage(index, at..at + window.len());
        } else {
            // The CRC of decoded bytes was checked when they were decoded.
            hasher.update(window);
        }
    }
    if in_place {
        map.check_crc(index, crc.finalize())?;
    }
    let view = |&layout: &&'a Layout| {
        let view = TensorView::new(layout, &bytes).expect("layouts are checked when a file is opened");
        (layout, digest_view(&view, function, &|range| map.release_storage(index, range)))
    };
    Ok(StorageDigests { whole: hasher.finish(), views: views.iter().map(view).collect() })
}

fn windows(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    bytes.chunks(WINDOW).enumerate().map(|(number, window)| (number * WINDOW, window))
}

/// The digest of the elements of `view`. `release` is called with the bytes of the storage that will not be read again.
fn digest_view(view: &TensorView<'_>, function: DigestFunction, release: &dyn Fn(Range<usize>)) -> String {
    let mut hasher = Hasher::new(function);
    if let Some(bytes) = view.as_contiguous() {
        let start = view.layout().reach().map_or(0, |reach| reach.start as usize);
        for (at, window) in windows(bytes) {
            hasher.update(window);
            release(start + at..start + at + window.len());
        }
        return hasher.finish();
    }
    let size = view.dtype().size();
    let bytes = view.numel() * size;
    let mut buffer = vec![0; bytes.min(GATHERED as u64) as usize];
    let mut at = 0;
    while at < view.numel() {
        let read = view.read_into(at, &mut buffer);
        hasher.update(&buffer[..read]);
        at += read as u64 / size;
    }
    release(0..view.storage().len());
    hasher.finish()
}

fn write(entry: &mut EntryInspection, elements: &[(usize, TensorRef)], found: Vec<(usize, StorageDigests<'_>)>) {
    let mut views = HashMap::new();
    for (index, digests) in &found {
        entry.storages[*index].digest = Some(digests.whole.clone());
        views.extend(digests.views.iter().map(|(layout, digest)| ((*index, *layout), digest)));
    }
    for (tensor, TensorRef { layout, storage }) in elements {
        let storage_digests = &entry.storages[*storage];
        let digest = match is_whole(layout, storage_digests.bytes) {
            true => storage_digests.digest.clone(),
            false => views.get(&(*storage, layout)).map(|&digest| digest.clone()),
        };
        entry.tensors[*tensor].digest = digest;
    }
}
