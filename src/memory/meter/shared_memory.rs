//! Whether two processes share one memory, as a vfork child does with its parent until it executes its program.

use std::time::Duration;

use super::process::ProcessMemory;
use crate::bytes::{ByteSize, MIB};

/// If the kernel does not answer, a child is assumed to share its parent's memory for at most this long.
const BORROWS_AT_MOST: Duration = Duration::from_secs(1);

/// A forked process and its parent in one pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forked {
    pub(crate) pid: u32,
    pub(crate) memory: ProcessMemory,
    pub(crate) age: Duration,
    pub(crate) parent: u32,
    pub(crate) parent_memory: ProcessMemory,
}

impl Forked {
    /// Whether its memory is its parent's: according to the kernel or, if that is refused as in many containers, to its
    /// counters.
    pub(crate) fn borrows_memory(&self) -> bool {
        same_memory(self.pid, self.parent).unwrap_or_else(|| self.looks_borrowed())
    }

    /// Whether it holds anonymous memory that its parent does not: it lives on as a fork and allocated memory, or the
    /// parent released some. A child that only waits for exec allocates none.
    pub(crate) fn has_grown(&self) -> bool {
        let more = |parent: ByteSize, own: ByteSize| own.bytes() > parent.bytes().saturating_add(MIB);
        self.parent_memory.anon.zip(self.memory.anon).is_some_and(|(parent, own)| more(parent, own))
    }

    fn looks_borrowed(&self) -> bool {
        let close = |a: u64, b: u64| a.abs_diff(b) <= MIB.max(b / 64);
        self.age < BORROWS_AT_MOST && close(self.memory.rss.bytes(), self.parent_memory.rss.bytes())
    }
}

/// Asks the kernel (kcmp); `None` if it does not answer.
fn same_memory(a: u32, b: u32) -> Option<bool> {
    /// `KCMP_VM` of linux/kcmp.h.
    const MEMORY: libc::c_int = 1;
    let (a, b) = (libc::pid_t::try_from(a).ok()?, libc::pid_t::try_from(b).ok()?);
    // SAFETY: kcmp takes five integers, of which the last two are ignored for KCMP_VM; it touches no memory.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, a, b, MEMORY, 0, 0) };
    (order >= 0).then_some(order == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_shares_its_memory_with_itself_alone() {
        let own = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let answers = (same_memory(own, own), same_memory(own, child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        // The kernel may refuse to answer, but must not be wrong.
        assert!(matches!(answers, (Some(true), Some(false)) | (None, None)), "{answers:?}");
        assert_eq!(same_memory(own, u32::MAX), None);
    }

    #[test]
    fn counters_decide_if_the_kernel_does_not_answer() {
        let memory = |mib| ProcessMemory {
            peak_rss: None,
            rss: ByteSize::mib(mib),
            anon: None,
            file: None,
            shmem: None,
            swap: None,
            hugetlb: None,
        };
        let looks_borrowed = |mib, seconds| {
            let age = Duration::from_secs(seconds);
            Forked { pid: 2, memory: memory(mib), age, parent: 1, parent_memory: memory(200) }.looks_borrowed()
        };
        assert!(looks_borrowed(200, 0) && looks_borrowed(198, 0));
        assert!(!looks_borrowed(190, 0) && !looks_borrowed(200, 2));
    }

    #[test]
    fn a_fork_has_grown_where_it_holds_more_than_its_parent() {
        let memory = |anon: Option<u64>| ProcessMemory {
            peak_rss: None,
            rss: ByteSize::mib(200),
            anon: anon.map(ByteSize::mib),
            file: None,
            shmem: None,
            swap: None,
            hugetlb: None,
        };
        let has_grown = |parent, own| {
            let (memory, parent_memory) = (memory(own), memory(parent));
            Forked { pid: 2, memory, age: Duration::ZERO, parent: 1, parent_memory }.has_grown()
        };
        assert!(has_grown(Some(8), Some(72)));
        assert!(!has_grown(Some(72), Some(72)) && !has_grown(Some(72), Some(8)) && !has_grown(Some(8), Some(9)));
        assert!(!has_grown(None, Some(72)) && !has_grown(Some(8), None));
    }
}
