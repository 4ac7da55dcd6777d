//! `assert_memory!` and `debug_assert_memory!`, which only turn their tokens into calls of `MemoryGuard`.

/// Asserts limits on the memory that a block takes in this process, and returns the block's value.
///
/// ```
/// use plimsoll_memory::assert_memory;
///
/// let table = assert_memory!(peak_rss_growth <= "64 MiB", retained_rss <= "32 MiB", {
///     let mut rows: Vec<u64> = (0..100_000).rev().collect();
///     rows.sort();
///     rows
/// });
/// assert_eq!(table[1], 1);
/// ```
///
/// **Limits.** One or more, each a metric of [`assert::metrics`](crate::assert::metrics), `<=` (`>=` for a floor) and a
/// limit. A limit is text such as `"64 MiB"`, which the compiler checks if it is a literal, or any expression of type
/// text, [`ByteSize`](crate::ByteSize) or `u64`. `allocations` and `reallocations` take a number. A message with
/// arguments may follow the block, as in `assert!`; it is formatted only if a limit fails.
///
/// ```
/// # use plimsoll_memory::{ByteSize, assert_memory};
/// const ROOM: ByteSize = ByteSize::mib(64);
/// let name = "table";
/// assert_memory!(peak_rss_growth <= ROOM, available_floor >= 1024 * 1024, { drop(name.to_owned()) }, "loading {name}");
/// ```
///
/// **The block** is not a closure: `?`, `return`, `break` and `.await` mean what they mean around it, and it borrows
/// like any code. A future that awaits in it stays on its thread (it is not `Send`). A block that is left early is
/// judged as well. A block that panics is not: its panic propagates, and the next block is measured as usual.
///
/// **What is measured.** Resident and anonymous memory and everything else from the kernel cover this process with all
/// its threads, and its children. Peaks are absolute; growth and retained memory count from the block's beginning. The
/// block's value is still alive when retained memory is read. The high-water mark of the process is reset when the
/// block begins, so `peak_rss` and `peak_rss_growth` miss nothing. If the system does not allow that, they are sampled
/// every 10 ms like the other peaks. A failure message says which was the case.
///
/// **The heap** (`peak_heap`, `retained_heap`, `allocations`, `reallocations`, `allocated`) is counted exactly if
/// [`alloc::Tracking`](crate::alloc::Tracking) is the program's allocator. Only this thread is counted, so that other
/// tests in the process change nothing; `all_threads,` before the limits counts every thread.
///
/// **Neighbours.** If libtest runs several tests in parallel, a block that limits more than its thread's heap makes the
/// enclosing test run once more, alone in a process of its own, and is measured there. Here the test then continues
/// unmeasured, and the block ends with the verdict from there. Under nextest, with `--test-threads=1`, and outside
/// tests, the block is measured in place. A block on a thread without a test's name cannot be measured beside other
/// tests, and its message says what to do.
///
/// **Other blocks.** A block that needs more than the heap waits until no other thread of the process is in one. A
/// nested block of the same thread does not wait; the outer one then reports its peak as a lower bound, because the
/// inner one has reset the mark. Do not wait inside a block for a thread that enters a block itself: that thread waits
/// for its turn until the first one has not run for a minute, and then says in its failures that it was not alone.
///
/// # Panics
/// If a limit is broken or not measurable, with everything known about where the memory went.
///
/// Wrong names and limits are compile errors:
/// ```compile_fail
/// plimsoll_memory::assert_memory!(peak_rs <= "1 MiB", {});
/// ```
/// ```compile_fail
/// plimsoll_memory::assert_memory!(peak_rss <= "1 XiB", {});
/// ```
/// ```compile_fail
/// plimsoll_memory::assert_memory!(peak_rss <= "1 MiB", peak_rss <= "2 MiB", {});
/// ```
/// ```compile_fail
/// plimsoll_memory::assert_memory!(available_floor <= "1 MiB", {});
/// ```
/// ```compile_fail
/// plimsoll_memory::assert_memory!(allocations <= "1 MiB", {});
/// ```
#[macro_export]
macro_rules! assert_memory {
    (all_threads, $($rest:tt)+) => { $crate::__measured_block!((true) (Process) [] [] $($rest)+) };
    ($($rest:tt)+) => { $crate::__measured_block!((true) (Thread) [] [] $($rest)+) };
}

