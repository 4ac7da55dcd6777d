//! The test harness of this process, and whether other tests may run beside one that measures a block.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// libtest sets this variable in a process that runs a single test, if panics abort.
const INVOKED: &str = "__RUST_TEST_INVOKE";
/// The number of tests that libtest runs in parallel, unless an argument sets it.
const THREADS: &str = "RUST_TEST_THREADS";
/// The name of a variable that only libtest reads, in lower case: in upper case, the constant itself would put it into
/// every program.
const MARK: &[u8] = b"rust_test_time_integration";
/// How much of the program is searched at a time.
const CHUNK: usize = 1 << 20;

/// The test harness of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runner {
    /// Not libtest: a program, a doctest, a test with `harness = false`.
    Other,
    /// libtest with one test at a time, as nextest runs it.
    OneAtATime,
    /// libtest with several tests at a time.
    Several,
}

/// The test harness of this process, determined once.
pub(super) fn runner() -> Runner {
    static KNOWN: OnceLock<Runner> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        let threads = std::env::var(THREADS).ok();
        if std::env::var_os(INVOKED).is_some() || one_at_a_time(&arguments, threads.as_deref()) {
            Runner::OneAtATime
        } else if holds_libtest() {
            Runner::Several
        } else {
            Runner::Other
        }
    })
}

/// Whether these arguments make libtest run one test at a time.
fn one_at_a_time(arguments: &[OsString], threads: Option<&str>) -> bool {
    // The value of a flag counts as a name as well; the test is then isolated, which is always correct.
    let names = arguments.iter().filter(|argument| !argument.as_encoded_bytes().starts_with(b"-")).count();
    if names == 1 && arguments.iter().any(|argument| argument == "--exact") {
        return true;
    }
    let given = arguments.iter().enumerate().find_map(|(at, argument)| match argument.to_str()? {
        "--test-threads" => arguments.get(at + 1).and_then(|threads| threads.to_str()),
        argument => argument.strip_prefix("--test-threads="),
    });
    match given.or(threads) {
        Some(threads) => threads.trim() == "1",
        None => std::thread::available_parallelism().is_ok_and(|threads| threads.get() == 1),
    }
}

/// Whether libtest is linked into this program.
fn holds_libtest() -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let (Ok(path), Ok(program)) = (std::fs::read_link("/proc/self/exe"), File::open("/proc/self/exe")) else {
        return false;
    };
    let (mark, mut buffer) = (MARK.to_ascii_uppercase(), vec![0; CHUNK]);
    maps.lines().filter_map(Mapped::parse).any(|mapped| {
        let name = mapped.path.rsplit('/').next().unwrap_or_default();
        // With `-C prefer-dynamic`, libtest is a shared library.
        (name.starts_with("libtest-") && name.ends_with(".so"))
            || (OsStr::new(mapped.path) == path.as_os_str() && holds(&program, &mapped, &mark, &mut buffer))
    })
}

/// A part of a file that is mapped readable but not writable.
struct Mapped<'a> {
    offset: u64,
    length: u64,
    path: &'a str,
}

impl<'a> Mapped<'a> {
    /// Parses a line of `/proc/PID/maps`.
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.splitn(6, ' ');
        let (from, to) = words.next()?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        words.next().filter(|allowed| allowed.starts_with("r-"))?;
        let offset = number(words.next()?)?;
        Some(Self { offset, length: number(to)?.checked_sub(number(from)?)?, path: words.nth(2)?.trim_start() })
    }
}

/// Whether `mark` occurs in this part of the program.
fn holds(program: &File, mapped: &Mapped<'_>, mark: &[u8], buffer: &mut [u8]) -> bool {
    let (mut at, end) = (mapped.offset, mapped.offset + mapped.length);
    // Chunks overlap, so that a mark across a boundary is found.
    while at < end {
        let wanted = buffer.len().min((end - at) as usize);
        let Ok(read @ 1..) = program.read_at(&mut buffer[..wanted], at) else { return false };
        if contains(&buffer[..read], mark) {
            return true;
        }
        if read <= mark.len() {
            return false;
        }
        at += (read - mark.len()) as u64;
    }
    false
}

/// Whether `needle` occurs in `text`. Uses the C library, which is fast even if the program is built without
/// optimization.
fn contains(text: &[u8], needle: &[u8]) -> bool {
    // SAFETY: both pointers are to slices of the given lengths, and the function only reads them.
    let found = unsafe { libc::memmem(text.as_ptr().cast(), text.len(), needle.as_ptr().cast(), needle.len()) };
    !found.is_null()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_test_at_a_time_is_seen_by_the_arguments() {
        let one = |arguments: &[&str], threads| {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            one_at_a_time(&arguments, threads)
        };
        assert!(one(&["a::b", "--exact", "--nocapture"], Some("8")));
        assert!(one(&["--test-threads=1"], Some("8")) && one(&["--test-threads", "1"], None) && one(&[], Some("1")));
        for several in [&["a::b"][..], &["a", "b", "--exact"], &["--test-threads", "2"], &["--exact"]] {
            assert!(!one(several, Some("8")), "{several:?}");
        }
        assert!(!one(&["--test-threads=4"], Some("1")));
    }

    #[test]
    fn libtest_is_found_in_its_own_program_alone() {
        assert!(holds_libtest());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let mark = MARK.to_ascii_uppercase();
        for (text, found) in [
            ([&vec![b'x'; CHUNK - 7][..], &mark, b"yy"].concat(), true),
            ([&vec![b'x'; CHUNK - 7][..], MARK].concat(), false),
            (mark[1..].to_vec(), false),
        ] {
            std::fs::write(&path, &text).unwrap();
            let mapped = Mapped { offset: 0, length: text.len() as u64 + 4096, path: "" };
            assert_eq!(holds(&File::open(&path).unwrap(), &mapped, &mark, &mut vec![0; CHUNK]), found);
        }
    }

    #[test]
    fn mappings_that_may_be_written_are_left_out() {
        let line = "7f00-8f00 r--p 00001000 fe:00 1234                      /a b/test";
        let mapped = Mapped::parse(line).unwrap();
        assert_eq!((mapped.offset, mapped.length, mapped.path), (0x1000, 0x1000, "/a b/test"));
        for other in ["7f00-8f00 rw-p 00001000 fe:00 1234 /a", "7f00-8f00 r--p 0 0:0 0", "", "x-y r--p 0 0 0 /a"] {
            assert!(Mapped::parse(other).is_none_or(|mapped| mapped.path.is_empty()), "{other}");
        }
    }
}
