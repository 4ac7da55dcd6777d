//! [`Commit`]: the key by which a history is ordered.

use std::time::{SystemTime, UNIX_EPOCH};

use super::error::HistoryError;
use crate::gate::baseline::git;

/// The commit that a record belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The name: git's digest, or any other name that orders the work.
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
    /// [`HistoryError::Commit`] outside a repository, or if the repository has no commit.
    pub fn current() -> Result<Self, HistoryError> {
        let (id, committed, title) = git::commit_facts("HEAD")?;
        Ok(Self { id, branch: git::branch()?, committed, title })
    }

    /// The commit called `name` on `branch` or on the current branch. A name that git does not know gets the current
    /// time, as work may be ordered by other names than git's.
    ///
    /// # Errors
    /// [`HistoryError::Commit`] if no branch is given and none is checked out.
    pub fn named(name: &str, branch: Option<&str>) -> Result<Self, HistoryError> {
        let (id, committed, title) = git::commit_facts(name).unwrap_or_else(|_| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            (name.to_owned(), i64::try_from(now.as_secs()).unwrap_or(i64::MAX), String::new())
        });
        let branch = branch.map_or_else(git::branch, |branch| Ok(branch.to_owned()))?;
        Ok(Self { id, branch, committed, title })
    }

    /// The shortest name that identifies the commit.
    pub fn short(&self) -> &str {
        ten(&self.id)
    }
}

/// The maximum number of commits that [`commits_between`] lists.
const MOST_LISTED: usize = 20;

/// The commits after `before` up to `commit`, latest first, each as its short name and title: those that may have
/// caused a change at `commit`. At most 20; `None` if git does not know them.
pub fn commits_between(before: &str, commit: &str) -> Option<Vec<String>> {
    git::between(before, commit, MOST_LISTED).ok().filter(|commits| !commits.is_empty())
}

/// The first ten characters: enough of a digest, or the day of a time.
pub(super) fn ten(text: &str) -> &str {
    text.char_indices().nth(10).map_or(text, |(end, _)| &text[..end])
}
