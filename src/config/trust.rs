//! Checks that a configuration which was found, and not named, belongs to the user.
//!
//! The rule follows git's `safe.directory`: a file that another user left in the way must not start a program or write
//! anywhere. The owner of the file, of the link to it, if any, and of its folder must be the user of this process or
//! root; root also trusts the user who called sudo, as git does.

use std::env;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A part of the way to a configuration that belongs to another user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// The file, or its folder.
    pub path: PathBuf,
    /// The number of the user that it belongs to.
    pub owner: u32,
    /// The number of the user of this process.
    pub user: u32,
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} belongs to user {} and you are user {}", self.path.display(), self.owner, self.user)
    }
}

/// The part of the way to the configuration `file`, opened from `path`, that belongs to another user; `None` if there is
/// none.
pub(super) fn stranger(path: &Path, file: &File) -> io::Result<Option<Stranger>> {
    let user = rustix::process::geteuid().as_raw();
    let sudo = env::var("SUDO_UID").ok().and_then(|text| text.parse().ok());
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let owners =
        [(path, file.metadata()?.uid()), (path, path.symlink_metadata()?.uid()), (folder, folder.metadata()?.uid())];
    let other = owners.into_iter().find(|&(_, owner)| !trusts(user, sudo, owner));
    Ok(other.map(|(path, owner)| Stranger { path: path.to_owned(), owner, user }))
}

/// Whether `user`, who was called by `sudo`, trusts what belongs to `owner`.
fn trusts(user: u32, sudo: Option<u32>, owner: u32) -> bool {
    const ROOT: u32 = 0;
    owner == user || owner == ROOT || (user == ROOT && sudo == Some(owner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_trusts_themselves_and_root_and_root_who_called_sudo() {
        for (user, sudo, owner, trusted) in [
            (1000, None, 1000, true),
            (1000, None, 0, true),
            (1000, None, 1001, false),
            (1000, Some(1001), 1001, false),
            (0, None, 0, true),
            (0, None, 1000, false),
            (0, Some(1000), 1000, true),
            (0, Some(1000), 1001, false),
        ] {
            assert_eq!(trusts(user, sudo, owner), trusted, "{user} {sudo:?} {owner}");
        }
    }
}
