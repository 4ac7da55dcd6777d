//! The record `data.pkl`: a value as the pickler of Python 3 writes it in protocol 2, with torch's reductions.
//!
//! The pickler remembers every object it has written and refers to it when the same object comes again. An [`Argument`]
//! has no identity: equal texts are treated as one object, as literals of one function are, and everything else is
//! written anew.

mod encoder;
mod tensor;
mod values;

use encoder::Pickler;

use crate::{Argument, OutsideStorage};

/// A value pickled in protocol 2.
#[derive(Debug)]
pub(super) struct Pickled {
    /// The pickle.
    pub bytes: Vec<u8>,
    /// The index of the storage under each key: `data/0` holds storage `storages[0]`.
    pub storages: Vec<usize>,
}

/// Why a value cannot be pickled.
#[derive(Debug)]
pub(super) enum Refusal {
    Value { at: String, why: String },
    Outside { at: String, source: OutsideStorage },
    Unreferenced { storage: usize },
}

/// Pickles `root`, whose tensors refer to storages of these lengths in bytes.
pub(super) fn pickle(root: &Argument, storages: &[u64]) -> Result<Pickled, Refusal> {
    let mut pickler = Pickler::new(storages);
    pickler.value(root)?;
    pickler.out.push(b'.');
    match pickler.keys.iter().position(Option::is_none) {
        Some(storage) => Err(Refusal::Unreferenced { storage }),
        None => Ok(Pickled { bytes: pickler.out, storages: pickler.order }),
    }
}
