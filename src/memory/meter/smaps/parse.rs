//! Parses `smaps` mapping by mapping, in bounded memory.

use std::io::{self, BufRead};

use crate::bytes::ByteSize;
use crate::meter::text::{key_values, kilobytes, number};

/// Longer lines are cut: the kernel's paths end at 4096 bytes.
const MAX_LINE: u64 = 16 << 10;

/// One mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// `rw-p`.
    pub(crate) permissions: [u8; 4],
    /// Major and minor number of the mapped file's device; zeros if there is none.
    pub(crate) device: (u32, u32),
    /// The file's path, or a name in brackets; empty for anonymous memory.
    pub(crate) name: Vec<u8>,
    pub(crate) rss: ByteSize,
    /// The anonymous part of it, including private copies of file pages.
    pub(crate) anonymous: ByteSize,
    pub(crate) pss: ByteSize,
    /// Huge pages are disabled for it (`nh` of `VmFlags`), as the kernel does for thread stacks since Linux 6.7.
    pub(crate) no_huge_pages: bool,
}

impl Mapping {
    pub(crate) fn size(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Parses `7f12a000-7f12b000 rw-p 00000000 fe:00 1234     /usr/bin/cat`; `None` for other lines.
    fn parse(line: &[u8]) -> Option<Self> {
        // The kernel pads the line before the name, which may contain blanks.
        let mut rest = line;
        let mut word = || {
            let end = rest.iter().position(|&b| b == b' ').unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            rest = behind.trim_ascii_start();
            word
        };
        let (range, permissions, _offset, device, _inode) = (word(), word(), word(), word(), word());
        let (start, end) = pair(range, b'-')?;
        let (major, minor) = pair(device, b':')?;
        Some(Self {
            start,
            end,
            permissions: permissions.try_into().ok()?,
            device: (u32::try_from(major).ok()?, u32::try_from(minor).ok()?),
            name: rest.to_vec(),
            ..Self::default()
        })
    }

    fn detail(&mut self, line: &[u8]) {
        let Some((key, value)) = key_values(line).next() else { return };
        let amount = || kilobytes(value).unwrap_or_default();
        match key {
            b"Rss" => self.rss = amount(),
            b"Pss" => self.pss = amount(),
            b"Anonymous" => self.anonymous = amount(),
            b"VmFlags" => self.no_huge_pages = value.split(|&b| b == b' ').any(|flag| flag == b"nh"),
            _ => {}
        }
    }
}

fn pair(text: &[u8], between: u8) -> Option<(u64, u64)> {
    let at = text.iter().position(|&b| b == between)?;
    Some((hexadecimal(&text[..at])?, hexadecimal(&text[at + 1..])?))
}

/// A hexadecimal number, with or without `0x`.
pub(crate) fn hexadecimal(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0, |value, &b| Some(value << 4 | u64::from((b as char).to_digit(16)?)))
}

/// Passes every mapping in a text to `visit`, in order of addresses.
///
/// # Errors
/// If the text cannot be read.
pub(crate) fn mappings(text: &mut dyn BufRead, mut visit: impl FnMut(Mapping)) -> io::Result<()> {
    let (mut current, mut line): (Option<Mapping>, Vec<u8>) = (None, Vec::new());
    loop {
        line.clear();
        if io::Read::take(&mut *text, MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let line = line.trim_ascii_end();
        // Addresses are lower case; names of details begin with a capital letter.
        if line.first().is_some_and(u8::is_ascii_uppercase) {
            if let Some(mapping) = &mut current {
                mapping.detail(line);
            }
        } else if let Some(next) = Mapping::parse(line)
            && let Some(complete) = current.replace(next)
        {
            visit(complete);
        }
    }
    current.into_iter().for_each(visit);
    Ok(())
}

/// The devices of in-memory file systems, from a `mountinfo`: `31 23 0:28 ROOT MOUNT OPTIONS .. - TYPE ..`.
pub(crate) fn memory_devices(mounts: &[u8]) -> Vec<(u32, u32)> {
    let device = |line: &[u8]| {
        let mut words = line.split(|&b| b == b' ');
        let device = words.nth(2)?;
        let kind = words.skip_while(|word| *word != b"-").nth(1)?;
        let at = device.iter().position(|&b| b == b':')?;
        let number = |text| u32::try_from(number(text)?).ok();
        matches!(kind, b"tmpfs" | b"ramfs" | b"hugetlbfs").then_some(())?;
        Some((number(&device[..at])?, number(&device[at + 1..])?))
    };
    mounts.split(|&b| b == b'\n').filter_map(device).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMAPS: &[u8] = b"55f3557bf000-55f3557c1000 r--p 00000000 fe:00 247030                     /usr/bin/a b\n\
        Size:                  8 kB\nRss:                   8 kB\nPss:                   3 kB\nPss_Dirty:             1 kB\n\
        Anonymous:             4 kB\nVmFlags: rd mr mw me \n7f2b00000000-7f2b00021000 rw-p 00000000 00:00 0 \n\
        Rss:                  12 kB\nPss:                  12 kB\nAnonymous:            12 kB\nVmFlags: rd wr nh nr \n";

    fn parse(text: &[u8]) -> Vec<Mapping> {
        let mut found = Vec::new();
        mappings(&mut &text[..], |mapping| found.push(mapping)).unwrap();
        found
    }

    #[test]
    fn mappings_are_parsed_with_what_they_hold() {
        let kib = |n: u64| ByteSize::new(n * 1024);
        let file = Mapping {
            start: 0x55f3_557b_f000,
            end: 0x55f3_557c_1000,
            permissions: *b"r--p",
            device: (0xfe, 0),
            name: b"/usr/bin/a b".to_vec(),
            rss: kib(8),
            anonymous: kib(4),
            pss: kib(3),
            no_huge_pages: false,
        };
        let found = parse(SMAPS);
        assert_eq!(found[0], file);
        assert_eq!(
            (found.len(), found[1].name.as_slice(), found[1].rss, found[1].no_huge_pages),
            (2, &b""[..], kib(12), true)
        );
    }

    #[test]
    fn file_systems_in_memory_are_found() {
        let mounts = b"23 1 254:0 / / rw - ext4 /dev/vda rw\n31 23 0:28 / /dev/shm rw shared:4 - tmpfs tmpfs rw\n\
            33 23 0:30 / /a\\040b rw - ramfs none rw\nx\n";
        assert_eq!(memory_devices(mounts), [(0, 28), (0, 30)]);
    }

    #[test]
    fn own_mappings_add_up_to_the_resident_set() {
        let file = std::fs::File::open("/proc/self/smaps").unwrap();
        let (mut rss, mut count) = (ByteSize::ZERO, 0);
        mappings(&mut io::BufReader::new(file), |mapping| {
            rss += mapping.rss;
            count += 1;
        })
        .unwrap();
        assert!(count > 10 && rss > ByteSize::mib(1), "{count} mappings with {rss}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in prop::collection::vec(any::<u8>(), 0..400)) {
            parse(&text);
            memory_devices(&text);
        }
        #[test]
        fn no_cut_text_panics(cut in 0..SMAPS.len()) {
            prop_assert!(parse(&SMAPS[..cut]).len() <= 2);
        }
    }
}
