//! [`EntryError`]: the errors of entries and their binding.

/// A file that is no capture entry, or a call that cannot be bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// The file holds something else than a dict.
    #[error("an entry is a dict, and this file holds a {found}")]
    NotADict {
        /// What it holds.
        found: &'static str,
    },
    /// A key is missing.
    #[error("the key {key:?} is missing")]
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// A key, or a parameter's name, is there twice.
    #[error("{what} {name:?} is there twice")]
    Duplicate {
        /// What it is: `the key`, `the keyword argument`, `the parameter`, `the default of`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The value of a key is of another kind.
    #[error("{key} should be a {expected} and is a {found}")]
    WrongKind {
        /// The key.
        key: &'static str,
        /// What it should be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// A name is longer than any.
    #[error("{key} is a text of more than 1024 bytes, and names a function")]
    LongName {
        /// The key.
        key: &'static str,
    },
    /// A parameter is given both by position and by name.
    #[error("the parameter {param:?} is given by position and by name")]
    BoundTwice {
        /// The parameter.
        param: String,
    },
    /// A parameter has no value while a later one has: the call cannot be laid out by position.
    #[error("the parameter {missing:?} has neither value nor default, and {later:?} behind it has one")]
    Gap {
        /// The parameter without a value.
        missing: String,
        /// The first parameter behind it that has one.
        later: String,
    },
}

impl EntryError {
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::NotADict { .. } | Self::MissingKey { .. } | Self::WrongKind { .. } => {
                "an entry has function_name, args, kwargs, output and mostly signature"
            }
            Self::Duplicate { .. } | Self::LongName { .. } => "capture the call again",
            Self::BoundTwice { .. } | Self::Gap { .. } => "capture the call again with its signature",
        }
    }
}
