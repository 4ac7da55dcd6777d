//! How long tasks waited for memory (pressure stall information).

use super::text::{number, read_file};

/// The time that tasks stalled for lack of memory since the system started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct MemoryPressure {
    /// Microseconds in which at least one task waited.
    pub some_us: u64,
    /// Microseconds in which every task waited; absent if the kernel does not report it.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub full_us: Option<u64>,
}

impl MemoryPressure {
    /// The pressure of the system; `None` if the kernel does not keep it (before Linux 4.20, or if it is disabled at
    /// build or boot).
    pub fn read() -> Option<Self> {
        Self::parse(&read_file("/proc/pressure/memory").ok()?)
    }

    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let total = |kind: &[u8]| {
            let line = text.split(|&b| b == b'\n').find(|line| line.starts_with(kind))?;
            line.split(|&b| b == b' ').find_map(|word| number(word.strip_prefix(b"total=")?))
        };
        Some(Self { some_us: total(b"some")?, full_us: total(b"full") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read() {
        let text =
            b"some avg10=0.12 avg60=0.00 avg300=0.00 total=18205\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=177\n";
        assert_eq!(MemoryPressure::parse(text), Some(MemoryPressure { some_us: 18205, full_us: Some(177) }));
        let some = b"some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";
        assert_eq!(MemoryPressure::parse(some), Some(MemoryPressure { some_us: 5, full_us: None }));
        for text in [&b""[..], b"some avg10=0.00", b"some total=x"] {
            assert_eq!(MemoryPressure::parse(text), None);
        }
    }
}
