//! Synthetic captures: entries of `torch.nn.functional.embedding` in the true shapes of real models, of any size, without
//! a model.
//!
//! A [`Preset`] says which tables are looked up how often; [`Preset::plan`] turns it into a [`Plan`], pure data that
//! knows every file's name and exact size; [`Plan::write`] writes it, in parallel and in constant memory. Element
//! values depend only on the seed, the table and the element's position, so a capture is equal, byte for byte, on every
//! machine and with any number of threads, and a call's output is computed from its indices without reading the table.
//!
//! An [`OperatorCall`] is a call of any other operator, whose outputs a kernel computes.
//!
//! ```
//! use plimsoll_capture::synthesize;
//!
//! let parent = tempfile::tempdir()?;
//! let plan = synthesize::gemma4_e2b_gb10().scale(1, 1536).entries(2).seed(7).plan()?;
//! assert_eq!(plan.entries()[0].file_name(), "entry_000000.pt");
//! plan.write(&parent.path().join("capture"), &synthesize::Options::default())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod call;
mod content;
mod error;
mod examples;
mod operator;
mod plan;
mod planned;
mod preset;
mod staging;
mod stream;

pub use crate::write::Options;
pub use error::SynthesizeError;
pub use operator::{Compute, Computed, ComputedValue, OperatorCall, ParseArgumentError};
pub use plan::Plan;
pub use planned::PlannedEntry;
pub use preset::{Preset, TableShape, embedding, gemma4_e2b_gb10};
pub use stream::EntryStream;

#[cfg(test)]
mod tests;
