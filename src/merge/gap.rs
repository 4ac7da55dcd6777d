//! [`Missing`]: what a merge lacks, and the commands that run just that.

use std::fmt;

/// The most shards, ranks or entries that are named.
pub(super) const NAMED: usize = 20;

/// The missing part of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What is present and what is missing.
    pub summary: String,
    /// The commands that run just the missing part, as words.
    pub commands: Vec<Vec<String>>,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; run what is missing and merge again, or merge what there is with --partial", self.summary)
    }
}

/// The first of `names`, of which there are `count`, as many as are shown.
pub(super) fn listed(names: impl Iterator<Item = String>, count: usize) -> String {
    let names: Vec<String> = names.take(NAMED + 1).collect();
    let more = if names.len() > NAMED || count > NAMED { ", and more" } else { "" };
    names[..names.len().min(NAMED)].join(", ") + more
}

/// Whether the command can be run for another shard.
pub(super) fn is_check(command: &[String]) -> bool {
    command.get(1).is_some_and(|name| matches!(&**name, "check" | "validate" | "profile"))
}

/// The command line `command` for another shard, with its own flags replaced by `--shard SHARD`, `--resume RESUME` and
/// `--record RECORD`.
pub fn rerun(command: &[String], shard: &str, resume: Option<&str>, record: &str) -> Vec<String> {
    const FLAGS: [&str; 3] = ["--shard", "--resume", "--record"];
    let mut words = Vec::new();
    let mut rest = command.iter();
    while let Some(word) = rest.next() {
        if FLAGS.contains(&&**word) {
            rest.next();
        } else if !FLAGS.iter().any(|flag| word.strip_prefix(flag).is_some_and(|value| value.starts_with('='))) {
            words.push(word.clone());
        }
    }
    let resume = resume.map(|path| ["--resume", path]);
    let flags = [["--shard", shard]].into_iter().chain(resume).chain([["--record", record]]);
    words.extend(flags.flatten().map(str::to_owned));
    words
}
