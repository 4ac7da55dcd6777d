//! Where the configuration is.

use std::path::{Path, PathBuf};

use plimsoll_memory::bytes::ByteSize;

/// The name of the file.
pub const FILE_NAME: &str = "plimsoll.toml";

/// The largest file that is read as a configuration.
pub const MAX_CONFIG: ByteSize = ByteSize::mib(1);

/// The configuration of `folder`: that in it or, where there is none, in the nearest folder above it, up to the root of the
/// repository. Where a folder is in no repository the search ends at the root of the file system.
pub fn find(folder: &Path) -> Option<PathBuf> {
    for folder in folder.ancestors() {
        let file = folder.join(FILE_NAME);
        if file.is_file() {
            return Some(file);
        }
        if folder.join(".git").exists() {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;

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
}
