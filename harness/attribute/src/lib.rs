//! The attribute `#[plimsoll::test(..)]`.
//!
//! This crate is thin: it checks its arguments and calls `plimsoll::assert::isolated`, where the work is done.

mod arguments;
mod expand;

use proc_macro::TokenStream;
use syn::parse_macro_input;

/// A test whose body runs in a process of its own, under the meter, and fails if a ceiling is broken.
///
/// ```ignore
/// #[plimsoll::test(peak_rss = "256 MiB", retained_rss = "1 MiB", swap_growth = "0 B", timeout = "60 s")]
/// fn a_capture_is_validated_in_a_stream() -> plimsoll::Result<()> {
///     let tables = load()?;
///     plimsoll::phase("validate");
///     assert!(validate(&tables)?);
///     Ok(())
/// }
/// ```
///
/// # Arguments
/// | argument | what it says |
/// |---|---|
/// | a metric, such as `peak_rss`, `retained_anon` or `swap_growth` | its ceiling: every constant of `plimsoll::assert::metrics` is an argument; swap is that of the test's own processes |
/// | `available_floor` | the least memory that has to stay available on the whole machine |
/// | `peak_heap` `retained_heap` `allocated` | bytes by the count of `plimsoll::alloc::Tracking`, which has to be the global allocator |
/// | `allocations` `reallocations` | calls by the same count |
/// | `enforce = true` | the processes are killed at a ceiling, not only judged when they are done |
/// | `timeout = "60 s"` | they are killed when they run for longer |
/// | `sample_interval = "1 ms"` | the time between two samples, 10 ms by default |
///
/// An amount is a text such as `"256 MiB"`, `"1.5 GB"` or `"0 B"`, which is checked when the test is compiled, or any
/// expression that is a `plimsoll::ByteSize` or a `u64` of bytes. A time is a text such as `"60 s"` or `"10 ms"`, or an
/// expression that is a `Duration`.
///
/// # What holds
/// - The body runs in a fresh process of the same test binary, under `cargo test` with any number of threads and under
///   nextest. What it prints, and the message of its panic, are the test's own.
/// - Other attributes stay: `#[ignore]`, `#[should_panic(expected = "..")]`, doc comments, and those that make a test of
///   an `async fn`, such as `#[tokio::test]`, above or below. `#[test]` is not needed.
/// - A ceiling that is broken, or that cannot be measured, fails the test under `#[should_panic]` as well, and so does a
///   process that is killed, exits by itself or runs into the timeout.
/// - The standard input of the body is empty.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as arguments::Arguments);
    let function = parse_macro_input!(item as syn::ItemFn);
    expand::expand(&arguments, function).unwrap_or_else(syn::Error::into_compile_error).into()
}
