//! [`Manifest`]: what a capture means and what it will take, from headers alone.

use crate::record::{EntrySemantics, Rows, TensorSemantics, Tensors};
use plimsoll_capture::{Bound, Capture, CaptureError, Digest, Entry, Residency, Stamp};
use plimsoll_memory::bytes::ByteSize;

/// The digest of an entry that could not be read: no entry that can be has it.
const UNREADABLE: &str = "unreadable";

/// What is known of the entries before anything of them is loaded.
#[derive(Default)]
pub(super) struct Manifest {
    /// Their places in the record's semantics.
    pub semantics: Rows<EntrySemantics>,
    /// What they are held to, and what they take.
    pub planned: Vec<Planned>,
}

/// What is kept of an entry in memory for as long as a run lasts.
#[derive(Clone, Copy, Default)]
pub(super) struct Planned {
    /// What will be resident; nothing if the entry could not be read.
    pub bytes: ByteSize,
    /// What its file was like; `None` if the entry could not be read.
    pub stamp: Option<Stamp>,
}

impl Manifest {
    /// Reads the headers of every entry, one at a time, and gives what each will have resident. An entry that cannot be read
    /// keeps its place: its launch will say why.
    pub fn read<'a>(&'a mut self, capture: &'a Capture, digest: Digest) -> impl Iterator<Item = Residency> + 'a {
        capture.names().iter().zip(capture.entries()).map(move |(name, entry)| {
            let found = entry.and_then(|entry| Ok((semantics(capture, &entry, digest)?, entry)));
            let (semantics, planned, residency) = match found {
                Ok((semantics, entry)) => {
                    let residency = entry.residency();
                    (semantics, Planned { bytes: residency.bytes(), stamp: Some(entry.stamp()) }, residency)
                }
                Err(_) => (unreadable(name, digest), Planned::default(), Residency::default()),
            };
            self.semantics.push(semantics);
            self.planned.push(planned);
            residency
        })
    }
}

fn unreadable(name: &str, covers: Digest) -> EntrySemantics {
    let (bytes, tensors) = (ByteSize::ZERO, Tensors::default());
    EntrySemantics { name: name.to_owned(), bytes, digest: UNREADABLE.to_owned(), covers, tensors }
}

fn semantics(capture: &Capture, entry: &Entry, digest: Digest) -> Result<EntrySemantics, CaptureError> {
    let identity = entry.identity(digest)?;
    let order = capture.order();
    // What no kernel can be given by position, some can by name.
    let bound = entry.bind(order).or_else(|_| entry.bind_by_name(order))?;
    Ok(EntrySemantics {
        name: entry.name().to_owned(),
        bytes: entry.file_size(),
        digest: identity.to_string(),
        covers: identity.covers,
        tensors: tensors(entry, &bound).into(),
    })
}

fn tensors(entry: &Entry, bound: &Bound) -> Vec<TensorSemantics> {
    let arguments = bound.params.iter().zip(&bound.args).flat_map(|(name, value)| TensorSemantics::of(name, value));
    arguments.chain(TensorSemantics::of("output", entry.output())).collect()
}
