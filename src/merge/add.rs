//! [`Merge`]: adds records one by one.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::error::MergeError;
use super::known::Known;
use super::semantics::{Differs, join};
use super::spill::{Kept, Spill};
use crate::record::{
    CaptureSemantics, CommandSemantics, EntryResult, EntrySemantics, Part, ProfileStatus, Record, RunState, Semantics,
    SharedCapture, ValidationStatus,
};
use plimsoll_memory::bytes::ByteSize;

/// Records of shards or ranks that are merged into one.
pub struct Merge {
    pub(super) spill: Spill,
    pub(super) whole: Option<Whole>,
    /// The entries by their places in the capture.
    pub(super) entries: BTreeMap<usize, Entry>,
    /// The parts, in the order of the record.
    pub(super) parts: BTreeMap<Order, (Kept<1>, u32)>,
    /// The records that were added.
    names: Vec<String>,
    pub(super) known: Known,
}

/// The position of a part: by its shard or rank, then by its first entry, then by its start.
pub(super) type Order = (u32, Option<usize>, String);

/// What the records describe.
pub(super) enum Whole {
    /// A capture.
    Capture { semantics: Box<CaptureSemantics>, capture: SharedCapture, launched: bool },
    /// A command, of which every record is one rank.
    Command { semantics: CommandSemantics, ranks: u32 },
}

/// A waiting entry: its semantics and result; with another kernel also that kernel's result and the pairs of both.
pub(super) struct Entry {
    pub kept: Kept<4>,
    /// The entry's bytes in the capture.
    pub bytes: ByteSize,
    /// The record of the entry.
    record: u32,
}

