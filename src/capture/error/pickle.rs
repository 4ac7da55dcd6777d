//! [`PickleErrorKind`]: the errors of the pickle.

/// A pickle that is malformed or refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PickleErrorKind {
    /// The pickle ends before its STOP.
    #[error("the pickle ends within an opcode")]
    Truncated,
    /// No such opcode.
    #[error("opcode 0x{0:02x} is unknown")]
    UnknownOpcode(u8),
    /// An opcode that torch never writes, and whose meaning lies outside the file.
    #[error("opcode {0} refers to something outside the file")]
    OutOfBand(&'static str),
    /// A protocol above 5.
    #[error("protocol {0} is not supported")]
    Protocol(u8),
    /// An operand is no number, no text, or too long for the pickle.
    #[error("the operand is no {0}")]
    Operand(&'static str),
    /// An opcode takes more from the stack than is there.
    #[error("the stack is empty")]
    StackUnderflow,
    /// An opcode needs a mark and there is none.
    #[error("there is no mark on the stack")]
    NoMark,
    /// A memo index that was never stored.
    #[error("nothing is stored under memo index {0}")]
    MemoMissing(u32),
    /// An opcode is applied to a value of the wrong kind.
    #[error("{opcode} needs {needed}")]
    WrongKind {
        /// The opcode.
        opcode: &'static str,
        /// What it needs.
        needed: &'static str,
    },
    /// The pickle would import something that runs code or touches the system.
    #[error("it would import `{0}`, which can run code: nothing was imported")]
    Forbidden(String),
    /// The values take more memory than any reasonable file needs.
    #[error("its values take more than {limit} bytes")]
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
