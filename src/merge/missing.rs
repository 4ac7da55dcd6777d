//! [`Merge::missing`]: lists what a merge lacks.

use super::add::{Merge, Whole};
use super::gap::{Missing, NAMED, listed, rerun};
use plimsoll_memory::bytes::ByteSize;

impl Merge {
    /// The missing part; `None` if the merge is complete.
    pub fn missing(&self) -> Option<Missing> {
        match self.whole.as_ref()? {
            Whole::Command { ranks, .. } => {
                let missing = *ranks as usize - self.parts.len().min(*ranks as usize);
                let absent = (0..*ranks).filter(|rank| !self.parts.keys().any(|(known, ..)| known == rank));
                (missing > 0).then(|| Missing {
                    summary: format!(
                        "{missing} of {ranks} ranks are missing: {}",
                        listed(absent.take(NAMED + 1).map(|rank| format!("rank {rank}")), missing)
                    ),
                    commands: Vec::new(),
                })
            }
            Whole::Capture { capture, semantics, .. } => {
                let missing = capture.entries.checked_sub(self.entries.len()).filter(|missing| *missing > 0)?;
                let have: ByteSize = self.entries.values().map(|entry| entry.bytes).sum();
                let bytes = ByteSize::new(capture.bytes.bytes().saturating_sub(have.bytes()));
                // Two kernels are timed pair by pair over all entries: if the run ended early, no entry is done.
                let resumes = semantics.versus.is_none();
                let (mut parts, mut commands) = self.known.incomplete(resumes);
                let (absent, of) = self.known.absent(capture.entries);
                let example = self.known.example();
                for index in absent.iter().take(NAMED) {
                    let record = format!("shard-{index}-of-{of}.json");
                    commands.extend(example.map(|command| rerun(command, &format!("{index}/{of}"), None, &record)));
                }
                let count = absent.len();
                parts.extend(absent.into_iter().map(|index| format!("shard {index} of {of} (no record)")));
                let what =
                    if parts.is_empty() { String::new() } else { format!(": {}", listed(parts.into_iter(), count)) };
                let summary = format!("{missing} of {} entries are missing, {bytes}{what}", capture.entries);
                Some(Missing { summary, commands })
            }
        }
    }
}
