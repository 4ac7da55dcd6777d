//! Finds the configuration.

use std::io;
use std::path::{Path, PathBuf};

use plimsoll_memory::bytes::ByteSize;

/// The name of the file.
pub const FILE_NAME: &str = "plimsoll.toml";

/// The largest file that is read as a configuration.
pub const MAX_CONFIG: ByteSize = ByteSize::mib(1);

/// The configuration of `folder`: in the folder itself or, in a repository, in the nearest folder above it up to the
/// root of the repository. Outside a repository only `folder` counts: files above might belong to anyone.
///
/// Whatever has the name counts, also if it is not a file or cannot be seen: its ceilings must not be left out silently.
///
/// [`Config::read_found`](super::Config::read_found) reads the file and refuses programs and paths to write to if it
/// belongs to another user.
pub fn find(folder: &Path) -> Option<PathBuf> {
    let root = folder.ancestors().find(|folder| is_root(folder)).unwrap_or(folder);
    let up_to_root = folder.ancestors().take_while(|folder| folder.starts_with(root));
    up_to_root.map(|folder| folder.join(FILE_NAME)).find(|file| is_there(file))
}

/// Whether `folder` is the root of a repository. A folder that cannot be read counts as one: the search ends there.
fn is_root(folder: &Path) -> bool {
    is_there(&folder.join(".git"))
}

fn is_there(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::{Config, ConfigError};
    use super::*;

    #[test]
    fn the_nearest_file_counts_and_none_beyond_the_repository() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("repository/a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::create_dir(dir.path().join("repository/.git")).unwrap();
        fs::write(dir.path().join(FILE_NAME), "").unwrap();
        assert_eq!(find(&deep), None);
        fs::write(dir.path().join("repository").join(FILE_NAME), "").unwrap();
        assert_eq!(find(&deep), Some(dir.path().join("repository").join(FILE_NAME)));
        fs::write(dir.path().join("repository/a").join(FILE_NAME), "").unwrap();
        assert_eq!(find(&deep), Some(dir.path().join("repository/a").join(FILE_NAME)));
    }

    #[test]
    fn a_name_that_leads_to_no_file_is_found_and_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        let refused = || {
            assert_eq!(find(dir.path()), Some(path.clone()));
            let error = Config::read_found(&path).unwrap_err();
            assert!(matches!(error, ConfigError::Read { .. }), "{error}");
            fs::remove_file(&path).or_else(|_| fs::remove_dir(&path)).unwrap();
        };
        fs::create_dir(&path).unwrap();
        refused();
        for target in ["not-mounted", "/dev/zero"] {
            symlink(target, &path).unwrap();
            refused();
        }
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
        refused();
        assert_eq!(find(dir.path()), None);
    }

    #[test]
    fn outside_of_a_repository_only_the_folder_itself_counts() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::write(dir.path().join(FILE_NAME), "").unwrap();
        fs::write(dir.path().join("a").join(FILE_NAME), "").unwrap();
        assert_eq!(find(&deep), None);
        fs::write(deep.join(FILE_NAME), "").unwrap();
        assert_eq!(find(&deep), Some(deep.join(FILE_NAME)));
    }
}
