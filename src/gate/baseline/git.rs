//! A record or a folder of records in a git revision.

use std::io::{Read as _, Seek as _};
use std::path::Path;
use std::process::{Command, Stdio};

use super::error::BaselineError;
use super::folder::MOST_FILES;
use crate::record::{MAX_RECORD, Record, RecordError};

/// Reads the records at `path` in `revision` in the order of their names; empty if nothing is there. The path is tried
/// relative to the working directory, as other paths of this program, and then relative to the repository's root, as
/// git does.
pub(super) fn read(revision: &str, path: &Path) -> Result<Vec<(String, Record)>, BaselineError> {
    let commit = commit(revision)?;
    let text = path.to_string_lossy();
    let text = text.trim_end_matches('/');
    let mut from = From::Here;
    let mut entries = list(revision, &commit, from, text)?;
    if entries.is_empty() {
        from = From::Root;
        entries = list(revision, &commit, from, text)?;
    }
    if let [entry] = &entries[..]
        && entry.is_folder
    {
        entries = list(revision, &commit, from, &format!("{text}/"))?;
        entries.retain(|entry| entry.name.ends_with(".json"));
    }
    entries.retain(|entry| !entry.is_folder);
    if entries.len() > MOST_FILES {
        return Err(BaselineError::TooMany { path: path.to_owned(), limit: MOST_FILES });
    }
    let read = |entry: Entry| {
        let origin = format!("git:{revision}:{}", entry.name);
        let bytes = blob(revision, &entry)?;
        let record = Record::from_json(Path::new(&origin), &bytes)?;
        Ok((origin, record))
    };
    entries.into_iter().map(read).collect()
}

/// Looks up `revision` with git: the commit, its time in seconds since 1970, and the first line of its message.
#[cfg(feature = "history")]
pub(in crate::gate) fn commit_facts(revision: &str) -> Result<(String, i64, String), BaselineError> {
    let name = format!("{revision}^{{commit}}");
    let output = git(revision, &["log", "-1", "--format=%H%x00%ct%x00%s", "--end-of-options", &name, "--"])?;
    let text = String::from_utf8_lossy(&output.out);
    let mut parts = text.trim_end_matches('\n').split('\0');
    let (Some(id), Some(time), Some(title)) = (parts.next(), parts.next(), parts.next()) else {
        let what = "find the commit; name it with --commit and --branch".to_owned();
        return Err(BaselineError::Git { what, message: output.said() });
    };
    Ok((id.to_owned(), time.parse().unwrap_or_default(), title.to_owned()))
}

/// The commits of `commit` that `before` lacks, latest first, each as its short name and title.
#[cfg(feature = "history")]
pub(in crate::gate) fn between(before: &str, commit: &str, most: usize) -> Result<Vec<String>, BaselineError> {
    let (most, without) = (format!("--max-count={most}"), format!("^{before}"));
    let output = git(commit, &["log", &most, "--format=%h %s", "--end-of-options", commit, &without, "--"])?;
    if !output.success {
        return Err(BaselineError::Git { what: format!("list the commits up to {commit}"), message: output.said() });
    }
    Ok(String::from_utf8_lossy(&output.out).lines().map(str::to_owned).collect())
}

/// The branch that is checked out.
#[cfg(feature = "history")]
pub(in crate::gate) fn branch() -> Result<String, BaselineError> {
    let output = git("HEAD", &["rev-parse", "--abbrev-ref", "HEAD"])?;
    if !output.success {
        let what = "find the branch; name it with --branch".to_owned();
        return Err(BaselineError::Git { what, message: output.said() });
    }
    Ok(String::from_utf8_lossy(&output.out).trim().to_owned())
}

/// What a path is relative to.
#[derive(Clone, Copy, Debug)]
enum From {
    /// The working directory.
    Here,
    /// The root of the repository.
    Root,
}

/// A file or folder of a git tree.
#[derive(Debug)]
struct Entry {
    name: String,
    object: String,
    is_folder: bool,
}

/// The commit that `revision` refers to.
fn commit(revision: &str) -> Result<String, BaselineError> {
    let name = format!("{revision}^{{commit}}");
    let output = git(revision, &["rev-parse", "--verify", "--end-of-options", &name])?;
    if !output.success {
        let message = output.said();
        if message.contains("not a git repository") {
            return Err(BaselineError::NoRepository { revision: revision.to_owned() });
        }
        return Err(BaselineError::UnknownRevision { revision: revision.to_owned(), message });
    }
    Ok(String::from_utf8_lossy(&output.out).trim().to_owned())
}

/// Lists `commit` at `path`: the entry itself, or the contents of a folder if the path ends in `/`.
fn list(revision: &str, commit: &str, from: From, path: &str) -> Result<Vec<Entry>, BaselineError> {
    let from: &[&str] = match from {
        From::Here => &[],
        From::Root => &["--full-tree"],
    };
    let arguments = [&["--literal-pathspecs", "ls-tree", "-z"], from, &[commit, "--", path]].concat();
    let output = git(revision, &arguments)?;
    if !output.success {
        let what = format!("list {path} of {revision}");
        return Err(BaselineError::Git { what, message: output.said() });
    }
    let text = String::from_utf8_lossy(&output.out);
    let entry = |line: &str| {
        let (head, name) = line.split_once('\t')?;
        let mut words = head.split(' ');
        let (mode, _, object) = (words.next()?, words.next()?, words.next()?);
        // Links and submodules are never read as records or folders.
        let is_folder = mode == "040000";
        let known = is_folder || mode.starts_with("100");
        known.then(|| Entry { name: name.to_owned(), object: object.to_owned(), is_folder })
    };
    Ok(text.split('\0').filter_map(entry).collect())
}

/// The contents of a file.
fn blob(revision: &str, entry: &Entry) -> Result<Vec<u8>, BaselineError> {
    let output = git(revision, &["cat-file", "blob", &entry.object])?;
    if output.out.len() as u64 > MAX_RECORD.bytes() {
        return Err(RecordError::TooLarge { path: entry.name.clone().into(), limit: MAX_RECORD }.into());
    }
    if !output.success {
        let what = format!("read {} of {revision}", entry.name);
        return Err(BaselineError::Git { what, message: output.said() });
    }
    Ok(output.out)
}

struct Output {
    success: bool,
    out: Vec<u8>,
    error: Vec<u8>,
}

impl Output {
    /// The first line of git's error message.
    fn said(&self) -> String {
        let text = String::from_utf8_lossy(&self.error);
        text.lines().next().unwrap_or("it said nothing").to_owned()
    }
}

/// Runs git in the working directory and reads at most one byte more than a record may have.
fn git(revision: &str, arguments: &[&str]) -> Result<Output, BaselineError> {
    let failed = |source| BaselineError::NoGit { revision: revision.to_owned(), source };
    let mut error = tempfile::tempfile().map_err(failed)?;
    let mut child = Command::new("git")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(error.try_clone().map_err(failed)?)
        .env("LC_ALL", "C")
        .spawn()
        .map_err(failed)?;
    let mut out = Vec::new();
    let pipe = child.stdout.take().expect("standard output is a pipe");
    let read = pipe.take(MAX_RECORD.bytes() + 1).read_to_end(&mut out);
    let status = child.wait().map_err(failed)?;
    read.map_err(failed)?;
    let mut text = Vec::new();
    error.rewind().and_then(|()| error.take(4096).read_to_end(&mut text)).map_err(failed)?;
    // A pipe that is closed early ends git by a signal, which does not count as a failure.
    let success = status.success() || out.len() as u64 > MAX_RECORD.bytes();
    Ok(Output { success, out, error: text })
}
