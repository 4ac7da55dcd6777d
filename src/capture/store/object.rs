//! [`Object`]: one object of a store, opened for reading.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::super::error::PackedError;
use super::super::origin;
use super::inside;
use super::object_id::ObjectId;
use super::places::Places;

/// The largest window of a compressed object: decompressing takes this much memory (2 to this power, in bytes).
pub const WINDOW_LOG: u32 = 23;

/// An object of the store, plain or compressed.
#[derive(Clone, Debug)]
pub struct Object {
    pub id: ObjectId,
    pub path: Arc<Path>,
    /// The size of its file, in bytes.
    pub stored: u64,
    /// Whether the file is compressed, so that its bytes are not the content.
    pub compressed: bool,
}

/// What distinguishes a verified file from any other, and from itself after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    pub device: u64,
    pub inode: u64,
    pub bytes: u64,
    /// The modification time: seconds since 1970, and nanoseconds.
    pub modified: (i64, i64),
    /// The time of the last change of any kind, which no program can set.
    pub changed: (i64, i64),
}

impl Stamp {
    /// Whether the last change was at least `span` before `time`, provided that both clocks agree.
    pub fn changed_before(&self, time: SystemTime, span: Duration) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let changed = match (u64::try_from(seconds), u32::try_from(nanoseconds)) {
            (Ok(seconds), Ok(nanoseconds)) => UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds)),
            _ => Some(UNIX_EPOCH),
        };
        changed.and_then(|changed| changed.checked_add(span)).is_some_and(|settled| settled <= time)
    }
}

impl Object {
    /// Finds the object `id`, plain or compressed.
    ///
    /// # Errors
    /// If it is missing, or its metadata cannot be read.
    pub fn find(places: &Places, id: ObjectId) -> Result<Self, PackedError> {
        for (path, compressed) in [(places.object(id), false), (places.compressed(id), true)] {
            match inside::metadata(places.root(), places.within(&path)) {
                Ok(Some(found)) if found.is_file() => {
                    return Ok(Self { id, path: path.into(), stored: found.len(), compressed });
                }
                Ok(Some(_)) => return Err(failed(id, io::Error::other("not a regular file"))),
                Ok(None) => {}
                Err(error) => return Err(failed(id, error)),
            }
        }
        Err(PackedError::Missing { object: id.to_string() })
    }

    /// The content of the object `id`, a recipe or a skeleton, which is never compressed and has at most `limit` bytes;
    /// its digest is checked.
    ///
    /// # Errors
    /// If it is missing, too large or damaged.
    pub fn content(places: &Places, id: ObjectId, limit: u64) -> Result<Vec<u8>, PackedError> {
        let object = Self::find(places, id)?;
        if object.compressed {
            return Err(failed(id, io::Error::other("the object is compressed, but recipes and skeletons never are")));
        }
        if object.stored > limit {
            return Err(PackedError::TooLarge { object: id.to_string(), bytes: object.stored, limit });
        }
        let mut content = Vec::new();
        object.open().and_then(|file| file.take(limit).read_to_end(&mut content)).map_err(|e| failed(id, e))?;
        object.compare(blake3::hash(&content))?;
        Ok(content)
    }

    /// Fails if `actual` is not the digest that names the object.
    ///
    /// # Errors
    /// [`PackedError::Damaged`].
    pub fn compare(&self, actual: blake3::Hash) -> Result<(), PackedError> {
        if ObjectId::from(actual) == self.id {
            return Ok(());
        }
        Err(PackedError::Damaged { object: self.id.to_string(), actual: actual.to_hex().to_string() })
    }

    /// Opens the object's file with all of its bytes available locally.
    pub fn open(&self) -> io::Result<File> {
        origin::fetch_whole(&self.path, self.stored)?;
        open_object(&self.path)
    }

    /// A reader of the object's content, from the start.
    pub fn reader(&self) -> io::Result<Box<dyn Read>> {
        let file = self.open()?;
        if !self.compressed {
            return Ok(Box::new(file));
        }
        let mut decoder = zstd::Decoder::with_buffer(BufReader::with_capacity(128 << 10, file))?.single_frame();
        decoder.window_log_max(WINDOW_LOG)?;
        Ok(Box::new(decoder))
    }

    /// A reader of the object's content, from byte `at` on.
    pub fn reader_at(&self, at: u64) -> io::Result<Box<dyn Read>> {
        let mut reader = self.reader()?;
        if !self.compressed {
            let file = self.open()?;
            return Ok(Box::new(At { file, at }));
        }
        if io::copy(&mut reader.by_ref().take(at), &mut io::sink())? < at {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(reader)
    }

    /// The stamp of the object's file.
    pub fn stamp(&self) -> io::Result<Stamp> {
        let places = Places::of_object(&self.path).expect("objects lie in a folder of a store's");
        let found = inside::metadata(places.root(), places.within(&self.path))?;
        let found = found.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(Stamp {
            device: found.dev(),
            inode: found.ino(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }

    /// An error of reading the object.
    pub fn failed(&self, source: io::Error) -> PackedError {
        failed(self.id, source)
    }
}

/// Opens the object at `path`, as given by an [`Object`].
pub fn open_object(path: &Path) -> io::Result<File> {
    let places = Places::of_object(path).expect("objects lie in a folder of a store's");
    inside::open_regular(places.root(), places.within(path))
}

fn failed(id: ObjectId, source: io::Error) -> PackedError {
    PackedError::Io { object: id.to_string(), source }
}

/// A reader of a file from a given byte on.
struct At {
    file: File,
    at: u64,
}

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}
