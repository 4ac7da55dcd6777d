//! Block scans compiled for the vector units of the processor at hand.
//!
//! The scans are plain loops, written so that the compiler turns them into vector code: no branches, reductions over
//! integers. Here they are compiled once for the target's baseline and, on x86-64, once for AVX2, which takes a half to
//! a third of the time; no intrinsic is used. Both compute the same results bit by bit: every operation is IEEE 754's,
//! in the same order for each element, and maxima and integer sums do not depend on the order of elements.

/// A loop to be compiled for several instruction sets.
pub(super) trait Scan {
    /// The result of the loop.
    type Output;

    /// Runs the loop. Implementations are `#[inline(always)]`, and so is everything that they call in a loop: only code
    /// inlined into the AVX2 entry point is compiled for AVX2.
    fn run(self) -> Self::Output;
}

/// Runs `scan` with the widest vectors that the processor has.
pub(super) fn run<S: Scan>(scan: S) -> S::Output {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: `with_avx2` is a safe function except that it needs AVX2, which the check above found on this
        // processor and operating system.
        return unsafe { with_avx2(scan) };
    }
    scan.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<S: Scan>(scan: S) -> S::Output {
    scan.run()
}
