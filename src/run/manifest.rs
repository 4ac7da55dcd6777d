//! The manifest: what a capture means and what it will take, from headers alone.

use crate::record::{EntrySemantics, SharedTensors, TensorSemantics, Tensors};
use plimsoll_capture::{Bound, Capture, CaptureError, Digest, Entry, Residency, Stamp};
use plimsoll_memory::bytes::ByteSize;

/// The digest of an entry that could not be read: no entry that can be has it.
const UNREADABLE: &str = "unreadable";

/// What is known of an entry before anything of it is loaded.
pub struct Planned {
    /// Its place in the record's semantics.
    pub semantics: EntrySemantics,
    /// What will be resident; `None` if the entry could not be read.
    pub residency: Option<Residency>,
    /// What its file was like; `None` if the entry could not be read.
    pub stamp: Option<Stamp>,
}

/// Reads the headers of every entry, one at a time. An entry that cannot be read keeps its place: its launch will say why.
pub fn manifest(capture: &Capture, digest: Digest) -> Vec<Planned> {
    let mut shared = SharedTensors::default();
    let read = |name: &String, entry: Result<Entry, CaptureError>| {
        entry.and_then(|entry| plan_entry(capture, &entry, digest)).unwrap_or_else(|_| Planned {
            semantics: EntrySemantics {
                name: name.clone(),
                bytes: ByteSize::ZERO,
                digest: UNREADABLE.to_owned(),
                covers: digest,
                tensors: Tensors::default(),
            },
            residency: None,
            stamp: None,
        })
    };
    let planned = capture.names().iter().zip(capture.entries()).map(|(name, entry)| read(name, entry));
    let sharing = planned.map(|mut planned| {
        planned.semantics.tensors = shared.share(planned.semantics.tensors);
        planned
    });
    sharing.collect()
}

fn plan_entry(capture: &Capture, entry: &Entry, digest: Digest) -> Result<Planned, CaptureError> {
    let identity = entry.identity(digest)?;
    let order = capture.order();
    // What no kernel can be given by position, some can by name.
    let bound = entry.bind(order).or_else(|_| entry.bind_by_name(order))?;
    Ok(Planned {
        semantics: EntrySemantics {
            name: entry.name().to_owned(),
            bytes: entry.file_size(),
            digest: identity.to_string(),
            covers: identity.covers,
            tensors: tensors(entry, &bound).into(),
        },
        residency: Some(entry.residency()),
        stamp: Some(entry.stamp()),
    })
}

fn tensors(entry: &Entry, bound: &Bound) -> Vec<TensorSemantics> {
    let arguments = bound.params.iter().zip(&bound.args).flat_map(|(name, value)| TensorSemantics::of(name, value));
    arguments.chain(TensorSemantics::of("output", entry.output())).collect()
}
