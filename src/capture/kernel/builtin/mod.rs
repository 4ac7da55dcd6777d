//! Kernels that are a part of Plimsoll.

mod embedding;
mod renorm;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::launch::Kernel;
pub use embedding::{Embedding, looked_up, table};

/// The kernel of `builtin:embedding`, for a validation that runs in this process.
pub const fn embedding() -> Embedding {
    Embedding
}

/// The built-in kernels, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Builtin {
    /// `torch.nn.functional.embedding`, forward.
    Embedding,
}

impl Builtin {
    /// Every built-in kernel.
    pub const ALL: &'static [Self] = &[Self::Embedding];

    /// The name, as in `builtin:embedding`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Embedding => "embedding",
        }
    }

    /// The kernel with that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|b| b.name() == name)
    }

    /// The names of all built-in kernels, for messages.
    pub(super) fn names() -> String {
        Self::ALL.iter().map(|b| b.name()).collect::<Vec<_>>().join(", ")
    }

    /// The kernel.
    pub fn kernel(self) -> Box<dyn Kernel> {
        match self {
            Self::Embedding => Box::new(Embedding),
        }
    }
}

impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
