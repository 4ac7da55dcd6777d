//! [`Recipe`]: a description of how a file is put together from objects.

use serde::{Deserialize, Serialize};

use super::super::skeleton::Skeleton;
use super::object_id::ObjectId;
use plimsoll_memory::bytes::ByteSize;

/// The name and version of the format.
const NAME: &str = "plimsoll.recipe/1";

/// The largest recipe, in bytes.
pub const LARGEST_RECIPE: u64 = 64 << 20;

/// A description of how a file is put together; see `docs/store-format.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    format: String,
    /// The size of the file.
    pub bytes: ByteSize,
    /// The digest of the file.
    pub blake3: ObjectId,
    /// The modification time of the file.
    pub modified: Modified,
    /// The object with everything of the file except its payloads.
    pub skeleton: ObjectId,
    /// The payloads, in the order of the file.
    pub payloads: Vec<PayloadPlace>,
}

/// A modification time: seconds since 1970, and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modified(pub i64, pub u32);

/// The place of a payload's bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PayloadPlace {
    /// The name of the storage in the file.
    pub key: String,
    /// The offset of the payload in the file.
    pub offset: u64,
    /// The bytes that the payload takes in the file.
    pub bytes: ByteSize,
    /// The object that holds the payload.
    pub object: ObjectId,
    /// The offset of the payload in that object.
    pub at: u64,
}

impl PayloadPlace {
    /// The offset in the object at which the payload ends.
    pub fn end(&self) -> u64 {
        // The sum was checked when the recipe was read.
        self.at + self.bytes.bytes()
    }
}

impl Recipe {
    /// The recipe of the file of `skeleton`, whose payloads are at `places`, pairs of object and offset in the same
    /// order.
    pub fn new(skeleton: &Skeleton, id: ObjectId, modified: Modified, places: &[(ObjectId, u64)]) -> Self {
        let payloads = skeleton.payloads().iter().zip(places).map(|(payload, &(object, at))| PayloadPlace {
            key: payload.key.clone(),
            offset: payload.offset,
            bytes: payload.bytes,
            object,
            at,
        });
        Self {
            format: NAME.to_owned(),
            bytes: skeleton.file_size(),
            blake3: skeleton.file_digest().parse().expect("a skeleton has a digest"),
            modified,
            skeleton: id,
            payloads: payloads.collect(),
        }
    }

    /// The recipe as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("a recipe has no maps with keys other than texts");
        bytes.push(b'\n');
        bytes
    }

    /// Reads the bytes that [`Recipe::to_bytes`] wrote, or says what is wrong with them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() as u64 > LARGEST_RECIPE {
            return Err(format!("it has {} bytes, more than the {LARGEST_RECIPE} allowed", bytes.len()));
        }
        let recipe: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        recipe.check().map_err(str::to_owned)?;
        Ok(recipe)
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.format != NAME {
            return Err("its format is not plimsoll.recipe/1");
        }
        if self.modified.1 >= 1_000_000_000 {
            return Err("its modification time has a second or more of nanoseconds");
        }
        let within = |end: Option<u64>| end.filter(|&end| end <= i64::MAX as u64);
        let size = within(Some(self.bytes.bytes())).ok_or("the file is larger than any file can be")?;
        let mut at = 0;
        for payload in &self.payloads {
            if payload.bytes == ByteSize::ZERO {
                return Err("a payload is empty");
            }
            if payload.offset < at {
                return Err("its payloads overlap or are out of order");
            }
            let end = |start: u64| within(start.checked_add(payload.bytes.bytes()));
            at = end(payload.offset).ok_or("a payload reaches beyond 2^63 bytes")?;
            end(payload.at).ok_or("a payload reaches beyond 2^63 bytes of its object")?;
        }
        if at > size { Err("a payload reaches beyond the file") } else { Ok(()) }
    }

    /// Refuses a skeleton that belongs to another file.
    pub fn agree(&self, skeleton: &Skeleton) -> Result<(), &'static str> {
        let payloads = skeleton.payloads();
        let same = self.payloads.len() == payloads.len()
            && self
                .payloads
                .iter()
                .zip(payloads)
                .all(|(a, b)| a.key == b.key && a.offset == b.offset && a.bytes == b.bytes);
        if !same {
            return Err("its payloads differ from those of the recipe");
        }
        if self.bytes != skeleton.file_size() || self.blake3.to_string() != skeleton.file_digest() {
            return Err("it is the skeleton of another file");
        }
        Ok(())
    }

    /// Every object that the file is made of.
    pub fn objects(&self) -> impl Iterator<Item = ObjectId> + '_ {
        std::iter::once(self.skeleton).chain(self.payloads.iter().map(|payload| payload.object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> Recipe {
        let id = |text: &[u8]| ObjectId::from(blake3::hash(text));
        let payload = |key: &str, offset, bytes, at| PayloadPlace {
            key: key.to_owned(),
            offset,
            bytes: ByteSize::new(bytes),
            object: id(b"object"),
            at,
        };
        Recipe {
            format: NAME.to_owned(),
            bytes: ByteSize::new(100),
            blake3: id(b"file"),
            modified: Modified(-5, 999_999_999),
            skeleton: id(b"skeleton"),
            payloads: vec![payload("0", 10, 20, 0), payload("1", 30, 40, 64)],
        }
    }

    #[test]
    fn a_recipe_is_read_as_it_was_written() {
        assert_eq!(Recipe::from_bytes(&sample().to_bytes()), Ok(sample()));
    }

    #[test]
    fn a_recipe_that_contradicts_itself_is_refused() {
        let text = String::from_utf8(sample().to_bytes()).unwrap();
        for (from, to, what) in [
            ("recipe/1", "recipe/2", "format"),
            ("\"bytes\":100", "\"bytes\":69", "beyond the file"),
            ("\"bytes\":100", "\"bytes\":9223372036854775808", "larger than any file"),
            ("999999999]", "1000000000]", "nanoseconds"),
            ("\"bytes\":20", "\"bytes\":0", "empty"),
            ("\"bytes\":20", "\"bytes\":21", "overlap"),
            ("\"bytes\":40", "\"bytes\":9223372036854775800", "2^63"),
            ("\"at\":64", "\"at\":9223372036854775800", "2^63 bytes of its object"),
            ("\"at\":64", "\"at\":64,\"at\":65", "duplicate"),
            ("\"at\":64", "\"at\":64,\"path\":\"../x\"", "unknown field"),
            ("\"at\":64", "\"at\":-1", "invalid value"),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            let error = Recipe::from_bytes(changed.as_bytes()).unwrap_err();
            assert!(error.contains(what), "{error} and not {what}");
        }
        let digest = blake3::hash(b"skeleton").to_hex().to_string();
        let error = Recipe::from_bytes(text.replace(&digest, "../../../etc/passwd").as_bytes()).unwrap_err();
        assert!(error.contains("is not a digest"), "{error}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_recipe_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
            let _ = Recipe::from_bytes(&bytes);
            let mut real = sample().to_bytes();
            for (index, flip) in flips {
                let at = index.index(real.len());
                real[at] ^= flip;
            }
            if let Ok(recipe) = Recipe::from_bytes(&real) {
                prop_assert!(recipe.payloads.iter().all(|p| p.end() <= i64::MAX as u64 && p.offset + p.bytes.bytes() <= recipe.bytes.bytes()));
            }
        }
    }
}
