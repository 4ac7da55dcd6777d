//! [`BaselineSource`]: where a baseline is.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::error::BaselineError;
use super::{folder, git};
use crate::record::Record;

/// The default folder of baselines.
pub const DEFAULT_FOLDER: &str = "plimsoll-baselines";

/// Where a baseline is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaselineSource {
    /// A record, or a folder of them.
    Path(PathBuf),
    /// A record or a folder in a git revision.
    Git {
        /// The revision: a branch, a tag, a commit.
        revision: String,
        /// The path relative to the working directory; absent for the configured one.
        path: Option<PathBuf>,
    },
    /// The latest records of a branch in the history.
    History {
        /// The branch; absent for the one with the most records.
        branch: Option<String>,
    },
}

impl FromStr for BaselineSource {
    type Err = BaselineError;

    /// Parses `FILE`, `DIR`, `git:REVISION`, `git:REVISION:PATH`, `history` and `history:BRANCH`. For a file named
    /// `history` write `./history`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(rest) = text.strip_prefix("history")
            && (rest.is_empty() || rest.starts_with(':'))
        {
            let branch = rest.strip_prefix(':').filter(|branch| !branch.is_empty()).map(str::to_owned);
            return Ok(Self::History { branch });
        }
        let Some(rest) = text.strip_prefix("git:") else {
            if text.is_empty() {
                return Err(BaselineError::Empty);
            }
            return Ok(Self::Path(PathBuf::from(text)));
        };
        let (revision, path) = match rest.split_once(':') {
            Some((revision, path)) if !path.is_empty() => (revision, Some(PathBuf::from(path))),
            Some((revision, _)) => (revision, None),
            None => (rest, None),
        };
        // Git would take a leading dash for an option.
        if revision.is_empty() || revision.starts_with('-') {
            return Err(BaselineError::Revision { revision: revision.to_owned() });
        }
        if let Some(path) = path.as_deref().filter(|path| path.is_absolute()) {
            return Err(BaselineError::AbsolutePath { path: path.to_owned() });
        }
        Ok(Self::Git { revision: revision.to_owned(), path })
    }
}

impl fmt::Display for BaselineSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Git { revision, path: None } => write!(f, "git:{revision}"),
            Self::History { branch: None } => f.write_str("history"),
            Self::History { branch: Some(branch) } => write!(f, "history:{branch}"),
            Self::Git { revision, path: Some(path) } => write!(f, "git:{revision}:{}", path.display()),
        }
    }
}

impl BaselineSource {
    /// Uses `folder` if the source names no path.
    pub fn or_folder(self, folder: &Path) -> Self {
        match self {
            Self::Git { revision, path: None } => Self::Git { revision, path: Some(folder.to_owned()) },
            whole => whole,
        }
    }

    /// Reads its records with their origins in the order of their names; empty if nothing is there.
    ///
    /// # Errors
    /// [`BaselineError`] if a file cannot be read or is not a record; [`BaselineError::History`] for a history, which
    /// [`History::baseline`](crate::gate::history::History::baseline) reads.
    pub fn read(&self) -> Result<Vec<(String, Record)>, BaselineError> {
        match self {
            Self::Path(path) => folder::read(path),
            Self::History { .. } => Err(BaselineError::History),
            Self::Git { revision, path } => git::read(revision, path.as_deref().unwrap_or(Path::new(DEFAULT_FOLDER))),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_source_is_read_as_it_is_written() {
        let git = |revision: &str, path: Option<&str>| BaselineSource::Git {
            revision: revision.to_owned(),
            path: path.map(PathBuf::from),
        };
        for (text, source) in [
            ("main.json", BaselineSource::Path("main.json".into())),
            ("git:main", git("main", None)),
            ("history", BaselineSource::History { branch: None }),
            ("history:main", BaselineSource::History { branch: Some("main".to_owned()) }),
            ("./history", BaselineSource::Path("./history".into())),
            ("history.json", BaselineSource::Path("history.json".into())),
            ("git:v1.2^{commit}", git("v1.2^{commit}", None)),
            ("git:origin/main:perf/base lines", git("origin/main", Some("perf/base lines"))),
        ] {
            assert_eq!(text.parse::<BaselineSource>().unwrap(), source);
            assert_eq!(source.to_string(), text);
        }
        assert_eq!(git("main", None).or_folder(Path::new("perf")), git("main", Some("perf")));
        assert_eq!(git("main", Some("a")).or_folder(Path::new("perf")), git("main", Some("a")));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, says) in [
            ("", "a baseline is a record, a folder of them, or git:REVISION"),
            ("git:", "`` is not a revision of git"),
            ("git:--output=x", "`--output=x` is not a revision of git"),
            ("git:main:/etc/passwd", "/etc/passwd: a path of a revision is relative"),
        ] {
            let error = text.parse::<BaselineSource>().unwrap_err().to_string();
            assert!(error.starts_with(says), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(git:|history|:|-|main|/|\\.|é| ){0,8}") {
            if let Ok(source) = text.parse::<BaselineSource>() {
                prop_assert_eq!(source.to_string().parse::<BaselineSource>().unwrap(), source);
            }
        }
    }
}
