//! [`FolderError`]: the errors of folders.

/// A folder that is not a capture.
///
/// What to do: name the folder that holds the `entry_*.pt` of one operator, or one capture of a store, such as
/// `STORE/captures/NAME`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// The folder holds no entries.
    #[error("the folder holds no entry_*.pt ({others} other files)")]
    Empty {
        /// The number of other files.
        others: usize,
    },
    /// A store that holds several captures, or none.
    #[error("the store holds {} captures ({})", captures.len(), captures.join(", "))]
    SeveralCaptures {
        /// The names of the captures.
        captures: Vec<String>,
    },
    /// A folder whose entries call two functions.
    #[error("the entry calls {found:?}, but {first:?} calls {expected:?}")]
    OtherFunction {
        /// The function of the refused entry.
        found: Box<str>,
        /// The first entry of the folder.
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
