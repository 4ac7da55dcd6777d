//! [`Known`]: the shards whose records were added.

use std::collections::BTreeMap;

use super::gap::{NAMED, is_check, listed, rerun};
use crate::record::Shard;

/// The facts about shards whose records were added.
#[derive(Default)]
pub(super) struct Known {
    shards: BTreeMap<(u32, u32), Seen>,
    /// Entries of the current record that were not run.
    not_run: Vec<String>,
}

struct Seen {
    /// How many entries the share has, and how many of them have a result.
    entries: usize,
    done: usize,
    /// Entries that were not run, by name.
    not_run: Vec<String>,
    record: String,
    command: Vec<String>,
}

impl Known {
    /// Notes an entry of the next shard that was not run.
    pub fn not_run(&mut self, entry: &str) {
        self.not_run.push(entry.to_owned());
    }

    pub fn shard(&mut self, record: &str, shard: &Shard, command: &[String]) {
        let seen = self.shards.entry((shard.index, shard.count)).or_insert_with(|| Seen {
            entries: shard.entries,
            done: 0,
            not_run: Vec::new(),
            record: String::new(),
            command: command.to_vec(),
        });
        seen.done += shard.places.len();
        seen.not_run.append(&mut self.not_run);
        seen.record = record.to_owned();
    }

    /// Whether every shard with a record has all entries of its share.
    pub fn are_whole(&self) -> bool {
        self.shards.values().all(|seen| seen.done >= seen.entries)
    }
}

impl Known {
    /// A command line of one of the shards that can be run for another shard.
    pub fn example(&self) -> Option<&[String]> {
        self.shards.values().find(|seen| is_check(&seen.command)).map(|seen| &*seen.command)
    }

    /// Shards with missing entries, and the commands to run: only these entries if a run `resumes`, else the whole
    /// shard.
    pub fn incomplete(&self, resumes: bool) -> (Vec<String>, Vec<Vec<String>>) {
        let (mut parts, mut commands) = (Vec::new(), Vec::new());
        for ((index, count), seen) in self.shards.iter().filter(|(_, seen)| seen.done < seen.entries) {
            let missing = seen.entries - seen.done;
            let names = match seen.not_run.is_empty() {
                true => String::new(),
                false => format!(": {}", listed(seen.not_run.iter().take(NAMED + 1).cloned(), seen.not_run.len())),
            };
            parts.push(format!("{missing} of the {} entries of shard {index} of {count}{names}", seen.entries));
            if is_check(&seen.command) && commands.len() < NAMED {
                let record = seen.record.strip_suffix(".partial").unwrap_or(&seen.record);
                let resume = resumes.then_some(&*seen.record);
                commands.push(rerun(&seen.command, &format!("{index}/{count}"), resume, record));
            }
        }
        (parts, commands)
    }

    /// Shards with entries but without a record, up to one more than are shown, and their total. Unknown if the records
    /// come from different divisions of the capture.
    pub fn absent(&self, entries: usize) -> (Vec<u32>, u32) {
        let mut counts = self.shards.keys().map(|(_, count)| *count);
        let Some(count) = counts.next().filter(|first| counts.all(|count| count == *first)) else {
            return (Vec::new(), 0);
        };
        let last = u32::try_from(entries).unwrap_or(u32::MAX).min(count);
        let absent = (1..=last).filter(|index| !self.shards.contains_key(&(*index, count)));
        (absent.take(NAMED + 1).collect(), count)
    }
}
