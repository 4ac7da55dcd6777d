//! [`Limits`]: everything that limits a block or a test.

use std::fmt;
use std::str::FromStr;

use super::counted::{HeapCounter, HeapLimit};
use crate::alloc::HeapScope;
use crate::bytes::{ByteSize, ParseByteSizeError};
use crate::ceiling::{Ceiling, CeilingError, Ceilings};

/// Everything that limits a block or a test: ceilings on memory, and limits on its allocator's counts.
///
/// ```
/// use plimsoll_memory::assert::Limits;
/// let limits: Limits = "peak_rss = 64 MiB, allocations = 100".parse()?;
/// assert_eq!(limits.to_string(), "peak_rss <= 64.00 MiB, allocations <= 100");
/// # Ok::<(), plimsoll_memory::assert::LimitError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Limits {
    /// Ceilings on memory, including those on the heap.
    pub ceilings: Ceilings,
    /// Limits on other counts of the heap, at most one for each.
    pub heap: Vec<HeapLimit>,
    /// Whose heap it is.
    pub heap_scope: HeapScope,
}

/// One limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A limit on memory.
    Memory(Ceiling),
    /// A limit on an allocator count other than live bytes.
    Heap(HeapLimit),
}

/// Why limits are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// A ceiling is invalid, or given twice.
    #[error(transparent)]
    Ceiling(#[from] CeilingError),
    /// A counter is limited twice.
    #[error("{counter} is limited twice, to {} and to {}: keep one of them", counter.show(*first), counter.show(*second))]
    Twice {
        /// The limited counter.
        counter: HeapCounter,
        /// The first limit.
        first: u64,
        /// The second.
        second: u64,
    },
    /// The limit of a counter is not a number.
    #[error("the limit of {counter}: `{text}` is not what it counts: write {}", counter.example())]
    Count {
        /// The counter to limit.
        counter: HeapCounter,
        /// The text.
        text: String,
    },
}

impl Limits {
    /// No limits; the heap scope is the thread.
    pub const fn new() -> Self {
        Self { ceilings: Ceilings::new(), heap: Vec::new(), heap_scope: HeapScope::Thread }
    }

    /// Adds a limit.
    ///
    /// # Errors
    /// [`LimitError`] if the same figure already has a limit.
    pub fn add(&mut self, limit: Limit) -> Result<(), LimitError> {
        match limit {
            Limit::Memory(ceiling) => self.ceilings.add(ceiling)?,
            Limit::Heap(limit) => {
                if let Some(first) = self.heap.iter().find(|first| first.counter == limit.counter) {
                    let (counter, first, second) = (limit.counter, first.limit, limit.limit);
                    return Err(LimitError::Twice { counter, first, second });
                }
                self.heap.push(limit);
            }
        }
        Ok(())
    }

    /// Whether a limit needs the counting allocator.
    pub fn need_heap(&self) -> bool {
        !self.heap.is_empty() || self.ceilings.iter().any(|ceiling| ceiling.metric.is_of_heap())
    }

    /// Whether a limit depends on a figure that includes a test's neighbours.
    pub(crate) fn need_process(&self) -> bool {
        self.need_meter() || (self.heap_scope == HeapScope::Process && self.need_heap())
    }

    /// Whether a limit needs the meter.
    pub fn need_meter(&self) -> bool {
        self.ceilings.iter().any(|ceiling| !ceiling.metric.is_of_heap())
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
}

impl From<Ceilings> for Limits {
    fn from(ceilings: Ceilings) -> Self {
        Self { ceilings, ..Self::new() }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let memory = self.ceilings.iter().map(|ceiling| ceiling.to_string());
        let all: Vec<String> = memory.chain(self.heap.iter().map(HeapLimit::to_string)).collect();
        f.write_str(&all.join(", "))
    }
}

impl FromStr for Limit {
    type Err = LimitError;

    /// Parses `peak_rss = "256 MiB"` and `allocations = 10`, also without quotes or blanks.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = text.split_once('=').and_then(|(name, limit)| Some((name.parse().ok()?, limit.trim())));
        let Some((counter, limit)): Option<(HeapCounter, _)> = named else {
            return Ok(Self::Memory(text.parse()?));
        };
        let bare = limit.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(limit);
        let limit = match counter {
            HeapCounter::Allocated => ByteSize::parse(bare).map(ByteSize::bytes),
            HeapCounter::Allocations | HeapCounter::Reallocations => bare.trim().parse().ok(),
        };
        match limit {
            Some(limit) => Ok(Self::Heap(HeapLimit { counter, limit })),
            None => Err(LimitError::Count { counter, text: bare.to_owned() }),
        }
    }
}

impl FromStr for Limits {
    type Err = LimitError;

    /// Parses limits separated by commas or newlines; empty text means none.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut limits = Self::new();
        for one in text.split([',', '\n']).filter(|one| !one.trim().is_empty()) {
            limits.add(one.parse()?)?;
        }
        Ok(limits)
    }
}

/// An amount that a macro accepts as a limit: [`ByteSize`], bytes as `u64`, or text such as `"64 MiB"`.
pub trait Amount {
    /// The amount.
    ///
    /// # Errors
    /// [`ParseByteSizeError`] if a text is not an amount.
    fn amount(self) -> Result<ByteSize, ParseByteSizeError>;
}

impl Amount for ByteSize {
    fn amount(self) -> Result<ByteSize, ParseByteSizeError> {
        Ok(self)
    }
}

impl Amount for u64 {
    fn amount(self) -> Result<ByteSize, ParseByteSizeError> {
        Ok(ByteSize::new(self))
    }
}

impl Amount for &str {
    fn amount(self) -> Result<ByteSize, ParseByteSizeError> {
        self.parse()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[cfg(feature = "schema")]
    #[test]
    fn limits_are_read_as_they_are_written() {
        let text = "peak_anon = \"1 MiB\", allocations=10\nallocated = 4 KiB, available_floor = 1 GiB";
        let limits: Limits = text.parse().unwrap();
        assert_eq!(
            limits.to_string(),
            "peak_anon <= 1.00 MiB, available_floor >= 1.00 GiB, allocations <= 10, allocated <= 4.00 KiB"
        );
        assert!(limits.need_heap() && limits.need_meter());
        let heap: Limits = "peak_heap = 0 B".parse().unwrap();
        assert!(heap.need_heap() && !heap.need_meter());
        let json = serde_json::to_string(&limits).unwrap();
        assert_eq!(serde_json::from_str::<Limits>(&json).unwrap(), limits);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, says) in [
            (
                "allocations = 1 MiB",
                "the limit of allocations: `1 MiB` is not what it counts: write a number of calls, such as `10`",
            ),
            ("allocated = 1 XiB", "the limit of allocated: `1 XiB` is not what it counts: write an amount of bytes"),
            ("allocations = 1, allocations = 2", "allocations is limited twice, to 1 and to 2: keep one of them"),
            ("peak_rss = 1 MiB, peak_rss = 2 MiB", "peak_rss is limited twice, to 1.00 MiB and to 2.00 MiB"),
            ("alocations = 1", "`alocations ` is not a metric of memory"),
        ] {
            let error = text.parse::<Limits>().unwrap_err().to_string();
            assert!(error.starts_with(says), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(peak_rss|allocations|allocated|,|=|\"|[0-9]| MiB|\n|é){0,12}") {
            if let Ok(limits) = text.parse::<Limits>() {
                prop_assert_eq!(limits.to_string().is_empty(), limits == Limits::new());
            }
        }
    }
}
