//! Calls git: commits, what is left between two, and worktrees.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plimsoll::gate::bisect::Named;

/// Environment variables that would point git to another repository than that of a folder, for example inside a hook.
pub const OF_GIT: [&str; 6] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY"];

/// Why git failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// git cannot be started.
    #[error("cannot start git: {0}")]
    Start(std::io::Error),
    /// The working directory belongs to no repository.
    #[error("there is no git repository here: {0}; start `plimsoll bisect` in the one that holds GOOD and BAD")]
    NoRepository(String),
    /// A revision is not a commit.
    #[error("`{revision}` is not a commit: {said}; name a commit, tag or branch that `git log` knows")]
    Commit { revision: String, said: String },
    /// Something else.
    #[error("git cannot {what}: {said}")]
    Failed { what: String, said: String },
}

/// The repository of the working directory.
#[derive(Debug)]
pub struct Repository {
    /// The folder that all worktrees share.
    pub common: PathBuf,
    /// The working directory within the worktree; empty at the root.
    pub prefix: PathBuf,
}

impl Repository {
    pub fn find() -> Result<Self, GitError> {
        let here = Path::new(".");
        let common = git(here, ["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
        if let Some(said) = common.failed {
            return Err(GitError::NoRepository(said));
        }
        let prefix = git(here, ["rev-parse", "--show-prefix"])?;
        // A bare repository has no prefix.
        let prefix = if prefix.failed.is_none() { prefix.line() } else { String::new() };
        Ok(Self { common: PathBuf::from(common.line()), prefix: PathBuf::from(prefix) })
    }

    /// The commit that `revision` names.
    pub fn named(&self, revision: &str) -> Result<Named, GitError> {
        let name = format!("{revision}^{{commit}}");
        let output = self.git(["log", "-1", "--format=%H %s", "--end-of-options", &name, "--"])?;
        if let Some(said) = output.failed {
            return Err(GitError::Commit { revision: revision.to_owned(), said });
        }
        Ok(named(&output.line()))
    }

    /// The commits reachable from `bad` and from none of `good`; the one that halves them best comes first, then the
    /// next best.
    pub fn between(&self, good: &[&str], bad: &str) -> Result<Vec<String>, GitError> {
        let without = good.iter().map(|good| format!("^{good}"));
        let words = ["rev-list", "--bisect-all"].map(str::to_owned).into_iter();
        let output =
            self.git(words.chain([bad.to_owned()]).chain(without).chain(["--".to_owned()]))?.of("list commits")?;
        Ok(output.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect())
    }

    /// The best common ancestors of two commits.
    pub fn bases(&self, one: &str, other: &str) -> Result<Vec<String>, GitError> {
        let output = self.git(["merge-base", "--all", one, other])?;
        // git exits with 1 if there is none.
        Ok(if output.failed.is_some() { Vec::new() } else { output.out.lines().map(str::to_owned).collect() })
    }

    /// The parents of a commit.
    pub fn parents(&self, commit: &str) -> Result<Vec<String>, GitError> {
        let output = self.git(["rev-list", "--parents", "-n1", commit])?.of("list parents")?;
        Ok(output.split_whitespace().skip(1).map(str::to_owned).collect())
    }

    /// The commits reachable from `bad` and from none of `good`, with titles, latest first; at most 100.
    pub fn titled(&self, good: &[&str], bad: &str) -> Result<Vec<Named>, GitError> {
        let without = good.iter().map(|good| format!("^{good}"));
        let words = ["log", "--topo-order", "--max-count=100", "--format=%H %s", bad].map(str::to_owned).into_iter();
        let output = self.git(words.chain(without).chain(["--".to_owned()]))?.of("name commits")?;
        Ok(output.lines().map(named).collect())
    }

    /// Makes `tree` a worktree with `commit` checked out. Build outputs in it stay, as in a checkout that moves from
    /// commit to commit.
    pub fn checkout(&self, tree: &Path, commit: &str) -> Result<(), GitError> {
        if tree.join(".git").is_file() {
            let words = ["checkout", "--quiet", "--force", "--detach", commit, "--"];
            if git(tree, quiet(words))?.failed.is_none() {
                return Ok(());
            }
            // A killed checkout leaves a lock behind, or half an index.
            self.remove(tree)?;
        }
        let words = ["worktree", "add", "--quiet", "--force", "--detach"].map(OsStr::new);
        let words = quiet(words.into_iter().chain([tree.as_os_str(), OsStr::new(commit)]));
        self.git(words)?.of(&format!("check out {commit} at {}", tree.display())).map(drop)
    }

    /// Removes a worktree with all build outputs.
    pub fn remove(&self, tree: &Path) -> Result<(), GitError> {
        if tree.exists() {
            fs::remove_dir_all(tree).map_err(|error| GitError::Failed {
                what: format!("remove {}", tree.display()),
                said: error.to_string(),
            })?;
        }
        self.git(["worktree", "prune"])?.of("forget a worktree").map(drop)
    }

    fn git(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<Said, GitError> {
        git(&self.common, words)
    }
}

/// The arguments of a call that runs no hook.
fn quiet<'a, T: AsRef<OsStr> + ?Sized + 'a>(words: impl IntoIterator<Item = &'a T>) -> Vec<&'a OsStr> {
    let no_hooks = ["-c", "core.hooksPath=/dev/null"].map(OsStr::new);
    no_hooks.into_iter().chain(words.into_iter().map(AsRef::as_ref)).collect()
}

fn named(line: &str) -> Named {
    let (commit, title) = line.split_once(' ').unwrap_or((line, ""));
    Named { commit: commit.to_owned(), title: title.to_owned() }
}

struct Said {
    out: String,
    /// The first line of the error, if the call failed.
    failed: Option<String>,
}

impl Said {
    fn line(&self) -> String {
        self.out.trim_end_matches('\n').to_owned()
    }

    fn of(self, what: &str) -> Result<String, GitError> {
        match self.failed {
            None => Ok(self.out),
            Some(said) => Err(GitError::Failed { what: what.to_owned(), said }),
        }
    }
}

/// Runs git in `folder`. The output is at most as long as the list of all commits.
fn git(folder: &Path, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<Said, GitError> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(words).env("LC_ALL", "C").stdin(Stdio::null());
    for name in OF_GIT {
        command.env_remove(name);
    }
    let output = command.output().map_err(GitError::Start)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stderr).lines().next().unwrap_or("it said nothing").to_owned();
    Ok(Said { out: text(&output.stdout), failed: (!output.status.success()).then_some(said) })
}
