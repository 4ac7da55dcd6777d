//! [`PickleErrorKind`]: the errors of a pickle.

/// A pickle that is malformed or refused.
///
/// What to do: save the file again with `torch.save`, using only tensors and plain values; do not trust a file that
/// asks for imports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PickleErrorKind {
    /// The pickle ends before its STOP.
    #[error("the pickle ends within an opcode")]
    Truncated,
    /// The opcode does not exist.
    #[error("opcode 0x{0:02x} is unknown")]
    UnknownOpcode(u8),
    /// The opcode refers to something outside the file, which torch never writes.
    #[error("opcode {0} refers to something outside the file")]
    OutOfBand(&'static str),
    /// The pickle's protocol is above 5.
    #[error("protocol {0} is not supported")]
    Protocol(u8),
    /// An operand is not a number, not text, or too long for the pickle.
    #[error("the operand is not a valid {0}")]
    Operand(&'static str),
    /// An opcode takes more from the stack than it holds.
    #[error("the stack is empty")]
    StackUnderflow,
    /// An opcode needs a mark, and the stack has none.
    #[error("there is no mark on the stack")]
    NoMark,
    /// An opcode reads a memo index under which nothing was stored.
    #[error("nothing is stored under memo index {0}")]
    MemoMissing(u32),
    /// An opcode is applied to a value of the wrong kind.
    #[error("{opcode} needs {needed}")]
    WrongKind {
        /// The opcode.
        opcode: &'static str,
        /// The kind of value that it needs.
        needed: &'static str,
    },
    /// The pickle would import something that runs code or touches the system.
    #[error("the pickle would import `{0}`, which can run code: nothing was imported")]
    Forbidden(String),
    /// The values take more memory than any reasonable file needs.
    #[error("the values take more than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
}

impl PickleErrorKind {
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::Truncated => "copy or capture the file again",
            Self::Forbidden(_) => "do not load this file with torch.load either, unless you wrote it",
            Self::TooLarge { .. } => "capture tensors, not large Python containers",
            _ => "save the file again with torch.save",
        }
    }
}
