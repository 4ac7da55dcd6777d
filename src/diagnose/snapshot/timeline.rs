//! The memory of a device over its trace, as series of columns.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};

use super::category::Category;
use super::findings::Frame;
use super::ingest::{Device, Trace};
use super::intern::StackId;
use super::spool::Spool;
use super::trace::{Overview, Telling, since};
use super::walk::{self, Change, Live};
use plimsoll_memory::bytes::ByteSize;

/// The memory of one device over its trace. Every column covers the same number of entries, and shows the moment with
/// the most allocated memory among them, so that no peak is lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// The index of the device.
    pub device: u32,
    /// Number of entries in the trace.
    pub entries: u64,
    /// The entry that each column shows.
    pub entry: Vec<u64>,
    /// The time of each column since the first entry; empty if no times were recorded.
    pub time: Vec<Duration>,
    /// Total size of segments.
    pub reserved: Vec<ByteSize>,
    /// Requested memory in use: the sum of the stacks, and also of the categories.
    pub allocated: Vec<ByteSize>,
    /// By stack, those with the highest peaks; lasting memory first, the sum of all other stacks last.
    pub stacks: Vec<Series>,
    /// By category, lasting memory first.
    pub categories: Vec<Series>,
    /// The peak, and OOMs.
    pub marks: Vec<Mark>,
}

/// A part of the memory in use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The name of the part.
    pub name: String,
    /// The stack, innermost frame first; empty for a sum of many.
    pub stack: Vec<Frame>,
    /// The bytes in each column.
    pub bytes: Vec<ByteSize>,
}

/// A notable moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The kind of moment.
    pub kind: MarkKind,
    /// The index of the column.
    pub column: usize,
    /// Bytes allocated at the peak, or requested by the failed request.
    pub bytes: ByteSize,
}

/// The kind of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// The moment with the most allocated memory.
    Peak,
    /// A request that failed.
    Oom,
}

/// The amounts of the columns, filled backward from the end.
struct Columns {
    /// The series of each stack; stacks without one belong to the rest.
    series: HashMap<StackId, usize, RandomState>,
    now: Vec<u64>,
    categories_now: [u64; Category::ALL.len()],
}

impl Columns {
    fn add(&mut self, live: Live, category: Category, sign: bool) {
        let rest = self.now.len() - 1;
        let series = self.series.get(&live.stack).copied().unwrap_or(rest);
        for sum in [&mut self.now[series], &mut self.categories_now[category as usize]] {
            *sum = if sign { sum.saturating_add(live.size) } else { sum.saturating_sub(live.size) };
        }
    }
}

/// A column at its highest point so far.
struct Column {
    entry: u64,
    time_us: i64,
    reserved: u64,
    allocated: u64,
    stacks: Vec<u64>,
    categories: [u64; Category::ALL.len()],
}

/// Walks the trace once more, now that the largest stacks are known.
pub(super) fn timeline(
    spool: &mut Spool,
    device: &Device,
    trace: &Trace,
    overview: &Overview,
    telling: &Telling<'_>,
    id: u32,
    columns: usize,
) -> io::Result<Timeline> {
    let mut largest: Vec<(u64, StackId)> = overview
        .uses
        .iter()
        .enumerate()
        .filter(|(at, used)| used.most > 0 && *at > 0)
        .map(|(at, used)| (used.most, StackId(at as u32)))
        .collect();
    largest.sort_by_key(|&(most, stack)| (std::cmp::Reverse(most), stack));
    largest.truncate(telling.top);

    let count = trace.events.end - trace.events.start;
    let columns = (columns.max(1) as u64).min(count);
    let column_of = |entry: u64| (u128::from(entry) * u128::from(columns) / u128::from(count)) as usize;
    let now = std::cell::RefCell::new(Columns {
        series: largest.iter().enumerate().map(|(at, &(_, stack))| (stack, at)).collect(),
        now: vec![0; largest.len() + 1],
        categories_now: [0; Category::ALL.len()],
    });
    let category_of = |live: &Live| live.category.unwrap_or_else(|| telling.categories.get(live.stack));
    let mut made: Vec<Option<Column>> = (0..columns).map(|_| None).collect();
    let mut begun = false;
    walk::backward(
        spool,
        device,
        trace,
        |at, walk| {
            if !begun {
                begun = true;
                for &live in walk.live.values() {
                    now.borrow_mut().add(live, category_of(&live), true);
                }
            }
            let Some((entry, event)) = at else { return };
            let column = &mut made[column_of(entry)];
            if column.as_ref().is_none_or(|column| walk.allocated >= column.allocated) {
                let now = now.borrow();
                let mut stacks = column.take().map(|column| column.stacks).unwrap_or_default();
                stacks.clone_from(&now.now);
                *column = Some(Column {
                    entry,
                    time_us: event.time_us,
                    reserved: walk.reserved(),
                    allocated: walk.allocated,
                    stacks,
                    categories: now.categories_now,
                });
            }
        },
        |_, change| match change {
            Change::Added(live) => now.borrow_mut().add(live, category_of(&live), true),
            Change::Removed(live) => now.borrow_mut().add(live, category_of(&live), false),
            Change::None => {}
        },
    )?;
    let made: Vec<Column> = made.into_iter().flatten().collect();
    let series = |name: String, stack: Vec<Frame>, of: &dyn Fn(&Column) -> u64| Series {
        name,
        stack,
        bytes: made.iter().map(|column| ByteSize::new(of(column))).collect(),
    };
    let mut stacks: Vec<Series> = largest
        .iter()
        .enumerate()
        .map(|(at, &(_, stack))| {
            let frames = telling.frames.of(stack);
            let name = frames.first().map_or("(interpreter)".to_owned(), ToString::to_string);
            series(name, frames, &|column| column.stacks[at])
        })
        .collect();
    // Lasting memory is drawn below memory that comes and goes.
    let lasting = |series: &Series| std::cmp::Reverse(series.bytes.iter().copied().sum::<ByteSize>());
    stacks.sort_by_key(lasting);
    stacks.push(series("all other stacks".to_owned(), Vec::new(), &|column| column.stacks[largest.len()]));
    let mut categories: Vec<Series> = Category::ALL
        .into_iter()
        .map(|category| series(category.name().to_owned(), Vec::new(), &|column| column.categories[category as usize]))
        .collect();
    categories.sort_by_key(lasting);
    let used = |series: &Series| series.bytes.iter().any(|bytes| *bytes > ByteSize::ZERO);
    let peak = overview.peak.map(|entry| {
        let column = column_of(entry);
        Mark { kind: MarkKind::Peak, column, bytes: ByteSize::new(made[column].allocated) }
    });
    let ooms = overview.ooms.iter().map(|&(entry, event)| Mark {
        kind: MarkKind::Oom,
        column: column_of(entry),
        bytes: ByteSize::new(event.size),
    });
    Ok(Timeline {
        device: id,
        entries: count,
        entry: made.iter().map(|column| column.entry).collect(),
        time: made.iter().map_while(|column| since(trace, column.time_us)).collect(),
        reserved: made.iter().map(|column| ByteSize::new(column.reserved)).collect(),
        allocated: made.iter().map(|column| ByteSize::new(column.allocated)).collect(),
        stacks: stacks.into_iter().filter(used).collect(),
        categories: categories.into_iter().filter(used).collect(),
        marks: peak.into_iter().chain(ooms).collect(),
    })
}
