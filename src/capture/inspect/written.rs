//! [`Written`]: the document of a path, made while it is written.

use std::cell::{OnceCell, RefCell};
use std::path::Path;

use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};

use super::document::{EntryInspection, SCHEMA};
use super::folder::{Options, Summary, inspect_each};

/// The document `plimsoll.inspect/1` of a path, equal to [`Inspection`](super::Inspection), but inspected while it is
/// serialized: only one file of a folder is in memory, however many there are.
pub struct Written<'a> {
    path: &'a Path,
    options: Options,
    each: RefCell<&'a mut dyn FnMut(&EntryInspection)>,
    summary: OnceCell<Summary>,
}

impl<'a> Written<'a> {
    /// Makes the document of `path`; `each` is called with each entry after it was written.
    pub fn new(path: &'a Path, options: Options, each: &'a mut dyn FnMut(&EntryInspection)) -> Self {
        Self { path, options, each: RefCell::new(each), summary: OnceCell::new() }
    }

    /// The summary; `None` before the document was serialized to its end.
    pub fn into_summary(self) -> Option<Summary> {
        self.summary.into_inner()
    }
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("Inspection", 7)?;
        document.serialize_field("schema", SCHEMA)?;
        document.serialize_field("path", &crate::origin::shown(self.path))?;
        match self.options.digest {
            Some(digest) => document.serialize_field("digest", &digest)?,
            None => document.skip_field("digest")?,
        }
        document.serialize_field("entries", &Entries(self))?;
        let empty = Summary::default();
        let Summary { repeats, totals, error } = self.summary.get().unwrap_or(&empty);
        document.serialize_field("repeats", repeats)?;
        document.serialize_field("totals", totals)?;
        match error {
            Some(error) => document.serialize_field("error", error)?,
            None => document.skip_field("error")?,
        }
        document.end()
    }
}

struct Entries<'a, 'w>(&'a Written<'w>);

impl Serialize for Entries<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(written) = self;
        let mut items = serializer.serialize_seq(None)?;
        let summary = inspect_each(written.path, written.options, &mut |entry| {
            items.serialize_element(&entry)?;
            (written.each.borrow_mut())(&entry);
            Ok(())
        })?;
        let _ = written.summary.set(summary);
        items.end()
    }
}
