//! [`Made`]: a kernel's identity, which grows as more of its files become known.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use plimsoll::kernel::{KernelIdentity, KernelSpec, SpecError, file_digest};

/// The first bytes of a compiled file.
const ELF: &[u8] = b"\x7fELF";

/// A kernel, and its known files.
pub struct Made {
    identity: KernelIdentity,
    /// The digest of the kernel's own file, which its workers must find again.
    own: Option<String>,
    /// The folder of the kernel's own file.
    folder: PathBuf,
    /// Whether the sources were named, so that built files do not count.
    declared: bool,
    /// Their digests.
    files: BTreeMap<PathBuf, String>,
}

impl Made {
    /// The kernel `spec`; the files `declared` are known to belong to it.
    ///
    /// # Errors
    /// The kernel's file or one of `declared` cannot be read, or the file does not have the kernel.
    pub fn of(spec: &KernelSpec, declared: &[PathBuf]) -> Result<Self, SpecError> {
        let mut identity = spec.identity()?;
        let own = identity.digest.clone();
        if !declared.is_empty() && matches!(spec, KernelSpec::Library { .. }) {
            identity.digest = None;
        }
        let folder = spec.file().and_then(|file| Some(file.canonicalize().ok()?.parent()?.to_owned()));
        let mut made = Self {
            identity,
            own,
            folder: folder.unwrap_or_default(),
            declared: !declared.is_empty(),
            files: BTreeMap::new(),
        };
        for file in declared {
            let failed = |source| SpecError::File { file: file.clone(), source };
            let path = file.canonicalize().map_err(failed)?;
            let digest = file_digest(&path).map_err(failed)?;
            made.files.insert(path, digest);
        }
        made.name();
        Ok(made)
    }

    /// The kernel as known so far.
    pub fn identity(&self) -> &KernelIdentity {
        &self.identity
    }

    /// Adds files that a worker saw the kernel read. A file that no longer exists was only a step of the build.
    pub fn add(&mut self, paths: Vec<PathBuf>) {
        for path in paths {
            let Ok(path) = path.canonicalize() else { continue };
            // Never open files of a worker that do not end or that wait for another process.
            if !path.is_file() || self.files.contains_key(&path) || (self.declared && is_built(&path)) {
                continue;
            }
            if let Ok(digest) = file_digest(&path) {
                self.files.insert(path, digest);
            }
        }
        self.name();
    }

    /// The changed file: the kernel's own, or another that belongs to it.
    pub fn changed(&self, spec: &KernelSpec) -> Option<String> {
        match spec.identity() {
            Ok(now) if now.digest == self.own => {}
            Ok(_) => return Some(format!("the file of {}", self.identity.name)),
            Err(error) => return Some(format!("the file of {} ({error})", self.identity.name)),
        }
        let changed = |(path, digest): &(&PathBuf, &String)| file_digest(path).ok().as_ref() != Some(*digest);
        let (path, _) = self.files.iter().find(changed)?;
        Some(format!("{}, which {} is made of,", path.display(), self.identity.name))
    }

    fn name(&mut self) {
        let files = self.files.iter().map(|(path, digest)| (path.as_path(), digest.as_str()));
        self.identity = self.identity.clone().with_sources(&self.folder, files);
    }
}

/// Whether a compiler has made the file.
fn is_built(path: &Path) -> bool {
    let mut head = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok_and(|()| head == ELF)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn kernel(folder: &Path) -> KernelSpec {
        let file = folder.join("k.py");
        fs::write(&file, "def launch(): pass").unwrap();
        KernelSpec::Python { file, function: "launch".to_owned() }
    }

    #[test]
    fn what_may_never_end_is_no_source() {
        let dir = tempfile::tempdir().unwrap();
        let (spec, pipe) = (kernel(dir.path()), dir.path().join("pipe"));
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        for other in [pipe, "/dev/zero".into(), dir.path().to_owned()] {
            assert!(matches!(Made::of(&spec, std::slice::from_ref(&other)), Err(SpecError::File { .. })));
            let spec = KernelSpec::Python { file: other, function: "launch".to_owned() };
            assert!(matches!(Made::of(&spec, &[]), Err(SpecError::File { .. })), "{spec:?}");
        }
    }

    #[test]
    fn a_kernel_is_everything_that_was_seen_wherever_it_lies() {
        let made = |content: &str| {
            let dir = tempfile::tempdir().unwrap();
            let spec = kernel(dir.path());
            let header = dir.path().join("rows.h");
            fs::write(&header, content).unwrap();
            let mut made = Made::of(&spec, &[]).unwrap();
            assert!(made.identity().sources.is_empty());
            made.add(vec![header.clone(), header.clone(), dir.path().join("gone.cpp")]);
            assert_eq!(made.changed(&spec), None);
            fs::write(&header, "other").unwrap();
            assert!(made.changed(&spec).unwrap().contains("rows.h"));
            made.identity().clone()
        };
        let one = made("a");
        assert_eq!(one.sources.len(), 1);
        assert_eq!(made("a"), one);
        assert_ne!(made("b"), one);
    }

    #[test]
    fn where_sources_are_named_what_is_built_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let spec = kernel(dir.path());
        let (source, built) = (dir.path().join("rows.c"), dir.path().join("rows.so"));
        fs::write(&source, "int x;").unwrap();
        fs::write(&built, "\x7fELF and code").unwrap();
        let names = |made: Made| made.identity().sources.keys().cloned().collect::<Vec<_>>();
        let of = |declared: &[PathBuf]| {
            let mut made = Made::of(&spec, declared).unwrap();
            made.add(vec![built.clone()]);
            names(made)
        };
        assert_eq!(of(&[]), ["rows.so"]);
        assert_eq!(of(std::slice::from_ref(&source)), ["rows.c"]);
        let missing = Made::of(&spec, &[dir.path().join("none.c")]).err().unwrap().to_string();
        assert!(missing.contains("none.c"), "{missing}");
    }
}
