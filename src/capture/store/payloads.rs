//! [`Payloads`]: the storages of one file on their way into the store.

use std::fs::File;
use std::io;
use std::path::Path;

use super::super::map::MappedFile;
use super::super::skeleton::Payload;
use super::batch::Batch;
use super::error::StoreError;
use super::incoming::{Incoming, Staged};
use super::known::{GUESS_FROM, Known};
use super::object_id::ObjectId;
use super::places::Places;
use plimsoll_memory::bytes::ByteSize;

/// The size below which payloads share one object: a file of its own would take a block of the file system for each.
const POOLED: u64 = 4096;

/// The largest alignment that a pooled payload keeps.
const ALIGNMENT: u64 = 4096;

/// The number of bytes that are mapped at once.
const WINDOW: ByteSize = ByteSize::mib(16);

/// The storages of one file, taken in the order of the file.
pub struct Payloads<'a, 'b> {
    places: &'a Places,
    batch: &'a Batch<'b>,
    known: &'a mut Known,
    compress: bool,
    /// The file, if blocks can be shared with it, which excludes references of a store.
    file: Option<File>,
    /// Objects that are in neither the store nor the batch.
    new: Vec<Staged>,
    /// The place of each payload, or `None` until it is known.
    found: Vec<Found>,
    pool: Option<Incoming>,
    open: Option<Open>,
}

/// The place of a payload.
enum Found {
    Object(ObjectId),
    /// In the pool, from this byte on.
    Pool(u64),
    /// In the file alone: the payload was guessed to be in the store, and was not.
    Missed {
        id: ObjectId,
        offset: u64,
        bytes: u64,
    },
}

/// The payload that is being read.
struct Open {
    offset: u64,
    bytes: u64,
    seen: u64,
    into: Sink,
}

/// What is done with the payload's bytes.
enum Sink {
    Pool,
    Object(Box<Incoming>),
    /// The payload is probably in the store, so only its digest is computed.
    Digest(Box<blake3::Hasher>),
}

impl<'a, 'b> Payloads<'a, 'b> {
    pub fn new(
        places: &'a Places,
        batch: &'a Batch<'b>,
        known: &'a mut Known,
        compress: bool,
        file: Option<File>,
    ) -> Self {
        Self { places, batch, known, compress, file, new: Vec::new(), found: Vec::new(), pool: None, open: None }
    }

    /// Takes the next piece of `payload`.
    pub fn take(&mut self, payload: &Payload, piece: &[u8]) -> io::Result<()> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.begin(payload, piece)?,
        };
        match &mut open.into {
            Sink::Pool => self.pool.as_mut().expect("begun with the payload").write(piece)?,
            Sink::Object(incoming) => incoming.write(piece)?,
            Sink::Digest(hasher) => {
                hasher.update_rayon(piece);
            }
        }
        open.seen += piece.len() as u64;
        if open.seen < open.bytes {
            self.open = Some(open);
            return Ok(());
        }
        self.end(open)
    }

    fn begin(&mut self, payload: &Payload, piece: &[u8]) -> io::Result<Open> {
        let (offset, bytes) = (payload.offset, payload.bytes.bytes());
        let into = if bytes < POOLED {
            let pool = match self.pool.as_mut() {
                Some(pool) => pool,
                None => self.pool.insert(Incoming::new(self.places)?),
            };
            pool.align(alignment(offset))?;
            self.found.push(Found::Pool(pool.bytes()));
            Sink::Pool
        } else if bytes >= GUESS_FROM && self.known.probably(self.places, bytes, piece) {
            Sink::Digest(Box::default())
        } else {
            self.known.add(bytes, piece);
            let mut incoming = Incoming::new(self.places)?;
            if let Some(file) = &self.file {
                incoming.share(file, offset, bytes);
            }
            Sink::Object(Box::new(incoming))
        };
        Ok(Open { offset, bytes, seen: 0, into })
    }

    fn end(&mut self, open: Open) -> io::Result<()> {
        let Open { offset, bytes, .. } = open;
        let found = match open.into {
            Sink::Pool => return Ok(()),
            Sink::Object(incoming) => Found::Object(self.keep(incoming.finish())?),
            Sink::Digest(hasher) => {
                let id = hasher.finalize().into();
                if self.has(id, bytes) { Found::Object(id) } else { Found::Missed { id, offset, bytes } }
            }
        };
        self.found.push(found);
        Ok(())
    }

    fn has(&self, id: ObjectId, bytes: u64) -> bool {
        self.new.iter().any(|staged| staged.id == id) || self.batch.has(id, bytes)
    }

    /// Keeps an object, unless the store already has it.
    fn keep(&mut self, staged: Staged) -> io::Result<ObjectId> {
        let id = staged.id;
        if !self.has(id, staged.bytes) {
            self.new.push(if self.compress { staged.compressed(self.places)? } else { staged });
        }
        Ok(id)
    }

    /// Keeps `content`, a skeleton or a recipe.
    pub fn keep_bytes(&mut self, content: &[u8]) -> io::Result<ObjectId> {
        let id = blake3::hash(content).into();
        if !self.has(id, content.len() as u64) {
            let mut incoming = Incoming::new(self.places)?;
            incoming.write(content)?;
            self.new.push(incoming.finish());
        }
        Ok(id)
    }

    /// The place of each payload of the file at `path`, in order. Payloads with a wrong guess are read once more.
    pub fn places(&mut self, path: &Path) -> Result<Vec<(ObjectId, u64)>, StoreError> {
        let fail = |error| StoreError::io(&self.places.incoming(), "write to it")(error);
        let pool = match self.pool.take() {
            Some(pool) => Some(self.keep(pool.finish()).map_err(fail)?),
            None => None,
        };
        let mut places = Vec::with_capacity(self.found.len());
        for found in std::mem::take(&mut self.found) {
            places.push(match found {
                Found::Object(id) => (id, 0),
                Found::Pool(at) => (pool.expect("it holds the payload"), at),
                Found::Missed { id, offset, bytes } => (self.reread(path, id, offset, bytes)?, 0),
            });
        }
        Ok(places)
    }

    fn reread(&mut self, path: &Path, id: ObjectId, offset: u64, bytes: u64) -> Result<ObjectId, StoreError> {
        if self.has(id, bytes) {
            return Ok(id);
        }
        let fail = |error| StoreError::io(&self.places.incoming(), "write to it")(error);
        let map = MappedFile::open(path, offset, bytes)?;
        let mut incoming = Incoming::new(self.places).map_err(fail)?;
        let mut written = Ok(());
        map.for_each_window(WINDOW, |window| {
            if written.is_ok() {
                written = incoming.write(window);
            }
        });
        written.map_err(fail)?;
        map.intact()?;
        let staged = incoming.finish();
        if staged.id != id {
            return Err(StoreError::Changed { path: path.to_owned() });
        }
        self.keep(staged).map_err(fail)
    }

    /// The new objects.
    pub fn into_new(self) -> Vec<Staged> {
        self.new
    }
}

/// The alignment that a payload has in its file.
fn alignment(offset: u64) -> u64 {
    if offset == 0 { ALIGNMENT } else { (1 << offset.trailing_zeros()).min(ALIGNMENT) }
}
