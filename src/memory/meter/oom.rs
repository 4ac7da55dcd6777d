//! The kernel's count of out-of-memory kills: the evidence that a SIGKILL came from the kernel.

use super::error::MeterError;
use super::text::{number, read_path};

/// How many processes the kernel's out-of-memory killer has killed since the system started, on the whole system and in
/// every cgroup (`oom_kill` of /proc/vmstat, since Linux 4.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OomKills(u64);

impl OomKills {
    /// The source of the count.
    pub const COUNTER: &'static str = "oom_kill of /proc/vmstat";

    pub(crate) const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The present count; `None` if the kernel does not keep it.
    ///
    /// # Errors
    /// [`MeterError`] if /proc/vmstat cannot be read.
    pub fn read() -> Result<Option<Self>, MeterError> {
        let mut buffer = Vec::new();
        let text = read_path("/proc/vmstat", &mut buffer)
            .map_err(|source| MeterError::Read { path: "/proc/vmstat".into(), source })?;
        Ok(parse(text))
    }

    /// The kills between `earlier` and this reading.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

fn parse(text: &[u8]) -> Option<OomKills> {
    text.split(|&b| b == b'\n').find_map(|line| number(line.strip_prefix(b"oom_kill ")?)).map(OomKills)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_among_the_others() {
        assert_eq!(parse(b"pgmajfault 12\noom_kill 3\nnuma_hit 5\n"), Some(OomKills(3)));
        assert_eq!(parse(b"oom_kill_disabled 3\n"), None);
        assert_eq!(OomKills(5).since(OomKills(3)), 2);
    }

    #[test]
    fn this_kernel_keeps_it() {
        assert!(OomKills::read().unwrap().is_some());
    }
}
