//! [`TorchFile`]: any file of torch.save, value by value.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;

use super::content::Content;
use super::error::CaptureError;
use super::mapped::MappedEntry;
use super::object::{Children, ItemValue, Objects, Step, value};
use super::pickle::{Document, NodeId};
use super::source::{KnownFile, SourceFile};
use super::storage::Storage;
use plimsoll_memory::bytes::ByteSize;

/// A file of torch.save, whether an entry or not: headers and pickle are read, storages are not.
#[derive(Debug)]
pub struct TorchFile {
    file: KnownFile,
    content: Content,
}

/// One value of a [`TorchFile`].
#[derive(Clone, Debug)]
pub struct Item<'a> {
    /// The value's place: `$["kwargs"]["weight"]`, `[0]` for items, `{1}` for keys that are not texts, `!indices` for
    /// the parts of a tensor or an object.
    pub path: &'a str,
    /// The path at which the same object occurred first. Its content is not visited again.
    pub alias_of: Option<Alias<'a>>,
    /// The value.
    pub value: ItemValue<'a>,
}

/// The first place of an object that occurs again. Its path is made only on request: naming objects that are deep and
/// occur often would take hours.
#[derive(Clone, Copy)]
pub struct Alias<'a> {
    document: &'a Document,
    first: &'a Links,
    id: NodeId,
}

impl Alias<'_> {
    /// The path at which the object occurred first. Making it takes time in proportion to its depth.
    pub fn path(&self) -> String {
        let mut steps = Vec::new();
        let mut at = self.id;
        while let Some(Some((parent, step))) = self.first.get(&at) {
            steps.push(*step);
            at = *parent;
        }
        let mut path = "$".to_owned();
        steps.iter().rev().for_each(|step| step.write(self.document, &mut path));
        path
    }
}

impl fmt::Debug for Alias<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Alias").field(&self.path()).finish()
    }
}

/// How each object was reached first. Paths are kept as links, because whole ones would take the square of the depth in
/// memory.
type Links = HashMap<NodeId, Option<(NodeId, Step)>>;

/// The longest path, in bytes. Deeper values end the walk at their container.
const PATH_LIMIT: usize = 64 << 10;

impl TorchFile {
    /// Opens any file of torch.save.
    ///
    /// # Errors
    /// If the file cannot be read or is malformed.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let source = SourceFile::open(path)?;
        let content = Content::read(&source)?;
        Ok(Self { file: source.known().clone(), content })
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The size of the file when it was opened.
    pub fn file_size(&self) -> ByteSize {
        ByteSize::new(self.file.size())
    }

    /// The storages that the values refer to, in the order of first reference.
    pub fn storages(&self) -> &[Storage] {
        &self.content.storages
    }

    /// Maps the file, so that its storages can be read.
    ///
    /// # Errors
    /// If the file can no longer be read, or changed since it was opened.
    pub fn map(&self) -> Result<MappedEntry, CaptureError> {
        MappedEntry::of(&self.reopen()?, &self.content.storages)
    }

    /// Opens the file again.
    pub(super) fn reopen(&self) -> Result<SourceFile, CaptureError> {
        self.file.reopen()
    }

    /// Calls `visit` for every value, containers before the values in them. Cycles and shared objects are visited as
    /// aliases.
    ///
    /// A small file can refer to one long number a million times, and each reference is read anew. For untrusted files,
    /// count what is read and stop: [`TorchFile::try_walk`].
    pub fn walk(&self, visit: &mut dyn FnMut(&Item<'_>)) {
        let walked = self.try_walk::<Infallible>(&mut |item| {
            visit(item);
            ControlFlow::Continue(())
        });
        match walked {
            ControlFlow::Continue(()) => {}
            ControlFlow::Break(never) => match never {},
        }
    }

    /// Calls `visit` as [`TorchFile::walk`] does, until it breaks.
    pub fn try_walk<B>(&self, visit: &mut dyn FnMut(&Item<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
        let Content { document, objects, .. } = &self.content;
        Walk { document, objects, path: "$".to_owned(), first: HashMap::new(), open: Vec::new() }.run(visit)
    }
}

/// A walk over the values of a document, without recursion.
struct Walk<'a> {
    document: &'a Document,
    objects: &'a Objects,
    path: String,
    first: Links,
    open: Vec<Frame<'a>>,
}

/// A container whose items are being visited.
struct Frame<'a> {
    id: NodeId,
    children: Children<'a>,
    path: usize,
}

impl Walk<'_> {
    fn run<B>(mut self, visit: &mut dyn FnMut(&Item<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
        self.enter(self.document.root(), None, visit)?;
        while let Some(frame) = self.open.last_mut() {
            self.path.truncate(frame.path);
            match frame.children.next() {
                Some((step, child)) => {
                    let parent = frame.id;
                    step.write(self.document, &mut self.path);
                    self.enter(child, Some((parent, step)), visit)?;
                }
                None => drop(self.open.pop()),
            }
        }
        ControlFlow::Continue(())
    }

    fn enter<B>(
        &mut self,
        id: NodeId,
        reached: Option<(NodeId, Step)>,
        visit: &mut dyn FnMut(&Item<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let value = value(self.document, self.objects, id);
        let is_object = value.is_object();
        let again = is_object && self.first.contains_key(&id);
        let alias_of = again.then_some(Alias { document: self.document, first: &self.first, id });
        visit(&Item { path: &self.path, alias_of, value })?;
        if is_object && !again && self.path.len() < PATH_LIMIT {
            self.first.insert(id, reached);
            let children = Children::of(self.document, self.objects, id);
            self.open.push(Frame { id, children, path: self.path.len() });
        }
        ControlFlow::Continue(())
    }
}
