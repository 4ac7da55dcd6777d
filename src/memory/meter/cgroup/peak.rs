//! The kernel's marks of a group: read and reset them, and interpret them for a phase.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};

use crate::bytes::ByteSize;
use crate::meter::error::MeterError;
use crate::meter::text::number;

/// The kernel's mark when a phase began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CgroupMark {
    /// The mark was reset, so that it belongs to this phase.
    Reset,
    /// The mark could not be reset and had this value: only a higher one belongs to this phase.
    Stood(ByteSize),
    /// There is no mark.
    Absent,
}

/// A kernel mark that in version 2 no other handle resets.
#[derive(Debug)]
pub(super) struct OwnPeak {
    pub(super) name: &'static str,
    path: PathBuf,
    peak: Option<OwnedFd>,
}

impl OwnPeak {
    /// Opens the mark `name` of the group in `folder`.
    pub(super) fn open(folder: &Path, name: &'static str) -> Self {
        let path = folder.join(name);
        Self { name, peak: open_peak(&path), path }
    }

    pub(super) fn read(&self) -> Option<ByteSize> {
        read_peak(self.peak.as_ref(), &self.path).ok()
    }

    /// Reads the mark at the start of a phase, and resets it if `may_reset` and the kernel can.
    pub(super) fn begin(&self, may_reset: bool) -> CgroupMark {
        if may_reset && reset_peak(self.peak.as_ref(), self.path.clone()).is_ok() {
            return CgroupMark::Reset;
        }
        self.read().map_or(CgroupMark::Absent, CgroupMark::Stood)
    }

    /// Interprets the mark for a phase that began with `mark`: the peak, and whether it was reset. `None` if it may be
    /// from before the phase.
    pub(super) fn of_phase(&self, mark: CgroupMark) -> Option<(ByteSize, bool)> {
        let peak = self.read()?;
        match mark {
            CgroupMark::Reset => Some((peak, true)),
            CgroupMark::Stood(before) => (peak > before).then_some((peak, false)),
            CgroupMark::Absent => None,
        }
    }
}

/// Opened for writing if allowed, because a reset needs it.
pub(super) fn open_peak(path: &Path) -> Option<OwnedFd> {
    let open = |flags| rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty());
    open(OFlags::RDWR).or_else(|_| open(OFlags::RDONLY)).ok()
}

pub(super) fn read_peak(peak: Option<&OwnedFd>, path: &Path) -> Result<ByteSize, MeterError> {
    let mut text = [0; 64];
    let read = peak.ok_or(rustix::io::Errno::NOENT).and_then(|peak| rustix::io::pread(peak, &mut text, 0));
    let length = read.map_err(|source| MeterError::read(path.display().to_string(), source))?;
    bytes(&text[..length], path)
}

pub(super) fn reset_peak(peak: Option<&OwnedFd>, path: PathBuf) -> Result<(), MeterError> {
    // Version 1 accepts only 0; version 2 accepts any non-empty text.
    let written = peak.ok_or(rustix::io::Errno::NOENT).and_then(|peak| rustix::io::pwrite(peak, b"0", 0));
    written.map(drop).map_err(|source| MeterError::cgroup("reset", path, io::Error::from(source)))
}

/// The number of bytes that is all of `text`, from the file `path`.
pub(super) fn bytes(text: &[u8], path: &Path) -> Result<ByteSize, MeterError> {
    let malformed = || MeterError::Malformed { path: path.display().to_string(), field: "number of bytes" };
    number(text.trim_ascii()).map(ByteSize::new).ok_or_else(malformed)
}