impl Merge {
    /// A merge without records, whose temporary file lies in `folder`.
    ///
    /// # Errors
    /// No file can be made there.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let spill = Spill::new(folder)?;
        let (entries, parts, names) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Ok(Self { spill, whole: None, entries, parts, names, known: Known::default() })
    }

    /// Adds `record`, which errors call `name`. If its run did not finish, entries without a result count as missing.
    ///
    /// # Errors
    /// [`MergeError`] if it is not a record of a shard or rank, or not of the same run as those before it.
    pub fn add(&mut self, name: &str, record: Record) -> Result<(), MergeError> {
        // A merged record has no entries without a result, except those that its parts ended without.
        let ended = record.state == RunState::Complete || !record.parts.is_empty();
        self.add_if(name, record, |semantics, result| ended || is_done(semantics, result))
    }

    /// Adds the entries of `record` that match `wanted`; the others count as missing.
    ///
    /// # Errors
    /// As [`Merge::add`].
    pub fn add_if(
        &mut self,
        name: &str,
        record: Record,
        wanted: impl Fn(&CaptureSemantics, &EntryResult) -> bool,
    ) -> Result<(), MergeError> {
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        match &record.semantics {
            Semantics::Capture(_) => self.add_shard(name, record, number, &wanted),
            Semantics::Command(_) => self.add_rank(name, record, number),
            Semantics::Test(_) => Err(MergeError::NoPart { name: name.to_owned(), what: "a test" }),
        }
    }

    fn add_shard(
        &mut self,
        name: &str,
        mut record: Record,
        number: u32,
        wanted: &dyn Fn(&CaptureSemantics, &EntryResult) -> bool,
    ) -> Result<(), MergeError> {
        let Some(capture) = record.shards().next().map(|shard| shard.capture.clone()) else {
            return Err(MergeError::NoPart { name: name.to_owned(), what: "a whole capture" });
        };
        let different = |own: &Self, what, before, after| MergeError::Different {
            one: own.names[0].clone(),
            other: name.to_owned(),
            what,
            before,
            after,
        };
        let Semantics::Capture(semantics) = &record.semantics else { unreachable!("it was looked at") };
        let mut others = semantics.without_entries();
        let empty = semantics.entries.is_empty();
        match &mut self.whole {
            None => {
                let semantics = Box::new(others);
                self.whole = Some(Whole::Capture { semantics, capture, launched: !empty });
            }
            Some(Whole::Command { .. }) => {
                return Err(different(self, "kinds", "a command".to_owned(), "a capture".to_owned()));
            }
            Some(Whole::Capture { semantics, capture: own, launched }) => {
                let shown = |capture: &SharedCapture| {
                    format!("{} entries, {}, manifest {}", capture.entries, capture.bytes, capture.manifest)
                };
                if *own != capture {
                    let (before, after) = (shown(own), shown(&capture));
                    return Err(different(self, "captures", before, after));
                }
                if !empty && !*launched {
                    // The kernels so far are known only from shards that launched none.
                    std::mem::swap(&mut **semantics, &mut others);
                    *launched = true;
                    join(semantics, &others, true)
                } else {
                    join(semantics, &others, empty)
                }
                .map_err(|Differs(what, before, after)| different(self, what, before, after))?;
            }
        }
        self.take_entries(name, &mut record, number, wanted)?;
        self.add_parts(name, number, record)
    }

    /// Takes the entries out of `record`, and removes unwanted ones from the indices of its parts.
    fn take_entries(
        &mut self,
        name: &str,
        record: &mut Record,
        number: u32,
        wanted: &dyn Fn(&CaptureSemantics, &EntryResult) -> bool,
    ) -> Result<(), MergeError> {
        // Entries are in the order of the capture.
        let order = record.places();
        let Semantics::Capture(semantics) = &mut record.semantics else { unreachable!("it was looked at") };
        let versus = record.results.versus.take();
        let mut others = versus.as_ref().map(|versus| (versus.entries.reader(), versus.pairs.reader()));
        let entries = std::mem::take(&mut semantics.entries);
        let results = std::mem::take(&mut record.results.entries);
        let mut without: Vec<usize> = Vec::new();
        for (at, (place, (entry, result))) in order.into_iter().zip(entries.into_iter().zip(results)).enumerate() {
            if !wanted(semantics, &result) {
                self.known.not_run(&entry.name);
                without.push(place);
                continue;
            }
            let beside = others.as_mut().and_then(|(entries, pairs)| Some((entries.get(at)?, pairs.get(at)?)));
            self.keep(name, number, place, &entry, &result, beside)?;
        }
        let shards = record.shard.iter_mut().chain(record.parts.iter_mut().filter_map(|part| part.shard.as_mut()));
        for shard in shards {
            shard.places.retain(|place| without.binary_search(place).is_err());
        }
        Ok(())
    }

    fn keep(
        &mut self,
        name: &str,
        record: u32,
        place: usize,
        entry: &EntrySemantics,
        result: &EntryResult,
        versus: Option<(&EntryResult, &crate::record::Pairs)>,
    ) -> Result<(), MergeError> {
        if let Some(before) = self.entries.get(&place) {
            let one = self.names[before.record as usize].clone();
            let what = format!("a result of {}", entry.name);
            return Err(MergeError::Overlap { one, other: name.to_owned(), what });
        }
        let kept = match versus {
            Some((other, pairs)) => self.spill.put([&entry, &result, &other, &pairs])?,
            None => self.spill.put([&entry, &result, &(), &()])?,
        };
        self.entries.insert(place, Entry { kept, bytes: entry.bytes, record });
        Ok(())
    }

    fn add_rank(&mut self, name: &str, record: Record, number: u32) -> Result<(), MergeError> {
        let rank = record.rank.iter().chain(record.parts.iter().filter_map(|part| part.rank.as_ref())).next();
        let Some(ranks) = rank.map(|rank| rank.ranks) else {
            return Err(MergeError::NoPart { name: name.to_owned(), what: "a command" });
        };
        let Semantics::Command(command) = &record.semantics else { unreachable!("it was looked at") };
        let different = |what, before, after| MergeError::Different {
            one: self.names[0].clone(),
            other: name.to_owned(),
            what,
            before,
            after,
        };
        match &self.whole {
            None => self.whole = Some(Whole::Command { semantics: command.clone(), ranks }),
            Some(Whole::Capture { .. }) => {
                return Err(different("kinds", "a capture".to_owned(), "a command".to_owned()));
            }
            Some(Whole::Command { semantics, .. }) if semantics != command => {
                let shown = |command: &CommandSemantics| format!("{} `{}`", command.label, command.command.join(" "));
                return Err(different("commands", shown(semantics), shown(command)));
            }
            Some(Whole::Command { ranks: own, .. }) if *own != ranks => {
                return Err(different("numbers of ranks", own.to_string(), ranks.to_string()));
            }
            Some(Whole::Command { .. }) => {}
        }
        self.add_parts(name, number, record)
    }

    fn add_parts(&mut self, name: &str, number: u32, mut record: Record) -> Result<(), MergeError> {
        let parts = std::mem::take(&mut record.parts);
        let parts = if parts.is_empty() { vec![Part::from(record)] } else { parts };
        for mut part in parts {
            let order = match (&mut part.shard, &part.rank) {
                (Some(shard), _) => {
                    shard.bytes = shard.places.iter().map(|place| self.entries[place].bytes).sum();
                    self.known.shard(name, shard, &part.command);
                    (shard.index, shard.places.first().copied(), part.started.clone())
                }
                (None, Some(rank)) => (rank.rank, None, String::new()),
                (None, None) => continue,
            };
            if let Some((_, other)) = self.parts.get(&order) {
                let (one, what) = (self.names[*other as usize].clone(), part.name());
                return Err(MergeError::Overlap { one, other: name.to_owned(), what });
            }
            let kept = self.spill.put([&part])?;
            self.parts.insert(order, (kept, number));
        }
        Ok(())
    }
}

/// Whether an entry has its result: validated and timed as far as its run intended.
fn is_done(semantics: &CaptureSemantics, result: &EntryResult) -> bool {
    let (validates, times) = (semantics.comparison.is_some(), semantics.timing.is_some());
    let validated = match &result.validation {
        None => !validates,
        Some(validation) => validation.status != ValidationStatus::NotRun,
    };
    let failed = result.validation.as_ref().is_some_and(|validation| !validation.passed());
    let timed = match &result.profile {
        None => !times,
        Some(profile) => profile.status != ProfileStatus::NotRun,
    };
    validated && (timed || failed)
}
