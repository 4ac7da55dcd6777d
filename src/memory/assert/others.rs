//! What other threads of the process did during a block: their memory is part of the process's figures.

use std::time::Duration;

use crate::alloc::{HeapReadings, Scope, ThreadAllocations};
use crate::bytes::ByteSize;
use crate::meter::{ThreadUsage, own_threads};
use crate::text::duration;

/// Maximum number of threads named.
const NAMED: usize = 4;
/// A thread that ran for less and touched no page is not worth mentioning.
const BRIEF: Duration = Duration::from_micros(100);
/// The name of the meter's own thread.
const METER: &str = "memory-meter";

/// What is known about the other threads when a block begins.
pub(super) enum Others {
    /// A count of their allocations.
    Counted(Scope),
    /// The processor time that they had used.
    Ran(Vec<ThreadUsage>),
}

impl Others {
    pub(super) fn begin() -> Self {
        Scope::process().map_or_else(|_| Self::Ran(own_threads()), Self::Counted)
    }

    /// A sentence on what they did; `None` if they did nothing.
    pub(super) fn finish(self) -> Option<String> {
        let own = crate::thread::id();
        match self {
            Self::Counted(scope) => allocated(own, &scope.finish()),
            Self::Ran(before) => ran(own, &before, &own_threads()),
        }
    }
}

fn allocated(own: u32, heap: &HeapReadings) -> Option<String> {
    let threads = heap.threads.iter().filter(|thread| thread.id != Some(own) && thread.allocated > ByteSize::ZERO);
    let one = |thread: &ThreadAllocations| {
        let id = thread.id.map_or(String::new(), |id| format!(" ({id})"));
        format!("{}{id} {} in {} allocations", thread.name, thread.allocated, thread.allocations)
    };
    let threads = list(threads.map(one))?;
    Some(format!("other threads allocated at the same time, which the figures of the process include: {threads}"))
}

fn ran(own: u32, before: &[ThreadUsage], after: &[ThreadUsage]) -> Option<String> {
    let mut others: Vec<(u64, String)> = after
        .iter()
        .filter(|thread| thread.id != own && thread.name != METER)
        .filter_map(|thread| {
            let earlier = before.iter().find(|earlier| earlier.id == thread.id);
            let faults = thread.minor_faults.saturating_sub(earlier.map_or(0, |earlier| earlier.minor_faults));
            let had_run = earlier.and_then(|earlier| earlier.processor).unwrap_or_default();
            let ran = thread.processor.unwrap_or_default().saturating_sub(had_run);
            (faults > 0 || ran >= BRIEF).then(|| {
                let ran = duration(ran.as_nanos() as f64);
                (faults, format!("{} ({}) ran {ran} with {faults} page faults", thread.name, thread.id))
            })
        })
        .collect();
    others.sort_by_key(|(faults, _)| std::cmp::Reverse(*faults));
    let threads = list(others.into_iter().map(|(_, text)| text))?;
    Some(format!(
        "other threads ran at the same time, and the figures of the process include the pages they touched: {threads}; \
         threads that started and ended in between are not seen"
    ))
}

/// The first items, and how many more there are; `None` if there are none.
pub(super) fn list(mut items: impl Iterator<Item = String>) -> Option<String> {
    let named: Vec<String> = items.by_ref().take(NAMED).collect();
    let more = items.count();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| named.join(", ") + &more)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(id: u32, name: &str, ms: u64, minor_faults: u64) -> ThreadUsage {
        ThreadUsage { id, name: name.to_owned(), processor: Some(Duration::from_millis(ms)), minor_faults }
    }

    #[test]
    fn threads_that_did_nothing_and_the_own_are_not_named() {
        let before = [thread(1, "own", 0, 0), thread(2, "idle", 5, 5), thread(3, "busy", 5, 5)];
        let mut after = before.clone();
        after[0] = thread(1, "own", 9, 9000);
        assert_eq!(ran(1, &before, &after), None);
        after[2] = thread(3, "busy", 12, 261);
        let mut after = after.to_vec();
        after.push(thread(4, METER, 30, 70));
        after.extend((10..16).map(|id| thread(id, "new", 1, 1)));
        let said = ran(1, &before, &after).unwrap();
        assert!(said.contains("touched: busy (3) ran 7.00 ms with 256 page faults, new (10)"), "{said}");
        assert!(said.contains(" and 3 more;") && !said.contains(METER), "{said}");
    }
}
