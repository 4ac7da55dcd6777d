//! The defaults of settings. Each is defined once, here or in its own module: `plimsoll.toml`, its schema, the flags
//! and their help are derived from these.

use std::num::NonZeroU32;
use std::time::Duration;

use plimsoll_memory::bytes::ByteSize;

pub use plimsoll_memory::meter::DEFAULT_SAMPLE_INTERVAL as SAMPLE_INTERVAL;

/// The most bytes that may be resident together while a check times entries.
pub const BATCH_BYTES: ByteSize = ByteSize::gib(1);
/// The bytes of entries after which a validation worker is replaced.
pub const RECYCLE_AFTER: ByteSize = ByteSize::gib(16);
/// The longest that one launch in a worker may take.
pub const LAUNCH_TIMEOUT: Duration = Duration::from_secs(60);
/// How often two kernels are measured side by side: two more than an interval of 99 % needs.
pub const PAIRS: NonZeroU32 = NonZeroU32::new(10).unwrap();
/// The Python of `py:` kernels.
pub const PYTHON: &str = "python3";
/// The file of a check's record.
pub const RECORD: &str = "plimsoll-record.json";
/// The file of the record of shard `index` of `count`.
pub fn record_of_shard(index: u32, count: u32) -> String {
    format!("{}-{index}-of-{count}.json", RECORD.trim_end_matches(".json"))
}

/// The SQLite file of records by commit.
pub const HISTORY: &str = ".plimsoll/history.sqlite";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_that_cannot_be_fed_say_the_same() {
        let interval = format!("the time between two samples, {} ms by default", SAMPLE_INTERVAL.as_millis());
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        for file in ["docs/testing-python.md", "harness/attribute/src/lib.rs"] {
            let text = std::fs::read_to_string(root.join(file)).unwrap();
            assert!(text.contains(&interval), "{file} does not say: {interval}");
        }
    }
}
