//! [`FolderError`]: the errors of folders.

/// A folder that is no capture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// There is no entry in it.
    #[error("the folder holds no entry_*.pt ({others} other files)")]
    Empty {
        /// The number of other files.
        others: usize,
    },
    /// A store of several captures, or of none.
    #[error("the store holds {} captures ({})", captures.len(), captures.join(", "))]
    SeveralCaptures {
        /// Their names.
        captures: Vec<String>,
    },
    /// Entries of two functions.
    #[error("it calls {found:?} while {first:?} calls {expected:?}")]
    OtherFunction {
        /// The function of this entry.
        found: Box<str>,
        /// The first entry.
        first: Box<str>,
        /// The function of the first entry.
        expected: Box<str>,
    },
}

impl FolderError {
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::Empty { .. } => "give the folder that the entries were captured into",
            Self::SeveralCaptures { .. } => "give one of them: STORE/captures/NAME",
            Self::OtherFunction { .. } => "keep the entries of each operator in a folder of their own",
        }
    }
}
