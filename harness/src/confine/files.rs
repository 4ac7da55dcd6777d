//! Restricts files, TCP ports, signals and other processes by Landlock.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, Scope,
};

use super::Rights;

/// The newest version of Landlock that is used; an older one is used for what it supports.
const NEWEST: ABI = ABI::V6;
/// How deep a folder is searched for hidden paths.
const DEEPEST: usize = 64;

/// Limits this process and its descendants to the files of `rights`, without TCP and without signals to processes
/// outside.
pub fn restrict(rights: &Rights) -> Result<(), RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    // Only its own processes; this process becomes the worker.
    let own = [PathBuf::from("/proc/self")];
    for (paths, access) in [
        (&rights.read[..], AccessFs::from_read(NEWEST)),
        (&own[..], AccessFs::from_read(NEWEST)),
        (&rights.write[..], AccessFs::from_all(NEWEST)),
    ] {
        for path in paths {
            // Missing files need no rule.
            let Ok(place) = PathFd::new(path) else { continue };
            let of_file = AccessFs::from_file(NEWEST);
            let access = if path.is_dir() { access } else { access & of_file };
            rules = rules.add_rule(PathBeneath::new(place, access))?;
        }
    }
    rules.restrict_self().map(drop)
}

/// `folder`, or its contents without `hidden`: a rule can only allow.
pub fn without(folder: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    let mut allowed = Vec::new();
    collect(folder, hidden, DEEPEST, &mut allowed);
    allowed
}

fn collect(path: &Path, hidden: &[PathBuf], depth: usize, allowed: &mut Vec<PathBuf>) {
    if hidden.iter().any(|hidden| path.starts_with(hidden)) || depth == 0 {
        return;
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(path)) {
        allowed.push(path.to_owned());
        return;
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.for_each(|entry| collect(&entry.path(), hidden, depth - 1, allowed));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_allowed_but_for_what_is_hidden_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["kernels", "captures/secret", "captures/other"] {
            std::fs::create_dir_all(path(name)).unwrap();
        }
        assert_eq!(without(&path("kernels"), &[path("captures")]), [path("kernels")]);
        let mut some = without(dir.path(), &[path("captures/secret")]);
        some.sort();
        assert_eq!(some, [path("captures/other"), path("kernels")]);
        assert!(without(&path("captures/secret/deeper"), &[path("captures")]).is_empty());
    }
}
