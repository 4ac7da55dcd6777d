//! The processor's caches as the kernel reports them.

use std::fs;
use std::path::Path;

use crate::bytes::ByteSize;

/// A directory with one folder per processor.
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// The size of the last-level cache: the largest data cache of the highest level over all processors, because a thread
/// may run on any of them. `None` if the kernel does not report it, as in some containers and virtual machines.
pub fn last_level_cache() -> Option<ByteSize> {
    largest_below(Path::new(PROCESSORS))
}

fn largest_below(processors: &Path) -> Option<ByteSize> {
    let caches = |processor: fs::DirEntry| {
        let folder = fs::read_dir(processor.path().join("cache")).ok()?;
        folder.flatten().filter_map(|cache| level_and_size(&cache.path())).max().map(|(_, size)| size)
    };
    fs::read_dir(processors).ok()?.flatten().filter_map(caches).max()
}

/// The level and size of the cache that the folder `index` describes; `None` for a pure instruction cache.
fn level_and_size(index: &Path) -> Option<(u32, ByteSize)> {
    let text = |name| fs::read_to_string(index.join(name)).ok();
    if text("type")?.trim() == "Instruction" {
        return None;
    }
    // The kernel writes a number of KiB: `32768K`.
    let size = text("size")?.trim().strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1024)?;
    (size > 0).then_some((text("level")?.trim().parse().ok()?, ByteSize::new(size)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_level_counts_and_the_largest_of_all_processors() {
        let folder = tempfile::tempdir().unwrap();
        let cache = |place: &str, level: &str, kind: &str, size: &str| {
            let index = folder.path().join(place);
            fs::create_dir_all(&index).unwrap();
            for (name, text) in [("level", level), ("type", kind), ("size", size)] {
                fs::write(index.join(name), format!("{text}\n")).unwrap();
            }
        };
        assert_eq!(largest_below(folder.path()), None);
        cache("cpu0/cache/index0", "1", "Data", "48K");
        cache("cpu0/cache/index1", "4", "Instruction", "99999K");
        cache("cpu0/cache/index2", "2", "Unified", "65536K");
        cache("cpu0/cache/index3", "3", "Unified", "32768K");
        assert_eq!(largest_below(folder.path()), Some(ByteSize::mib(32)));
        cache("cpu9/cache/index3", "3", "Unified", "98304K");
        assert_eq!(largest_below(folder.path()), Some(ByteSize::mib(96)));
        cache("cpu10/cache/index3", "3", "Unified", "18446744073709551615K");
        cache("cpu11/cache/index3", "3", "Unified", "0K");
        fs::create_dir_all(folder.path().join("cpufreq")).unwrap();
        assert_eq!(largest_below(folder.path()), Some(ByteSize::mib(96)), "what cannot be is passed over");
    }
}
