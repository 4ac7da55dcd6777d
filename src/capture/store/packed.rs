//! [`Packed`]: an entry of a store, read as the file that was packed.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use super::super::error::PackedError;
use super::super::skeleton::{self, Skeleton};
use super::object::Object;
use super::object_id::ObjectId;
use super::places::Places;
use super::recipe::{self, PayloadPlace, Recipe};

/// A file kept in a store in parts. Everything but its storages is in memory.
#[derive(Debug)]
pub struct Packed {
    recipe: Recipe,
    skeleton: Skeleton,
    skeleton_object: Object,
    /// The object of each payload, with the bytes that payloads before it take in the file.
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    object: Object,
    held: u64,
}

/// A run of bytes of the file that is in one place.
#[derive(Clone, Copy, Debug)]
pub enum Run<'a> {
    /// Bytes around the payloads.
    Verbatim(&'a [u8], InObject<'a>),
    /// Bytes of a payload.
    Payload(InObject<'a>),
}

/// Bytes of the file that are in an object.
#[derive(Clone, Copy, Debug)]
pub struct InObject<'a> {
    pub object: &'a Object,
    /// The offset of the bytes in the object.
    pub at: u64,
    pub bytes: u64,
}

/// The bytes of a compressed object that are in memory at once.
const PIECE: usize = 1 << 20;

impl InObject<'_> {
    /// Calls `visit` with the bytes, from front to back.
    ///
    /// # Errors
    /// If the object cannot be read or is too short.
    pub fn for_each_piece(&self, visit: &mut dyn FnMut(&[u8])) -> Result<(), PackedError> {
        let fail = |error| self.object.failed(error);
        let mut reader = self.object.reader_at(self.at).map_err(fail)?;
        let mut left = self.bytes;
        let mut buffer = vec![0; PIECE.min(usize::try_from(left).unwrap_or(PIECE))];
        while left > 0 {
            let count = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            reader.read_exact(&mut buffer[..count]).map_err(fail)?;
            visit(&buffer[..count]);
            left -= count as u64;
        }
        Ok(())
    }
}

impl Packed {
    /// Opens the file that `id` is the recipe of. Recipe and skeleton are read and their digests checked; the objects
    /// of payloads are only known to exist.
    ///
    /// # Errors
    /// If a part is missing, damaged or contradicts another.
    pub fn open(places: &Places, id: ObjectId) -> Result<Self, PackedError> {
        let recipe = Self::recipe(places, id)?;
        let bytes = Object::content(places, recipe.skeleton, skeleton::LARGEST_SKELETON)?;
        let malformed = |what: String| PackedError::Skeleton { object: recipe.skeleton.to_string(), what };
        let skeleton = Skeleton::from_bytes(&bytes).map_err(|error| malformed(error.to_string()))?;
        recipe.agree(&skeleton).map_err(|what| malformed(what.to_owned()))?;
        let skeleton_object = Object::find(places, recipe.skeleton)?;

        let mut found: HashMap<ObjectId, Object> = HashMap::new();
        let mut held = 0;
        let mut parts = Vec::with_capacity(recipe.payloads.len());
        for payload in &recipe.payloads {
            let object = match found.get(&payload.object) {
                Some(object) => object.clone(),
                None => {
                    let object = Object::find(places, payload.object)?;
                    found.insert(payload.object, object.clone());
                    object
                }
            };
            // The content size of a compressed object is known only once it has been read.
            if !object.compressed && object.stored < payload.end() {
                let (bytes, needed) = (object.stored, payload.end());
                return Err(PackedError::Short { object: object.id.to_string(), bytes, needed });
            }
            parts.push(Part { object, held });
            held += payload.bytes.bytes();
        }
        Ok(Self { recipe, skeleton, skeleton_object, parts })
    }

    /// Reads the recipe `id`.
    ///
    /// # Errors
    /// If it is missing, damaged or malformed.
    pub fn recipe(places: &Places, id: ObjectId) -> Result<Recipe, PackedError> {
        let bytes = Object::content(places, id, recipe::LARGEST_RECIPE)?;
        Recipe::from_bytes(&bytes).map_err(|what| PackedError::Recipe { object: id.to_string(), what })
    }

