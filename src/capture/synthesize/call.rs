//! [`Call`]: one captured call of `torch.nn.functional.embedding`.

use std::io;
use std::path::Path;

use super::content::{Stream, Table};
use crate::write::{EntryValue, Options, Source, WriteError, entry_size, write_entry};
use crate::{Argument, Dtype, Layout, Signature, TensorRef};
use plimsoll_memory::ByteSize;

/// The first stream of index tensors; the streams of tables come before it.
const FIRST_INDEX_STREAM: u64 = 1 << 32;

/// One call: the rows that are looked up, and the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub seed: u64,
    /// The number of the table in the capture, which determines its content.
    pub table: u64,
    /// The number of the call in the capture, which determines its indices. Calls on several tables share them.
    pub number: u64,
    pub dtype: Dtype,
    pub vocab: u64,
    pub dim: u64,
    pub seq: u64,
}

impl Call {
    /// The bytes of the indices, the table and the output; `None` if one exceeds 2^63 - 1.
    fn lengths(&self) -> Option<[ByteSize; 3]> {
        let bytes = |layout: &Layout| layout.logical_bytes().filter(|&b| i64::try_from(b).is_ok()).map(ByteSize::new);
        let [indices, table, output] = self.layouts();
        Some([bytes(&indices)?, bytes(&table)?, bytes(&output)?])
    }

    fn layouts(&self) -> [Layout; 3] {
        [
            Layout::contiguous(Dtype::I64, &[1, self.seq]),
            Layout::contiguous(self.dtype, &[self.vocab, self.dim]),
            Layout::contiguous(self.dtype, &[1, self.seq, self.dim]),
        ]
    }

    /// The entry as a profiling hook that knows the signature writes it.
    fn value(&self) -> EntryValue {
        let [input, weight, output] = self.layouts();
        let tensor = |layout, storage| Argument::Tensor(TensorRef { layout, storage });
        let defaults = [
            ("padding_idx", Argument::None),
            ("max_norm", Argument::None),
            ("norm_type", Argument::Float(2.0)),
            ("scale_grad_by_freq", Argument::Bool(false)),
            ("sparse", Argument::Bool(false)),
        ]
        .map(|(name, value)| (name.to_owned(), value));
        let mut kwargs = vec![("input".to_owned(), tensor(input, 0)), ("weight".to_owned(), tensor(weight, 1))];
        kwargs.extend(defaults.clone());
        EntryValue {
            function_name: "torch.nn.functional.embedding".to_owned(),
            args: Vec::new(),
            output: tensor(output, 2),
            signature: Some(Signature {
                params: kwargs.iter().map(|(name, _)| name.clone()).collect(),
                defaults: defaults.to_vec(),
            }),
            kwargs,
        }
    }

    /// The exact size of the file; `None` if a tensor is larger than any file.
    pub fn file_size(&self, file_name: &str) -> Option<ByteSize> {
        entry_size(Path::new(file_name), &self.value(), &self.lengths()?).ok()
    }

    /// Writes the entry to `path`.
    pub fn write(&self, path: &Path, options: &Options<'_>) -> Result<ByteSize, WriteError> {
        let table = Table::new(Stream::new(self.seed, self.table), self.dtype);
        let rows = Stream::new(self.seed, FIRST_INDEX_STREAM + self.number);
        let row_bytes = self.dim * self.dtype.size();
        let indices = |offset: u64, into: &mut [u8]| -> io::Result<()> {
            pieces(offset, into, 8, |i, skip, piece| {
                let index = rows.index(i, self.vocab).to_le_bytes();
                piece.copy_from_slice(&index[skip as usize..][..piece.len()]);
            });
            Ok(())
        };
        let weight = |offset: u64, into: &mut [u8]| -> io::Result<()> {
            table.fill(offset, into);
            Ok(())
        };
        let output = |offset: u64, into: &mut [u8]| -> io::Result<()> {
            pieces(offset, into, row_bytes, |i, skip, piece| {
                table.fill(rows.index(i, self.vocab) * row_bytes + skip, piece);
            });
            Ok(())
        };
        let [bytes_indices, bytes_table, bytes_output] = self.lengths().expect("the plan knows the file's size");
        let sources = [
            Source::Fill { bytes: bytes_indices, fill: &indices },
            Source::Fill { bytes: bytes_table, fill: &weight },
            Source::Fill { bytes: bytes_output, fill: &output },
        ];
        write_entry(path, &self.value(), &sources, options)
    }
}

/// Cuts a range of bytes at the multiples of `unit` and calls `fill` for every piece with the number of its unit and the
/// bytes of the unit before it.
fn pieces(offset: u64, into: &mut [u8], unit: u64, mut fill: impl FnMut(u64, u64, &mut [u8])) {
    let (mut at, mut rest) = (offset, into);
    while !rest.is_empty() {
        let skip = at % unit;
        let length = (unit - skip).min(rest.len() as u64);
        let (piece, behind) = rest.split_at_mut(length as usize);
        fill(at / unit, skip, piece);
        (at, rest) = (at + length, behind);
    }
}