/// [`assert_memory!`] if debug assertions are on; otherwise only the block, without evaluating limits or message.
#[macro_export]
macro_rules! debug_assert_memory {
    (all_threads, $($rest:tt)+) => { $crate::__measured_block!((cfg!(debug_assertions)) (Process) [] [] $($rest)+) };
    ($($rest:tt)+) => { $crate::__measured_block!((cfg!(debug_assertions)) (Thread) [] [] $($rest)+) };
}

/// Processes the limits one by one: their names in the first brackets, the limits in the second.
#[doc(hidden)]
#[macro_export]
macro_rules! __measured_block {
    ($when:tt $scope:tt [$($name:ident)*] [$($limit:tt)*] $metric:ident <= $most:literal, $($rest:tt)+) => {
        $crate::__measured_block!($when $scope [$($name)* $metric] [$($limit)* {
            $crate::assert::metrics::AtMost::at_most(
                $crate::assert::metrics::$metric,
                const { $crate::assert::metrics::Literal($most).checked() },
            )
        }] $($rest)+)
    };
    ($when:tt $scope:tt [$($name:ident)*] [$($limit:tt)*] $metric:ident <= $most:expr, $($rest:tt)+) => {
        $crate::__measured_block!($when $scope [$($name)* $metric] [$($limit)* {
            $crate::assert::metrics::AtMost::at_most($crate::assert::metrics::$metric, $most)
        }] $($rest)+)
    };
    ($when:tt $scope:tt [$($name:ident)*] [$($limit:tt)*] $metric:ident >= $least:literal, $($rest:tt)+) => {
        $crate::__measured_block!($when $scope [$($name)* $metric] [$($limit)* {
            $crate::assert::metrics::AtLeast::at_least(
                $crate::assert::metrics::$metric,
                const { $crate::assert::metrics::Literal($least).checked() },
            )
        }] $($rest)+)
    };
    ($when:tt $scope:tt [$($name:ident)*] [$($limit:tt)*] $metric:ident >= $least:expr, $($rest:tt)+) => {
        $crate::__measured_block!($when $scope [$($name)* $metric] [$($limit)* {
            $crate::assert::metrics::AtLeast::at_least($crate::assert::metrics::$metric, $least)
        }] $($rest)+)
    };
    ($when:tt $scope:tt [$($name:ident)+] [$($limit:tt)+] $block:block $(,)?) => {
        $crate::__measured_block!(@measure $when $scope [$($name)+] [$($limit)+] $block None)
    };
    ($when:tt $scope:tt [$($name:ident)+] [$($limit:tt)+] $block:block, $($message:tt)+) => {
        $crate::__measured_block!(@measure $when $scope [$($name)+] [$($limit)+] $block
            Some(::std::format!($($message)+)))
    };
    (@measure ($when:expr) ($scope:ident) [$($name:ident)+] [$($limit:tt)+] $block:block $message:expr) => {{
        // A metric limited twice becomes a variant defined twice.
        #[allow(non_camel_case_types, dead_code)]
        enum LimitedOnce { $($name),+ }
        let guard = if $when {
            Some($crate::assert::MemoryGuard::begin_block(
                [$($limit),+],
                $crate::alloc::HeapScope::$scope,
                cfg!(test),
            ))
        } else {
            None
        };
        #[allow(clippy::let_unit_value, clippy::diverging_sub_expression, unused_variables)]
        let value = $block;
        #[allow(unreachable_code)]
        if let Some(guard) = guard {
            guard.judge_saying(|| $message);
        }
        #[allow(unreachable_code)]
        value
    }};
    ($($wrong:tt)*) => {
        ::std::compile_error!(
            "write limits and a block: `assert_memory!(peak_rss_growth <= \"64 MiB\", { .. })`, with a message after the block where you like"
        )
    };
}
