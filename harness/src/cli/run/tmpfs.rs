//! Files in memory (tmpfs, as /dev/shm) that no process has mapped, so that no resident set counts them.

use std::collections::HashSet;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use plimsoll::ByteSize;
use plimsoll::bytes::MIB;
use plimsoll::meter::{Metric, PhaseReadings};

/// The time between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// Growth that is not reported: other programs write there as well.
const SMALL: u64 = 8 * MIB;

/// The file systems in memory to which files can be written.
pub struct Tmpfs {
    mounts: Vec<PathBuf>,
    before: u64,
    most: u64,
    due: Instant,
}

impl Tmpfs {
    /// Looks at the file systems before a command starts.
    pub fn begin() -> Self {
        let mut tmpfs =
            Self { mounts: mounts(&mount_table().unwrap_or_default()), before: 0, most: 0, due: Instant::now() + LOOK };
        tmpfs.before = tmpfs.used();
        tmpfs
    }

    /// Looks at them while it runs, and at its end.
    pub fn look(&mut self) {
        self.most = self.most.max(self.used());
        self.due = Instant::now() + LOOK;
    }

    /// When the next look is due.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// What they held more at most than before, as far as the processes of the command did not map it; absent if that
    /// does not matter beside their resident memory.
    pub fn uncounted(&self, phases: &[PhaseReadings]) -> Option<ByteSize> {
        let peak = |metric| {
            let readings = phases.iter().filter_map(|phase| phase.readings.get(&metric));
            readings.map(|reading| reading.bytes.bytes()).max().unwrap_or_default()
        };
        let uncounted = self.most.saturating_sub(self.before).saturating_sub(peak(Metric::PeakShmem));
        (uncounted >= SMALL.max(peak(Metric::PeakRss) / 20)).then_some(ByteSize::new(uncounted))
    }

    fn used(&self) -> u64 {
        let facts = self.mounts.iter().filter_map(|mount| rustix::fs::statvfs(mount).ok());
        facts.map(|facts| facts.f_blocks.saturating_sub(facts.f_bfree).saturating_mul(facts.f_frsize)).sum()
    }
}

/// `/proc/self/mountinfo`, into a buffer that one read usually fills.
fn mount_table() -> std::io::Result<String> {
    let mut text = String::with_capacity(16 << 10);
    std::fs::File::open("/proc/self/mountinfo")?.read_to_string(&mut text)?;
    Ok(text)
}

/// The places of a `mountinfo` where files in memory can be written, each file system once:
/// `31 23 0:28 ROOT MOUNT OPTIONS .. - TYPE ..`.
fn mounts(text: &str) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    let mount = |line: &str| {
        let (about, kind) = line.split_once(" - ")?;
        let words: Vec<&str> = about.split(' ').collect();
        let (device, path, options) = (*words.get(2)?, *words.get(4)?, *words.get(5)?);
        let is_written = options.split(',').any(|option| option == "rw");
        (kind.starts_with("tmpfs ") && is_written).then(|| (device.to_owned(), PathBuf::from(path)))
    };
    text.lines().filter_map(mount).filter(|(device, _)| seen.insert(device.clone())).map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use plimsoll::meter::{Reading, Source};

    use super::*;

    #[test]
    fn each_file_system_in_memory_counts_once() {
        let text = "23 1 254:0 / / rw - ext4 /dev/vda rw\n\
            31 23 0:28 / /dev/shm rw,nosuid shared:4 - tmpfs tmpfs rw\n\
            32 23 0:28 /a /srv/shared rw - tmpfs tmpfs rw\n\
            33 23 0:29 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro\n\
            34 23 0:30 / /tmp rw - tmpfs tmpfs rw\nbroken - tmpfs\n";
        assert_eq!(mounts(text), [PathBuf::from("/dev/shm"), PathBuf::from("/tmp")]);
    }

    #[test]
    fn what_is_mapped_or_small_is_not_reported() {
        let tmpfs = |growth: u64| Tmpfs { mounts: Vec::new(), before: 5, most: 5 + growth * MIB, due: Instant::now() };
        let phases = |shmem: u64, rss: u64| {
            let reading = |mib| Reading::new(ByteSize::mib(mib), Source::Exact, "");
            let readings = [(Metric::PeakShmem, reading(shmem)), (Metric::PeakRss, reading(rss))];
            [PhaseReadings { readings: readings.into(), ..PhaseReadings::default() }]
        };
        assert_eq!(tmpfs(64).uncounted(&phases(0, 10)), Some(ByteSize::mib(64)));
        assert_eq!(tmpfs(64).uncounted(&phases(40, 50)), Some(ByteSize::mib(24)));
        assert_eq!(tmpfs(64).uncounted(&phases(64, 64)), None);
        assert_eq!(tmpfs(64).uncounted(&phases(0, 2000)), None);
        assert_eq!(tmpfs(4).uncounted(&[]), None);
    }
}
