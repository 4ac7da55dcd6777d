//! Objects being written.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use tempfile::{NamedTempFile, TempPath};

use super::object::WINDOW_LOG;
use super::object_id::ObjectId;
use super::places::Places;
use super::share::{share, write_at};

/// The bytes below which handing work to another thread takes longer than doing it.
const PARALLEL: usize = 256 << 10;

/// The smallest object worth compressing, in bytes.
const COMPRESS_FROM: u64 = 64 << 10;

/// The bytes that are compressed as a trial, at each of three places.
const TRIAL: usize = 128 << 10;

/// The level of zstd: higher levels take much longer for weights and save hardly more.
const LEVEL: i32 = 3;

/// An object that is being written, under a temporary name.
pub struct Incoming {
    file: NamedTempFile,
    hasher: blake3::Hasher,
    bytes: u64,
    /// Whether the system has copied all bytes already, so that only their digest is computed.
    shared: bool,
}

/// An object that is written but not yet named; dropping it deletes it.
#[derive(Debug)]
pub struct Staged {
    pub id: ObjectId,
    pub path: TempPath,
    /// The size of its content, in bytes.
    pub bytes: u64,
    /// The size of its file, in bytes, if it is compressed.
    pub compressed: Option<u64>,
}

impl Incoming {
    /// Starts a new object.
    pub fn new(places: &Places) -> io::Result<Self> {
        Ok(Self { file: temporary(places)?, hasher: blake3::Hasher::new(), bytes: 0, shared: false })
    }

    /// The number of bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Lets the system copy the whole object from `from` if it can share blocks. The bytes must still be appended, to
    /// compute their digest.
    pub fn share(&mut self, from: &File, at: u64, bytes: u64) {
        self.shared = share(from, at, self.file.as_file(), 0, bytes);
    }

    /// Appends `piece`.
    pub fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        let (file, at, shared) = (self.file.as_file(), self.bytes, self.shared);
        let write = || if shared { Ok(()) } else { write_at(file, at, piece) };
        if piece.len() < PARALLEL {
            self.hasher.update(piece);
            write()?;
        } else {
            let hasher = &mut self.hasher;
            rayon::join(|| hasher.update_rayon(piece), write).1?;
        }
        self.bytes += piece.len() as u64;
        Ok(())
    }

    /// Appends zeros up to a multiple of `alignment`.
    pub fn align(&mut self, alignment: u64) -> io::Result<()> {
        let zeros = self.bytes.next_multiple_of(alignment) - self.bytes;
        self.write(&vec![0; zeros as usize])
    }

    /// Finishes the object.
    pub fn finish(self) -> Staged {
        let id = self.hasher.finalize().into();
        Staged { id, path: self.file.into_temp_path(), bytes: self.bytes, compressed: None }
    }
}

fn temporary(places: &Places) -> io::Result<NamedTempFile> {
    places.folder(&places.incoming())?.temporary("object-", 0o444)
}

impl Staged {
    /// This object, compressed if that saves a tenth.
    pub fn compressed(self, places: &Places) -> io::Result<Self> {
        let file = File::open(&self.path)?;
        if self.bytes < COMPRESS_FROM || !pays_on_trial(&file, self.bytes)? {
            return Ok(self);
        }
        let out = temporary(places)?;
        let mut encoder = zstd::Encoder::new(out, LEVEL)?;
        encoder.window_log(WINDOW_LOG - 2)?;
        encoder.set_pledged_src_size(Some(self.bytes))?;
        encoder.include_contentsize(true)?;
        io::copy(&mut file.take(self.bytes), &mut encoder)?;
        let out = encoder.finish()?;
        let compressed = out.as_file().metadata()?.len();
        if !pays(compressed, self.bytes) {
            return Ok(self);
        }
        Ok(Self { path: out.into_temp_path(), compressed: Some(compressed), ..self })
    }
}

fn pays(compressed: u64, bytes: u64) -> bool {
    compressed <= bytes - bytes / 10
}

/// Whether compressing samples from the front, the middle and the end saves enough.
fn pays_on_trial(file: &File, bytes: u64) -> io::Result<bool> {
    let size = (TRIAL as u64).min(bytes);
    let mut sample = vec![0; size as usize];
    let mut compressed = 0;
    for at in [0, (bytes - size) / 2, bytes - size] {
        file.read_exact_at(&mut sample, at)?;
        compressed += zstd::bulk::compress(&sample, LEVEL)?.len() as u64;
    }
    Ok(pays(compressed, 3 * size))
}
