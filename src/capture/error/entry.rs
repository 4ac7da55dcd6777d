//! [`EntryError`]: the errors of entries and their binding.

/// A file that is not a capture entry, or a call that cannot be bound.
///
/// What to do: capture the call again, or take the file out of the folder; `plimsoll inspect FILE` shows what it holds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// The file holds something other than a dict.
    #[error("the file holds a {found}, and an entry is a dict")]
    NotADict {
        /// The kind of value that the file holds.
        found: &'static str,
    },
    /// A key is missing.
    #[error("the key {key:?} is missing")]
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// A key, or a parameter's name, appears twice.
    #[error("{what} {name:?} appears twice")]
    Duplicate {
        /// The role of the name: `the key`, `the keyword argument`, `the parameter`, `the default of`.
        what: &'static str,
        /// The name that appears twice.
        name: String,
    },
    /// A key's value is of the wrong kind.
    #[error("{key} should be a {expected}, but is a {found}")]
    WrongKind {
        /// The key.
        key: &'static str,
        /// The kind that it should be.
        expected: &'static str,
        /// The kind that it is.
        found: &'static str,
    },
    /// A name is longer than any real one.
    #[error("{key} has more than 1024 bytes, which is too long for the name of a function")]
    LongName {
        /// The key.
        key: &'static str,
    },
    /// A parameter is given both by position and by name.
    #[error("the parameter {param:?} is given both by position and by name")]
    BoundTwice {
        /// The parameter.
        param: String,
    },
    /// A parameter has no value while a later one has: the call cannot be laid out by position.
    #[error("the parameter {missing:?} has neither a value nor a default, but {later:?} after it has one")]
    Gap {
        /// The parameter without a value.
        missing: String,
        /// The first parameter after it that has a value.
        later: String,
    },
}

impl EntryError {
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::NotADict { .. } | Self::MissingKey { .. } | Self::WrongKind { .. } => {
                "give a file with function_name, args, kwargs, output and, if possible, signature"
            }
            Self::Duplicate { .. } | Self::LongName { .. } => "capture the call again",
            Self::BoundTwice { .. } | Self::Gap { .. } => "capture the call again with its signature",
        }
    }
}
