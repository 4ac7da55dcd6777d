//! The libraries that a kernel's library loads: files that are mapped after loading and were not before.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use plimsoll::kernel::KernelSpec;

/// System folders: files there belong to the machine, unless the kernel itself is there.
const SYSTEM: [&str; 6] = ["/lib", "/lib32", "/lib64", "/opt", "/usr", "/var/lib"];
/// Folders of installed Python packages.
const INSTALLED: [&str; 2] = ["site-packages", "dist-packages"];
/// The implementation of the ABI, which is not part of a kernel.
const RUNTIME: &str = "libtvm_ffi.so";

/// The files of this process's code.
pub fn mapped() -> BTreeSet<PathBuf> {
    fs::read_to_string("/proc/self/maps").map(|maps| files(&maps)).unwrap_or_default()
}

fn files(maps: &str) -> BTreeSet<PathBuf> {
    let code =
        maps.lines().filter(|line| line.split_ascii_whitespace().nth(1).is_some_and(|rights| rights.contains('x')));
    let paths = code.filter_map(|line| Some(PathBuf::from(&line[line.find('/')?..])));
    paths.filter(|path| !path.as_os_str().to_string_lossy().ends_with(" (deleted)")).collect()
}

/// The files of the kernel `spec` that are new since `before`.
pub fn linked(spec: &KernelSpec, before: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let KernelSpec::Library { file, .. } = spec else { return Vec::new() };
    let Ok(own) = file.canonicalize() else { return Vec::new() };
    mapped().difference(before).filter(|path| **path != own && belongs(path, &own)).cloned().collect()
}

/// Whether the library at `path` belongs to the kernel at `own`, and not to the machine.
fn belongs(path: &Path, own: &Path) -> bool {
    let beside = own.parent().is_some_and(|folder| path.starts_with(folder));
    let installed = path.components().any(|part| INSTALLED.iter().any(|name| part.as_os_str() == *name));
    let system = SYSTEM.iter().any(|folder| path.starts_with(folder));
    let runtime = path.file_name().is_some_and(|name| name == RUNTIME);
    !runtime && !installed && (beside || !system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_files_is_read_off_the_map() {
        let maps = "\
55d0-55d1 r--p 00000000 08:01 1 /usr/bin/plimsoll
55d1-55d9 r-xp 00001000 08:01 1 /usr/bin/plimsoll
7f00-7f01 r-xp 00000000 08:01 2 /home/a b/librows.so
7f01-7f02 rw-p 00000000 00:00 0
7f02-7f03 r-xp 00000000 00:00 0 [vdso]
7f03-7f04 r-xp 00000000 08:01 3 /tmp/gone.so (deleted)
";
        let expected = ["/home/a b/librows.so", "/usr/bin/plimsoll"].map(PathBuf::from);
        assert_eq!(files(maps), BTreeSet::from(expected));
    }

    #[test]
    fn what_the_machine_has_is_no_part_of_a_kernel() {
        let belongs = |path: &str, own: &str| belongs(path.as_ref(), own.as_ref());
        assert!(belongs("/home/k/librows.so", "/home/k/k.so") && belongs("/srv/librows.so", "/home/k/k.so"));
        assert!(!belongs("/usr/lib/libm.so.6", "/home/k/k.so"));
        assert!(belongs("/opt/k/lib/librows.so", "/opt/k/k.so") && !belongs("/opt/cuda/libcudart.so", "/opt/k/k.so"));
        assert!(!belongs("/home/v/site-packages/tvm/libx.so", "/home/v/k.so"));
        assert!(!belongs("/home/k/libtvm_ffi.so", "/home/k/k.so"));
    }
}
