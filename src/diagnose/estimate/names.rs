//! Enums whose values have the names of the command line.

/// A text that is not a known name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a known {kind}: {known}")]
pub struct ParseNameError {
    kind: &'static str,
    pub(super) given: String,
    pub(super) known: String,
}

/// An enum whose values have the names of the command line, in JSON too.
macro_rules! named {
    ($(#[$meta:meta])* $type:ident, $kind:literal { $($(#[$value_meta:meta])* $value:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $type {
            $($(#[$value_meta])* #[serde(rename = $name)] $value,)+
        }

        impl $type {
            /// All values, in the order of the manual.
            pub const ALL: &[Self] = &[$(Self::$value,)+];

            /// The name, as on the command line.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$value => $name,)+ }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $type {
            type Err = ParseNameError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.iter().find(|value| value.name().eq_ignore_ascii_case(text.trim()));
                found.copied().ok_or_else(|| ParseNameError::new($kind, text, Self::ALL.iter().map(|value| value.name())))
            }
        }
    };
}
pub(super) use named;

impl ParseNameError {
    pub(crate) fn new(kind: &'static str, given: &str, known: impl Iterator<Item = &'static str>) -> Self {
        Self { kind, given: given.to_owned(), known: known.collect::<Vec<_>>().join(", ") }
    }
}
