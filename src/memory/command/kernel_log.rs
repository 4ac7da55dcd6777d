//! [`KernelLog`]: the kernel's messages while a command runs.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;

/// The kernel cuts longer records.
const LONGEST_RECORD: usize = 8 << 10;

/// Maximum number of records read; the kernel's report of a kill has some hundred.
const MOST_RECORDS: usize = 20_000;

/// The position in the kernel's log when a command began.
#[derive(Debug)]
pub struct KernelLog(File);

impl KernelLog {
    /// Remembers the present end of the log. `None` if this user may not read it.
    pub fn begin() -> Option<Self> {
        let mut log = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg").ok()?;
        log.seek(SeekFrom::End(0)).ok()?;
        Some(Self(log))
    }

    /// The messages logged since then, one line per record.
    pub fn since(self) -> Vec<u8> {
        read(self.0)
    }
}

/// Reads the records of `log`, one per `read`, as lines.
fn read(mut log: impl Read) -> Vec<u8> {
    let mut lines = Vec::new();
    let mut record = [0; LONGEST_RECORD];
    for _ in 0..MOST_RECORDS {
        match log.read(&mut record) {
            Ok(0) => break,
            Ok(count) => line(&record[..count], &mut lines),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Newer records overwrote the oldest; the next read returns the oldest remaining one.
            Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
            Err(_) => break,
        }
    }
    lines
}

/// Adds a record of `/dev/kmsg`, `priority,sequence,microseconds,flags;message`, in the format of dmesg. Lines below
/// the first are the record's dictionary.
fn line(record: &[u8], lines: &mut Vec<u8>) {
    let Some(at) = record.iter().position(|byte| *byte == b';') else { return };
    let message = record[at + 1..].split(|byte| *byte == b'\n').next().unwrap_or_default();
    let time = record[..at].split(|byte| *byte == b',').nth(2).and_then(|time| std::str::from_utf8(time).ok());
    if let Some(time) = time.and_then(|time| time.parse::<u64>().ok()) {
        lines.extend_from_slice(format!("[{:5}.{:06}] ", time / 1_000_000, time % 1_000_000).as_bytes());
    }
    lines.extend_from_slice(message);
    lines.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one record per read, as the kernel does.
    struct Records(Vec<io::Result<&'static str>>);

    impl Read for Records {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let Some(next) = self.0.pop() else { return Err(io::ErrorKind::WouldBlock.into()) };
            next.map(|text| {
                out[..text.len()].copy_from_slice(text.as_bytes());
                text.len()
            })
        }
    }

    #[test]
    fn records_become_the_lines_of_dmesg() {
        let records = vec![
            Ok("no record at all"),
            Ok("3,1331,5951424519,-;Memory cgroup out of memory: Killed process 20876 (sh); UID:0\n SUBSYSTEM=mm\n"),
            Err(io::Error::from_raw_os_error(libc::EPIPE)),
            Ok("6,1330,17,-;eth0: up\n"),
        ];
        let text = String::from_utf8(read(Records(records))).unwrap();
        let expected =
            "[    0.000017] eth0: up\n[ 5951.424519] Memory cgroup out of memory: Killed process 20876 (sh); UID:0\n";
        assert_eq!(text, expected);
    }
}
