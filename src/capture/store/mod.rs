//! The store: entries of any number of captures, with each storage kept once.
//!
//! `docs/store-format.md` describes the format, `plimsoll.store/1`. An entry is a reference to a recipe, which says how
//! its file is put together from a [skeleton](super::skeleton) and the bytes of storages, all of them objects named by
//! their digest. Any code that opens a file of torch.save opens such a reference as well: its values come from the
//! skeleton, its storages are mapped in their objects, and entries that share a storage share an object.
//!
//! Invariants: a file that has its final name is whole and on the disk; an object never changes; a reference is written
//! after everything that it leads to.

mod batch;
mod collect;
mod error;
mod incoming;
pub(super) mod inside;
mod known;
pub(super) mod object;
mod object_id;
mod open;
mod own;
mod pack;
pub(super) mod packed;
mod payloads;
pub(super) mod places;
mod recipe;
pub(super) mod reference;
mod remembered;
mod selection;
mod share;
mod survey;
#[cfg(test)]
mod tests;
mod unpack;
mod verified;
mod verify;
mod whole;

pub use collect::Garbage;
pub use error::StoreError;
pub use object_id::{ObjectId, ParseObjectIdError};
pub use open::{EntryName, Store};
pub use pack::{PackOptions, PackReport, PackStatus, PackedEntry, packable};
pub use recipe::{Modified, PayloadPlace, Recipe};
pub use survey::{CaptureSurvey, EntrySurvey, Survey};
pub use unpack::{UnpackOptions, UnpackReport, UnpackedFile};
pub use verified::{ObjectVerifier, VerifyObjects};
pub use verify::{Problem, VerifyOptions, VerifyReport};
