//! [`Merged`]: the merged record before it is written.

use std::io::{self, Write};

use serde::Serialize;

use super::error::MergeError;
use super::spill::{Kept, Spill};
use crate::record::json;
use crate::record::{
    EntryResult, EntrySemantics, MAX_RECORD, Pairs, Part, Record, RecordFile, Semantics, Speedup, Tensors,
};
use plimsoll_capture::Digest;
use plimsoll_memory::bytes::ByteSize;

/// The placeholder for a list's elements until they are written; not a possible file or program name.
const HOLE: &str = "\u{1}merged";

/// A merged record whose entries and parts are still in a file.
pub struct Merged {
    head: Record,
    spill: Spill,
    entries: Vec<Kept<4>>,
    parts: Vec<Kept<1>>,
}

impl Merged {
    pub(super) fn new(head: Record, spill: Spill, entries: Vec<Kept<4>>, parts: Vec<Kept<1>>) -> Self {
        Self { head, spill, entries, parts }
    }

    /// The record without entries and parts.
    pub fn head(&self) -> &Record {
        &self.head
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the record has no entries, as for a command.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The parts, one after the other.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = io::Result<Part>> + '_ {
        self.parts.iter().map(|kept| self.spill.take(*kept, 0))
    }

    /// The whole record, in memory.
    ///
    /// # Errors
    /// [`MergeError::Spill`].
    pub fn record(self) -> Result<Record, MergeError> {
        let Self { mut head, spill, entries, parts } = self;
        for (index, kept) in entries.into_iter().enumerate() {
            if let Semantics::Capture(semantics) = &mut head.semantics {
                semantics.entries.push(spill.take(kept, 0)?);
            }
            head.results.entries.push(EntryResult { index, ..spill.take(kept, 1)? });
            if let Some(versus) = &mut head.results.versus {
                versus.entries.push(EntryResult { index, ..spill.take(kept, 2)? });
                versus.pairs.push(spill.take(kept, 3)?);
            }
        }
        head.parts = parts.into_iter().map(|kept| spill.take(kept, 0)).collect::<io::Result<_>>()?;
        Ok(head)
    }

    /// Writes the record, one entry and one part at a time.
    ///
    /// # Errors
    /// As for [`RecordFile::commit`]; [`MergeError::TooLarge`] if no command could read it.
    pub fn commit(self, file: RecordFile) -> Result<(), MergeError> {
        let (text, mut holes) = self.outline()?;
        holes.sort_by_key(|hole| hole.at);
        let mut written = 0;
        let committed = file.commit_with(ByteSize::new(self.spill.bytes()), |writer| {
            let mut out = Bounded { writer, written: &mut written };
            let mut at = 0;
            for hole in &holes {
                out.write_all(&text[at..hole.at])?;
                (hole.fill)(&self, &mut out)?;
                at = hole.at + hole.bytes;
            }
            out.write_all(&text[at..])
        });
        match committed {
            Err(_) if written > MAX_RECORD.bytes() => {
                Err(MergeError::TooLarge { bytes: ByteSize::new(written), limit: MAX_RECORD })
            }
            committed => Ok(committed?),
        }
    }

    /// The record's text with one placeholder in each of its long lists, and the positions of these.
    fn outline(&self) -> Result<(Vec<u8>, Vec<Hole>), MergeError> {
        let mut outline = self.head.clone();
        let mut marks: Vec<(Vec<u8>, Fill)> = Vec::new();
        if let Semantics::Capture(semantics) = &mut outline.semantics
            && !self.entries.is_empty()
        {
            let (name, tensors) = (HOLE.to_owned(), Tensors::default());
            let entry =
                EntrySemantics { name, bytes: ByteSize::ZERO, digest: String::new(), covers: Digest::Full, tensors };
            marks.push((json::within(2, &entry), |merged, out| merged.each::<EntrySemantics>(out, 2, 0, |_, _| {})));
            semantics.entries.push(entry);
            let result = EntryResult { index: 0, name: HOLE.to_owned(), validation: None, profile: None };
            marks.push((json::within(2, &result), |merged, out| {
                merged.each(out, 2, 1, |result: &mut EntryResult, index| result.index = index)
            }));
            outline.results.entries.push(result.clone());
            if let Some(versus) = &mut outline.results.versus {
                marks.push((json::within(3, &result), |merged, out| {
                    merged.each(out, 3, 2, |result: &mut EntryResult, index| result.index = index)
                }));
                versus.entries.push(result);
                let speedup = Speedup { ratio: 1.0, interval: None, pairs: 0, method: HOLE.to_owned() };
                let pairs = Pairs { times_ns: Vec::new(), speedup: Some(speedup) };
                marks.push((json::within(3, &pairs), |merged, out| merged.each::<Pairs>(out, 3, 3, |_, _| {})));
                versus.pairs.push(pairs);
            }
        }
        if let Some(first) = self.parts().next() {
            let part = Part { plimsoll: HOLE.to_owned(), ..first? };
            marks.push((json::within(1, &part), |merged, out| {
                for (index, part) in merged.parts().enumerate() {
                    out.write_all(if index > 0 { b", " } else { b"" })?;
                    out.write_all(&json::within(1, &part?))?;
                }
                Ok(())
            }));
            outline.parts.push(part);
        }
        let mut text = Vec::new();
        json::write(&mut text, &outline)?;
        let place = |mark: &[u8]| text.windows(mark.len()).position(|window| window == mark);
        let found =
            marks.into_iter().filter_map(|(mark, fill)| Some(Hole { at: place(&mark)?, bytes: mark.len(), fill }));
        let holes = found.collect();
        Ok((text, holes))
    }

    /// Writes the values `of` all entries, indented for this many enclosing objects.
    fn each<T: Serialize + serde::de::DeserializeOwned>(
        &self,
        out: &mut dyn Write,
        depth: usize,
        of: usize,
        change: impl Fn(&mut T, usize),
    ) -> io::Result<()> {
        for (index, kept) in self.entries.iter().enumerate() {
            let mut value: T = self.spill.take(*kept, of)?;
            change(&mut value, index);
            out.write_all(if index > 0 { b", " } else { b"" })?;
            out.write_all(&json::within(depth, &value))?;
        }
        Ok(())
    }
}

type Fill = fn(&Merged, &mut dyn Write) -> io::Result<()>;

/// A list whose elements are still to be written.
struct Hole {
    at: usize,
    bytes: usize,
    fill: Fill,
}

/// A writer that stops at the largest size of a record.
struct Bounded<'a> {
    writer: &'a mut dyn Write,
    written: &'a mut u64,
}

impl Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self.written += bytes.len() as u64;
        if *self.written > MAX_RECORD.bytes() {
            return Err(io::Error::other("too large"));
        }
        self.writer.write_all(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
