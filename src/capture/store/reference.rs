//! References: one line of text that connects the name of an entry to its recipe.

use super::object_id::ObjectId;

/// The first characters of a reference.
const PREFIX: &str = "plimsoll.recipe/1 ";

/// The size of a reference, in bytes.
pub const BYTES: u64 = PREFIX.len() as u64 + 64 + 1;

/// The text of the reference to `recipe`.
pub fn write(recipe: ObjectId) -> String {
    format!("{PREFIX}{recipe}\n")
}

/// Whether `bytes` begin as a reference does.
pub fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(PREFIX.as_bytes())
}

/// Reads the recipe that `bytes` refer to, or says what they are instead.
pub fn read(bytes: &[u8]) -> Result<ObjectId, String> {
    let text = String::from_utf8_lossy(bytes);
    let id = text.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix('\n')).and_then(|id| id.parse().ok());
    id.ok_or_else(|| text.chars().take(BYTES as usize + 1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_read_as_it_was_written_and_nothing_else_is() {
        let id = ObjectId::from(blake3::hash(b"recipe"));
        let text = write(id);
        assert_eq!(text.len() as u64, BYTES);
        assert_eq!(read(text.as_bytes()), Ok(id));
        for wrong in [&text[..BYTES as usize - 1], &text[1..], &format!("{text}\n"), "", &text.replace("/1", "/2")] {
            assert!(read(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }
}
