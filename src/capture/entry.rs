//! [`Entry`]: one captured call of an operator.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use super::alike::Alike;
use super::argument::Argument;
use super::call::{Call, Signature};
use super::content::{Content, Payload};
use super::error::{CaptureError, CaptureErrorKind};
use super::identity::{self, Digest, Identity};
use super::mapped::MappedEntry;
use super::residency::Residency;
use super::source::{KnownFile, SourceFile, Stamp};
use super::storage::Storage;
use super::store::object::Object;
use super::store::packed::Packed;
use plimsoll_memory::bytes::ByteSize;

/// One captured call: a function's name, its arguments, and its result. Tensors are layouts over storages, which stay
/// in the file until [`Entry::map`].
#[derive(Clone, Debug)]
pub struct Entry {
    file: KnownFile,
    name: String,
    /// Shared with the entries of a capture whose headers are the same.
    call: Arc<Call>,
    storages: Vec<Storage>,
    payloads: Vec<Payload>,
    /// The objects of its storages, if it is an entry of a store.
    objects: Option<Vec<Object>>,
}

impl Entry {
    /// Opens the entry at `path`. Headers and the pickle are read, whatever the file's size, and no file stays open.
    ///
    /// # Errors
    /// If the file cannot be read, is malformed, is nearly all hole, or is not an entry.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        OpenEntry::open(path).map(OpenEntry::close)
    }

    /// Reads the headers and the pickle, unless an entry that is `alike` was read before.
    fn read(path: &Path, source: &SourceFile, alike: Option<&Alike>) -> Result<Self, CaptureError> {
        source.refuse_holes()?;
        let like = alike.zip(source.snapshot()?);
        let (call, storages, payloads) = match like.and_then(|(alike, snapshot)| alike.parts(source, snapshot)) {
            Some(parts) => parts,
            None => {
                let content = Content::read(source)?;
                let call = Call::read(&content).map_err(|kind| source.error(kind))?;
                let Content { storages, payloads, frame, .. } = content;
                let parts = (Arc::new(call), storages, payloads);
                if let (Some((alike, snapshot)), Some(frame)) = (like, frame) {
                    alike.add(snapshot, frame, &parts);
                }
                parts
            }
        };
        let file = source.known().clone();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let objects = source.packed().map(Packed::objects);
        Ok(Self { file, name, call, storages, payloads, objects })
    }

    /// The file's name, such as `entry_000000.pt`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// An error of the entry's file.
    pub(super) fn error(&self, kind: impl Into<CaptureErrorKind>) -> CaptureError {
        CaptureError::new(self.file.path(), kind)
    }

    /// Whether the entry is in a store.
    pub fn is_packed(&self) -> bool {
        self.objects.is_some()
    }

    /// The objects of its storages; none if it is not in a store.
    pub(super) fn objects(&self) -> &[Object] {
        self.objects.as_deref().unwrap_or_default()
    }

    /// The size of the file when it was opened; for an entry of a store, that of the file that was packed.
    pub fn file_size(&self) -> ByteSize {
        ByteSize::new(self.file.size())
    }

    /// The state of the file when it was opened.
    pub fn stamp(&self) -> Stamp {
        self.file.stamp()
    }

    /// Checks that the file still has the state that it had when it was opened before.
    ///
    /// # Errors
    /// [`SourceError::Changed`](super::error::SourceError::Changed) if the file was written, replaced or touched since.
    pub fn check_stamp(&self, before: Stamp) -> Result<(), CaptureError> {
        self.file.check(before)
    }

    /// The name of the function that was called, such as `torch.nn.functional.embedding`.
    pub fn function_name(&self) -> &str {
        &self.call.function_name
    }

    /// The arguments given by position.
    pub fn args(&self) -> &[Argument] {
        &self.call.args
    }

    /// The arguments given by name.
    pub fn kwargs(&self) -> &[(String, Argument)] {
        &self.call.kwargs
    }

    /// The value that the call returned.
    pub fn output(&self) -> &Argument {
        &self.call.output
    }

    /// The function's signature, if it was captured.
    pub fn signature(&self) -> Option<&Signature> {
        self.call.signature.as_ref()
    }

    /// The storages that the values refer to, in the order of first reference. [`TensorRef::storage`] is an index into
    /// this.
    ///
    /// [`TensorRef::storage`]: super::TensorRef::storage
    pub fn storages(&self) -> &[Storage] {
        &self.storages
    }

    /// The identity of this entry's bytes.
    ///
    /// # Errors
    /// If the file can no longer be read, or changed since it was opened.
    pub fn identity(&self, digest: Digest) -> Result<Identity, CaptureError> {
        identity::of(&self.file.reopen()?, &self.payloads, digest)
    }

    /// Maps the file, so that its storages can be read.
    ///
    /// # Errors
    /// If the file can no longer be read, or changed since it was opened.
    pub fn map(&self) -> Result<MappedEntry, CaptureError> {
        MappedEntry::of(&self.file.reopen()?, &self.storages)
    }

    /// The memory that the call needs when it is launched again.
    pub fn residency(&self) -> Residency {
        let Call { args, kwargs, output, .. } = &*self.call;
        let arguments = args.iter().chain(kwargs.iter().map(|(_, value)| value));
        Residency::of(&self.storages, arguments, output)
    }
}

/// An [`Entry`] whose file stays open: what is read of it next needs no second opening, and of a small file, no second
/// reading.
#[derive(Debug)]
pub struct OpenEntry {
    entry: Entry,
    source: SourceFile,
}

impl OpenEntry {
    /// Opens the entry at `path`.
    ///
    /// # Errors
    /// See [`Entry::open`].
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let source = SourceFile::open(path)?;
        Ok(Self { entry: Entry::read(path, &source, None)?, source })
    }

    /// Opens the entry at `path` as [`OpenEntry::open`] does, with less work if entries like it were opened before.
    pub(super) fn open_like(path: &Path, alike: &Alike) -> Result<Self, CaptureError> {
        let source = SourceFile::open(path)?;
        Ok(Self { entry: Entry::read(path, &source, Some(alike))?, source })
    }

    /// Closes the file.
    pub fn close(self) -> Entry {
        self.entry
    }

    /// The identity of the entry's bytes.
    ///
    /// # Errors
    /// See [`Entry::identity`].
    pub fn identity(&self, digest: Digest) -> Result<Identity, CaptureError> {
        identity::of(&self.source, &self.payloads, digest)
    }

    /// Maps the file, or takes the bytes that were read of a small one. The file must still be at its path, and as it
    /// was when it was opened.
    ///
    /// # Errors
    /// See [`Entry::map`].
    pub fn map(&self) -> Result<MappedEntry, CaptureError> {
        self.source.still_there()?;
        MappedEntry::of(&self.source, &self.storages)
    }
}

impl Deref for OpenEntry {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.entry
    }
}
