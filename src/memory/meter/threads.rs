//! The threads of this process: how long each ran, and how many pages it touched for the first time.

use std::time::{Duration, Instant};

use super::text::{number, read_path};

/// What one thread of this process has done since it started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadUsage {
    pub(crate) id: u32,
    /// The kernel keeps 15 bytes of it.
    pub(crate) name: String,
    /// Absent if the kernel keeps no scheduler statistics.
    pub(crate) processor: Option<Duration>,
    pub(crate) minor_faults: u64,
}

/// The present threads of this process; empty if /proc cannot be read.
pub(crate) fn own_threads() -> Vec<ThreadUsage> {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    let mut buffer = Vec::new();
    let mut one = |id: u32| {
        let (name, minor_faults) = parse(read_path(&format!("/proc/self/task/{id}/stat"), &mut buffer).ok()?)?;
        Some(ThreadUsage { id, name, processor: processor_time(id), minor_faults })
    };
    tasks.filter_map(|task| one(task.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

/// How long a thread of this process has run; `None` if it is gone, or the kernel does not report it.
pub(crate) fn processor_time(id: u32) -> Option<Duration> {
    let mut buffer = Vec::new();
    let text = read_path(&format!("/proc/self/task/{id}/schedstat"), &mut buffer).ok()?;
    number(text.split(|&byte| byte == b' ').next()?).map(Duration::from_nanos)
}

/// Waits until the main thread of this process is waiting for something itself, for at most `limit`; returns at once if
/// this is the main thread, or if its state cannot be read.
pub(crate) fn await_main_thread(limit: Duration) {
    let (process, began) = (std::process::id(), Instant::now());
    if crate::thread::is_main() {
        return;
    }
    let (path, mut buffer) = (format!("/proc/self/task/{process}/stat"), Vec::new());
    while read_path(&path, &mut buffer).is_ok_and(runs) && began.elapsed() < limit {
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// Whether a `stat` shows a running or runnable thread.
fn runs(stat: &[u8]) -> bool {
    state(stat) == Some(b'R')
}

fn state(stat: &[u8]) -> Option<u8> {
    stat.iter().rposition(|&b| b == b')').and_then(|close| stat.get(close + 2)).copied()
}

/// Whether this process no longer has a thread with this id.
pub(crate) fn is_gone(id: u32) -> bool {
    !std::path::Path::new(&format!("/proc/self/task/{id}")).exists()
}

/// The name and the minor faults in a thread's `stat`, without the faults of reaped processes.
fn parse(text: &[u8]) -> Option<(String, u64)> {
    // The name is in parentheses and may contain any byte but NUL: only the last parenthesis closes it.
    let (open, close) = (text.iter().position(|&b| b == b'(')?, text.iter().rposition(|&b| b == b')')?);
    let name = String::from_utf8_lossy(text.get(open + 1..close)?).into_owned();
    let mut fields = text[close + 1..].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    Some((name, number(fields.nth(7)?)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_stat_has_name_and_faults() {
        let text = b"439 (a) S 1 (b)) S 410 439 439 0 -1 4194624 40558 1581227 0 255 69 265 4772 5144 20 0 13 0 25 1\n";
        assert_eq!(parse(text), Some(("a) S 1 (b)".to_owned(), 40_558)));
        assert_eq!((parse(b"439 (sh) S 410"), parse(b") S ("), parse(b"")), (None, None, None));
    }

    #[test]
    fn a_running_thread_is_distinguished_from_a_waiting_one() {
        assert!(runs(b"439 (S) R 410 439") && !runs(b"439 (R) S 410 439") && !runs(b"439 (R)") && !runs(b""));
        // The test harness waits for its tests; otherwise the limit applies.
        await_main_thread(Duration::from_millis(20));
    }

    #[test]
    fn this_thread_is_among_them_and_what_it_touches_is_counted() {
        let id = crate::thread::id();
        let own = || own_threads().into_iter().find(|thread| thread.id == id).unwrap();
        let before = own();
        // A map of its own: the heap may return pages that another test has touched. Whole huge pages may take one
        // fault each.
        let mut touched = memmap2::MmapMut::map_anon(8 << 20).unwrap();
        touched.fill(1);
        let mut after = own();
        // The kernel updates a thread's run time on clock ticks, and all of this may happen between two.
        while after.processor.is_some() && after.processor == before.processor {
            touched.fill(2);
            after = own();
        }
        assert!(after.minor_faults > before.minor_faults, "{before:?} {after:?}");
        assert!(after.processor > before.processor && processor_time(id) >= after.processor);
        assert_eq!((touched.len(), processor_time(u32::MAX)), (8 << 20, None));
        assert!(is_gone(u32::MAX) && !is_gone(id));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&text);
        }
    }
}
