//! [`Entries`]: the entries of a run, opened and verified one at a time.

use plimsoll_capture::store::ObjectVerifier;
use plimsoll_capture::{Bound, Capture, CaptureError, Entry, OpenEntry};

use super::manifest::Planned;

/// Opens the entries of a capture.
pub(super) struct Entries<'a> {
    pub(super) capture: &'a Capture,
    /// The state before any kernel ran: no entry may change after that.
    pub(super) planned: &'a [Planned],
    pub(super) verifier: &'a mut ObjectVerifier,
    /// Whether the kernel takes its arguments by name.
    pub(super) by_name: bool,
}

impl Entries<'_> {
    /// Entry `index`, unchanged since the manifest was made, its objects verified if it is in a store, and its
    /// arguments bound.
    pub(super) fn open(&mut self, index: usize) -> Result<(OpenEntry, Bound), CaptureError> {
        let entry = self.capture.open_entry(index)?;
        if let Some(stamp) = self.planned[index].stamp {
            entry.check_stamp(stamp)?;
        }
        self.verifier.verify(&entry)?;
        let bound = self.bind(&entry, self.by_name)?;
        Ok((entry, bound))
    }

    /// The arguments of an entry, by name or by position as the kernel takes them.
    pub(super) fn bind(&self, entry: &Entry, by_name: bool) -> Result<Bound, CaptureError> {
        let order = self.capture.order();
        if by_name { entry.bind_by_name(order) } else { entry.bind(order) }
    }
}
