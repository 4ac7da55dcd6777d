//! [`Commit`]: what a history is in the order of.

use std::time::{SystemTime, UNIX_EPOCH};

use super::error::HistoryError;
use crate::gate::baseline::git;

/// The commit that a record is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its name: of git the digest, or whatever else orders the work.
    pub id: String,
    /// The branch.
    pub branch: String,
    /// When it was made, in seconds since 1970.
    pub committed: i64,
    /// The first line of its message.
    pub title: String,
}

impl Commit {
    /// The commit that is checked out in the working directory.
    ///
    /// # Errors
    /// [`HistoryError::Commit`] if it is in no repository, or the repository has no commit.
    pub fn current() -> Result<Self, HistoryError> {
        let (id, committed, title) = git::told("HEAD")?;
        Ok(Self { id, branch: git::branch()?, committed, title })
    }

    /// The one that is called `name`, of `branch` or the one that is checked out: as git knows it, else of this moment, for
    /// work is also ordered by other names than git's.
    ///
    /// # Errors
    /// [`HistoryError::Commit`] if there is neither a branch that is named nor one that is checked out.
    pub fn named(name: &str, branch: Option<&str>) -> Result<Self, HistoryError> {
        let (id, committed, title) = git::told(name).unwrap_or_else(|_| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            (name.to_owned(), i64::try_from(now.as_secs()).unwrap_or(i64::MAX), String::new())
        });
        let branch = branch.map_or_else(git::branch, |branch| Ok(branch.to_owned()))?;
        Ok(Self { id, branch, committed, title })
    }

    /// Its name in as many characters as tell it apart.
    pub fn short(&self) -> &str {
        ten(&self.id)
    }
}

/// The most commits that [`commits_between`] lists.
const MOST_LISTED: usize = 20;

/// The commits after `before` up to `commit`, the latest first, each in short with its title: those that may have made
/// what is new at `commit`. At most 20; `None` if git knows no such commits here.
pub fn commits_between(before: &str, commit: &str) -> Option<Vec<String>> {
    git::between(before, commit, MOST_LISTED).ok().filter(|commits| !commits.is_empty())
}

/// The first ten characters: enough of a digest, and the day of a time.
pub(super) fn ten(text: &str) -> &str {
    text.char_indices().nth(10).map_or(text, |(end, _)| &text[..end])
}
