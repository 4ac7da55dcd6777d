//! Marks: how a command under the meter announces a new phase.
//!
//! Three ways can be combined:
//! - [`MarkSocket`]: a datagram to the socket that [`MARKS`] names, from any process of the tree. It is answered once
//!   the phase has begun, so that what the sender does next belongs to it ([`mark`], the command `plimsoll mark NAME`).
//! - [`MarkPipe`]: lines in a descriptor that the command inherits.
//! - [`PhaseLines`]: output lines that match an expression.
//!
//! A name has at most [`MAX_NAME`] bytes of text. A run has at most [`MAX_PHASES`] phases; the last one includes
//! everything after it.

#[cfg(feature = "phase-lines")]
mod lines;
mod pipe;
mod socket;

#[cfg(feature = "phase-lines")]
pub use lines::PhaseLines;
pub use pipe::MarkPipe;
pub use socket::{MARKS, MarkError, MarkSocket, mark};

/// The maximum length of a name in bytes.
pub const MAX_NAME: usize = 200;

/// The maximum number of phases in a run.
pub const MAX_PHASES: usize = 256;

/// Turns a given name into text without control characters and of limited length; `None` if nothing is left.
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
