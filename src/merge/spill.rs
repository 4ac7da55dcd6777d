//! [`Spill`]: a file for values that wait to be put in order.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::record::json;

/// Values in a file without a name.
pub(super) struct Spill {
    file: BufWriter<File>,
    end: u64,
}

/// The place of `N` consecutive values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept<const N: usize> {
    at: u64,
    bytes: [u32; N],
}

impl Spill {
    /// A file in `folder`.
    pub fn new(folder: &Path) -> io::Result<Self> {
        Ok(Self { file: BufWriter::with_capacity(1 << 16, tempfile::tempfile_in(folder)?), end: 0 })
    }

    /// The size of the waiting values in bytes.
    pub fn bytes(&self) -> u64 {
        self.end
    }

    pub fn put<const N: usize>(&mut self, values: [&dyn Written; N]) -> io::Result<Kept<N>> {
        let mut kept = Kept { at: self.end, bytes: [0; N] };
        for (bytes, value) in kept.bytes.iter_mut().zip(values) {
            let text = value.text();
            *bytes =
                u32::try_from(text.len()).map_err(|_| io::Error::other("a part of a record has more than 4 GiB"))?;
            self.file.write_all(&text)?;
            self.end += text.len() as u64;
        }
        Ok(kept)
    }

    /// Ends writing; values can be read from then on.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// The value `of` those that are kept together.
    pub fn take<T: DeserializeOwned, const N: usize>(&self, kept: Kept<N>, of: usize) -> io::Result<T> {
        let before: u64 = kept.bytes[..of].iter().map(|&bytes| u64::from(bytes)).sum();
        let mut text = vec![0; kept.bytes[of] as usize];
        self.file.get_ref().read_exact_at(&mut text, kept.at + before)?;
        Ok(serde_json::from_slice(&text)?)
    }
}

/// A value that can wait.
pub(super) trait Written {
    fn text(&self) -> Vec<u8>;
}

impl<T: Serialize> Written for T {
    fn text(&self) -> Vec<u8> {
        json::line(self)
    }
}
