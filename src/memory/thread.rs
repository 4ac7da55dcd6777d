//! The calling thread: its id and its processor time.
//!
//! Makes two system calls through `libc`. `rustix` has them behind features that take a second to build, which would
//! delay every test that depends on this package.

use std::time::Duration;

/// The kernel's id of this thread. Never allocates or fails, so that an allocator can call it.
pub(crate) fn id() -> u32 {
    // SAFETY: takes no arguments and reads no memory of this process.
    unsafe { libc::gettid() }.unsigned_abs()
}

/// Whether this is the thread that the process began with.
pub(crate) fn is_main() -> bool {
    id() == std::process::id()
}

/// The processor time of this thread: a cost that does not grow when others use the processor.
pub(crate) fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a `timespec` that lives until the call returns.
    if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } != 0 {
        return Duration::ZERO;
    }
    Duration::new(time.tv_sec.try_into().unwrap_or_default(), time.tv_nsec.try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_an_id_and_a_time_of_its_own() {
        let own = id();
        std::thread::spawn(move || {
            assert_ne!(id(), own);
            assert!(!is_main());
            assert!(std::path::Path::new(&format!("/proc/self/task/{}", id())).exists());
            let before = processor_time();
            while processor_time() == before {
                std::hint::spin_loop();
            }
        })
        .join()
        .unwrap();
    }
}
