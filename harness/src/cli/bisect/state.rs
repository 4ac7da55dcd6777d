//! The folder of a search: worktrees, results so far, and records, so that a stopped search can be resumed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use plimsoll::gate::bisect::{Bisection, Tried, TriedCommit};
use plimsoll::record::{CommandSemantics, Record, Semantics, write_record};
use rustix::fs::FlockOperation;

use super::super::Failed;
use super::repository::Repository;
use crate::replace::replace;

/// The folder of one search, locked by this process.
pub struct State {
    folder: PathBuf,
    /// What is known so far.
    pub search: Bisection,
    _lock: File,
}

/// The folder of all searches of a repository.
fn home(repository: &Repository) -> PathBuf {
    repository.common.join("plimsoll-bisect")
}

impl State {
    /// Opens the search that these `words` identify, with earlier results.
    pub fn open(repository: &Repository, words: &[String], new: Bisection) -> Result<Self, Failed> {
        let semantics = CommandSemantics { label: "bisect".to_owned(), command: words.to_vec() };
        let digest = Semantics::Command(semantics).digest();
        let name: String = digest.chars().filter(char::is_ascii_hexdigit).skip("be3".len()).take(16).collect();
        let folder = home(repository).join(name);
        let failed = |error| format!("cannot keep the search in {}: {error}", folder.display());
        fs::create_dir_all(&folder).map_err(failed)?;
        let lock = File::create(folder.join("lock")).map_err(failed)?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| format!("another process runs this search in {}: wait for it to end", folder.display()))?;
        // Results that cannot be read, for example of another version, are measured anew.
        let known = fs::read(folder.join("search.json")).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let same = known.filter(|known: &Bisection| known.good == new.good && known.bad == new.bad);
        Ok(Self { search: same.unwrap_or(new), folder, _lock: lock })
    }

    /// A worktree: `good` stays at GOOD, `look` goes from commit to commit. Both names have the same length, so that
    /// nothing that depends on a path's length differs.
    pub fn tree(&self, good: bool) -> PathBuf {
        self.folder.join(if good { "good" } else { "look" })
    }

    /// The log of builds.
    pub fn log(&self) -> PathBuf {
        self.folder.join("build.log")
    }

    /// Notes the result of a commit.
    pub fn note(&mut self, tried: TriedCommit) -> Result<(), Failed> {
        self.search.tried.push(tried);
        let text = serde_json::to_vec(&self.search)?;
        let path = self.folder.join("search.json");
        replace(&path, &text).map_err(|error| format!("cannot write {}: {error}", path.display()).into())
    }

    /// The earlier result of a commit.
    pub fn known(&self, commit: &str) -> Option<Tried> {
        self.search.tried.iter().find(|tried| tried.named.commit == commit).map(|tried| tried.found)
    }

    /// Whether the commit is an end of the search, or was tried and has a record.
    pub fn record(&self, commit: &str) -> Option<Record> {
        Record::read(&self.path(commit)).ok()
    }

    /// Keeps the record of a commit.
    pub fn keep(&self, commit: &str, record: &Record) -> Result<(), Failed> {
        Ok(write_record(&self.path(commit), record)?)
    }

    fn path(&self, commit: &str) -> PathBuf {
        self.folder.join(format!("{commit}.json"))
    }

    /// The path of a mapping without its worktree.
    pub fn shorten(&self, path: &str) -> String {
        let path = Path::new(path);
        let within = [true, false].iter().find_map(|good| path.strip_prefix(self.tree(*good)).ok());
        within.unwrap_or(path).display().to_string()
    }

    /// Removes the search and its worktrees.
    pub fn remove(self, repository: &Repository) -> Result<(), Failed> {
        remove(repository, &self.folder)
    }
}

fn remove(repository: &Repository, folder: &Path) -> Result<(), Failed> {
    for tree in ["good", "look"] {
        repository.remove(&folder.join(tree))?;
    }
    fs::remove_dir_all(folder).map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
    // Other searches may be in the folder.
    let _ = fs::remove_dir(home(repository));
    Ok(())
}

/// Removes every stopped search of the repository and returns how many there were.
pub fn reset(repository: &Repository) -> Result<usize, Failed> {
    let Ok(entries) = fs::read_dir(home(repository)) else { return Ok(0) };
    let mut removed = 0;
    for folder in entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_dir()) {
        let lock = File::create(folder.join("lock"))
            .map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(format!("a process runs the search in {}: stop it first", folder.display()).into());
        }
        remove(repository, &folder)?;
        removed += 1;
    }
    Ok(removed)
}
