//! [`Manifest`]: the meaning and the needs of a capture, from headers alone.

use crate::record::{EntrySemantics, Rows, TensorSemantics, Tensors};
use plimsoll_capture::{Bound, Capture, CaptureError, Digest, Entry, OpenEntry, Residency, Stamp};
use plimsoll_memory::bytes::ByteSize;

/// The digest of an unreadable entry: no readable entry has it.
const UNREADABLE: &str = "unreadable";

/// The facts about entries before anything of them is loaded.
#[derive(Default)]
pub(super) struct Manifest {
    /// The semantics of the entries, in order.
    pub semantics: Rows<EntrySemantics>,
    /// The identity and the needs of the entries.
    pub planned: Vec<Planned>,
}

/// The facts about an entry that are kept in memory during a run.
#[derive(Clone, Copy, Default)]
pub(super) struct Planned {
    /// The resident bytes; none if the entry could not be read.
    pub bytes: ByteSize,
    /// The state of the entry's file; `None` if the entry could not be read.
    pub stamp: Option<Stamp>,
}

impl Manifest {
    /// Reads the headers of every entry, one at a time, and returns what each will have resident. An unreadable entry
    /// keeps its place: its launch will report why.
    pub fn read<'a>(&'a mut self, capture: &'a Capture, digest: Digest) -> impl Iterator<Item = Residency> + 'a {
        capture.names().iter().enumerate().map(move |(index, name)| {
            let entry = capture.open_entry(index);
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

fn semantics(capture: &Capture, entry: &OpenEntry, digest: Digest) -> Result<EntrySemantics, CaptureError> {
    let identity = entry.identity(digest)?;
    let order = capture.order();
    // Some kernels take by name what cannot be given by position.
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