    /// The size of the file.
    pub fn size(&self) -> u64 {
        self.recipe.bytes.bytes()
    }

    /// The recipe of the file.
    pub fn the_recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The payloads, each with its object, in the order of the file.
    pub fn payloads(&self) -> impl Iterator<Item = (&PayloadPlace, &Object)> {
        self.recipe.payloads.iter().zip(self.parts.iter().map(|part| &part.object))
    }

    /// The objects of the payloads, each once.
    pub fn objects(&self) -> Vec<Object> {
        let mut known = std::collections::HashSet::new();
        let objects = self.parts.iter().map(|part| &part.object);
        objects.filter(|object| known.insert(object.id)).cloned().collect()
    }

    /// The longest run of at most `bytes` bytes from `offset`, which is within the file.
    pub fn run(&self, offset: u64, bytes: u64) -> Run<'_> {
        let payloads = &self.recipe.payloads;
        let after = payloads.partition_point(|payload| payload.offset <= offset);
        if let Some(index) = after.checked_sub(1) {
            let payload = &payloads[index];
            let within = offset - payload.offset;
            if within < payload.bytes.bytes() {
                let (object, at) = (&self.parts[index].object, payload.at + within);
                return Run::Payload(InObject { object, at, bytes: bytes.min(payload.bytes.bytes() - within) });
            }
        }
        let (until, held) = match payloads.get(after) {
            Some(next) => (next.offset, self.parts[after].held),
            None => (self.size(), payloads.iter().map(|payload| payload.bytes.bytes()).sum()),
        };
        let start = offset - held;
        let bytes = bytes.min(until - offset);
        let verbatim = self.skeleton.verbatim();
        // The verbatim bytes end the object of the skeleton.
        let at = self.skeleton_object.stored - verbatim.len() as u64 + start;
        let in_object = InObject { object: &self.skeleton_object, at, bytes };
        Run::Verbatim(&verbatim[start as usize..(start + bytes) as usize], in_object)
    }

    /// The place of `bytes` bytes of the file, if they are in one place.
    pub fn place(&self, offset: u64, bytes: u64) -> Option<InObject<'_>> {
        let (Run::Verbatim(_, found) | Run::Payload(found)) = self.run(offset, bytes);
        (found.bytes == bytes).then_some(found)
    }

    /// Reads `bytes` bytes of the compressed object at `path`, from byte `at` of its content on.
    ///
    /// # Errors
    /// If the object cannot be read or is too short.
    pub fn decompressed(&self, path: &Path, at: u64, bytes: u64) -> Result<Vec<u8>, PackedError> {
        let object = self.parts.iter().map(|part| &part.object).find(|object| *object.path == *path);
        let object = object.expect("storages lie in the objects of payloads");
        // Memory grows with the bytes read, because the size is only what the recipe claims.
        let mut content = Vec::new();
        InObject { object, at, bytes }.for_each_piece(&mut |piece| content.extend_from_slice(piece))?;
        Ok(content)
    }

    /// Fills `buffer` with the bytes from `offset` on; the range is within the file.
    ///
    /// # Errors
    /// If an object cannot be read or is too short.
    pub fn read(&self, mut offset: u64, mut buffer: &mut [u8]) -> Result<(), PackedError> {
        while !buffer.is_empty() {
            let run = self.run(offset, buffer.len() as u64);
            let (part, rest) = match run {
                Run::Verbatim(bytes, _) => {
                    let (part, rest) = buffer.split_at_mut(bytes.len());
                    part.copy_from_slice(bytes);
                    (part, rest)
                }
                Run::Payload(InObject { object, at, bytes }) => {
                    let (part, rest) = buffer.split_at_mut(bytes as usize);
                    object
                        .reader_at(at)
                        .and_then(|mut reader| reader.read_exact(part))
                        .map_err(|e| object.failed(e))?;
                    (part, rest)
                }
            };
            offset += part.len() as u64;
            buffer = rest;
        }
        Ok(())
    }
}
