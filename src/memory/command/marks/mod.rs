//! Marks: how a command that runs under the meter says that a phase begins.
//!
//! Three ways, beside each other:
//! - [`MarkSocket`]: a datagram to the socket that [`MARKS`] names, from any process of the tree; it is answered once the
//!   phase has begun, so that what the sender does next is in it ([`mark`], the command `plimsoll mark NAME`).
//! - [`MarkPipe`]: lines in a descriptor that the command inherits.
//! - [`PhaseLines`]: lines of its output that match an expression.
//!
//! A name is at most [`MAX_NAME`] bytes of text. A run has at most [`MAX_PHASES`] phases; what would be more goes on in
//! the last.

#[cfg(feature = "phase-lines")]
mod lines;
mod pipe;
mod socket;

#[cfg(feature = "phase-lines")]
pub use lines::PhaseLines;
pub use pipe::MarkPipe;
pub use socket::{MARKS, MarkError, MarkSocket, mark};

/// A name is no longer than so many bytes.
pub const MAX_NAME: usize = 200;

/// A run has no more phases than this.
pub const MAX_PHASES: usize = 256;

/// A name as it was given, as text that has no control characters and is not too long; `None` if nothing is left.
fn name(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut name: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut end = name.len().min(MAX_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.truncate(end);
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_name_is_short_clean_text(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Some(name) = name(&bytes) {
                prop_assert!(!name.is_empty() && name.len() <= MAX_NAME && !name.contains(char::is_control));
                prop_assert_eq!(name.trim(), &name);
            }
        }
    }

    #[test]
    fn a_name_keeps_its_words() {
        assert_eq!(name(b" load the\tdata\n").as_deref(), Some("load the data"));
        assert_eq!(name(b" \n"), None);
    }
}
