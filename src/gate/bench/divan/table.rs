//! Reads the tables that divan prints.
//!
//! ```text
//! allocs       fastest       │ slowest       │ median        │ mean          │ samples │ iters
//! ├─ copy      39.19 ns      │ 138 ns        │ 41.94 ns      │ 56.15 ns      │ 10      │ 160
//! │            max alloc:    │               │               │               │         │
//! │              1           │ 1             │ 1             │ 1             │         │
//! │              800 B       │ 800 B         │ 800 B         │ 800 B         │         │
//! ╰─ table                   │               │               │               │         │
//!    ╰─ 100    250 ns        │ 2.009 µs      │ 451.5 ns      │ 605.3 ns      │ 10      │ 10
//! ```
//! A name takes as much room as it needs, so that columns are found by their separators. Other lines, such as those
//! that a benchmark prints itself, are skipped.

use std::collections::BTreeMap;

use crate::gate::Unit;

/// The figures of one benchmark in one run.
#[derive(Debug, PartialEq)]
pub(in super::super) struct Run {
    /// The fastest, slowest and median time in nanoseconds.
    pub(super) fastest: f64,
    pub(super) slowest: f64,
    pub(super) median: f64,
    pub(super) samples: u64,
    /// The allocation figures by name: those of the fastest, slowest and median sample, and the mean.
    pub(super) allocations: BTreeMap<String, [f64; 4]>,
    /// Whether a benchmark of the same program has allocation figures, so that absent ones are zero.
    pub(super) counts_allocations: bool,
}

/// The runs of each benchmark by its path, such as `allocs::table::100`.
pub(in super::super) type Runs = BTreeMap<String, Vec<Run>>;

/// Why a table cannot be read: the line and what is wrong with it.
pub(super) type Wrong = (usize, String);

const HEADINGS: [&str; 5] = ["slowest", "median", "mean", "samples", "iters"];
/// Divan's names of allocation figures, and ours.
const OPERATIONS: [(&str, &str); 5] = [
    ("max alloc:", "max_alloc"),
    ("alloc:", "alloc"),
    ("dealloc:", "dealloc"),
    ("grow:", "grow"),
    ("shrink:", "shrink"),
];

/// Whether `text` contains a table of divan.
pub(in super::super) fn is_table(text: &str) -> bool {
    text.lines().any(|line| heading(line).is_some())
}

/// Reads every table in `text`: several runs of a benchmark may follow each other.
pub(super) fn read(text: &str) -> Result<Runs, Wrong> {
    let mut reader = Reader::default();
    for (at, line) in text.lines().enumerate() {
        reader.line(line).map_err(|what| (at + 1, what))?;
    }
    reader.end_program();
    Ok(reader.runs)
}

#[derive(Default)]
struct Reader {
    runs: Runs,
    /// The names from the program to the present line.
    path: Vec<String>,
    /// The benchmarks of the present program.
    program: Vec<String>,
    /// The operation whose rows come next, and how many of the two were read.
    rows: Option<(&'static str, usize)>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some(name) = heading(line) {
            self.end_program();
            self.path = vec![name.to_owned()];
            return Ok(());
        }
        let Some((first, columns)) = columns(line) else { return Ok(()) };
        // Nothing belongs to a table before its heading.
        if self.path.is_empty() {
            return Ok(());
        }
        match branch(first) {
            Some((depth, cell)) => self.node(depth, cell, columns),
            None => self.further(first.trim_start_matches(['│', ' ']).trim_end(), columns),
        }
    }

    /// A group, or a benchmark with its times.
    fn node(&mut self, depth: usize, cell: &str, columns: [&str; 5]) -> Result<(), String> {
        self.rows = None;
        if depth > self.path.len() {
            return Err(format!("`{}` is at level {depth} of the tree, below nothing", cell.trim()));
        }
        self.path.truncate(depth);
        let [slowest, median, _, samples, _] = columns;
        if median.is_empty() {
            self.path.push(cell.trim().trim_end_matches("(ignored)").trim_end().to_owned());
            return Ok(());
        }
        // The time in the first column is the last two words; the name before it may contain spaces.
        let mut words = cell.trim_end().rsplitn(3, ' ');
        let (unit, number, name) = (words.next(), words.next(), words.next());
        let (Some(unit), Some(number), Some(name)) = (unit, number, name) else {
            return Err(format!("`{}` has no name and time", cell.trim()));
        };
        self.path.push(name.trim().to_owned());
        let run = Run {
            fastest: time(&format!("{number} {unit}"))?,
            slowest: time(slowest)?,
            median: time(median)?,
            samples: samples.parse().map_err(|_| format!("`{samples}` is not a number of samples"))?,
            allocations: BTreeMap::new(),
            counts_allocations: false,
        };
        if !(run.fastest <= run.median && run.median <= run.slowest) {
            return Err(format!("the median {median} is not between fastest and slowest"));
        }
        let id = self.path.join("::");
        self.runs.entry(id.clone()).or_default().push(run);
        self.program.push(id);
        Ok(())
    }

    /// A line below a benchmark: the name of an operation, or a row of it.
    fn further(&mut self, first: &str, columns: [&str; 5]) -> Result<(), String> {
        if let Some((_, ours)) = OPERATIONS.iter().find(|(divan, _)| *divan == first) {
            self.rows = Some((*ours, 0));
            return Ok(());
        }
        let (Some((operation, row)), Some(id)) = (self.rows, self.program.last()) else { return Ok(()) };
        let [slowest, median, mean, ..] = columns;
        let texts = [first, slowest, median, mean];
        let (kind, figures) = if row == 0 { ("count", texts.map(count)) } else { ("bytes", texts.map(size)) };
        let [first, slowest, median, mean] = figures;
        let figures = [first?, slowest?, median?, mean?];
        if let Some(run) = self.runs.get_mut(id).and_then(|runs| runs.last_mut()) {
            run.allocations.insert(format!("{operation}_{kind}"), figures);
        }
        self.rows = (row == 0).then_some((operation, 1));
        Ok(())
    }

    /// Marks the runs of the program that ends as counted, if one of them has allocation figures.
    fn end_program(&mut self) {
        self.rows = None;
        let ids = std::mem::take(&mut self.program);
        let counted = |id: &String| self.runs[id].last().is_some_and(|run| !run.allocations.is_empty());
        if ids.iter().any(counted) {
            for id in &ids {
                if let Some(run) = self.runs.get_mut(id).and_then(|runs| runs.last_mut()) {
                    run.counts_allocations = true;
                }
            }
        }
    }
}

/// The unit of the allocation figure `name`.
pub(super) fn unit(name: &str) -> Unit {
    if name.ends_with("_bytes") { Unit::Bytes } else { Unit::Count }
}

/// The six columns of a row: the first with the name before it, and the others.
fn columns(line: &str) -> Option<(&str, [&str; 5])> {
    let mut cells = line.rsplitn(6, '│');
    let mut columns = [""; 5];
    for column in columns.iter_mut().rev() {
        *column = cells.next()?.trim();
    }
    Some((cells.next()?, columns))
}

/// The name of the program, if `line` is the heading of a table.
fn heading(line: &str) -> Option<&str> {
    let (first, columns) = columns(line)?;
    let name = first.trim_end().strip_suffix("fastest")?.trim();
    (columns == HEADINGS && !name.is_empty()).then_some(name)
}

/// The level of a node and what follows its branch; `None` if the line has none.
fn branch(mut text: &str) -> Option<(usize, &str)> {
    for depth in 1.. {
        if let Some(cell) = text.strip_prefix("├─ ").or_else(|| text.strip_prefix("╰─ ")) {
            return Some((depth, cell));
        }
        text = text.strip_prefix("│  ").or_else(|| text.strip_prefix("   "))?;
    }
    None
}

fn time(text: &str) -> Result<f64, String> {
    const SECOND: f64 = 1e9;
    const UNITS: [(&str, f64); 8] = [
        ("ps", 1e-3),
        ("ns", 1.0),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", SECOND),
        ("m", 60.0 * SECOND),
        ("h", 3600.0 * SECOND),
        ("d", 86400.0 * SECOND),
    ];
    scaled(text, &UNITS).ok_or_else(|| format!("`{text}` is not a time"))
}

fn size(text: &str) -> Result<f64, String> {
    const KIB: f64 = 1024.0;
    const UNITS: [(&str, f64); 11] = [
        ("B", 1.0),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("TB", 1e12),
        ("PB", 1e15),
        ("KiB", KIB),
        ("MiB", KIB * KIB),
        ("GiB", KIB * KIB * KIB),
        ("TiB", KIB * KIB * KIB * KIB),
        ("PiB", KIB * KIB * KIB * KIB * KIB),
    ];
    scaled(text, &UNITS).ok_or_else(|| format!("`{text}` is not a number of bytes"))
}

fn count(text: &str) -> Result<f64, String> {
    amount(text).ok_or_else(|| format!("`{text}` is not a count"))
}

fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, unit) = text.rsplit_once(' ')?;
    let (_, scale) = units.iter().find(|(name, _)| *name == unit)?;
    Some(amount(number)? * scale).filter(|scaled| scaled.is_finite())
}

fn amount(text: &str) -> Option<f64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|amount: &f64| digits && amount.is_finite())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OUTPUT: &str = include_str!("../../../../tests/data/benches/divan-before.txt");

    #[test]
    fn a_real_table_is_read() {
        assert!(is_table(OUTPUT));
        let runs = read(OUTPUT).unwrap();
        let names: Vec<&str> = runs.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "allocs::copy",
                "allocs::nothing",
                "allocs::table::100",
                "allocs::table::10000",
                "times::group::shared::t=1",
                "times::group::shared::t=2",
                "times::group::table::100",
                "times::group::table::10000",
                "times::group::zeroed::u64::64",
                "times::group::zeroed::u8::64",
                "times::sum",
            ]
        );
        let copy = &runs["allocs::copy"][0];
        assert_eq!((copy.samples, copy.allocations["max_alloc_bytes"]), (10, [800.0; 4]));
        assert_eq!(
            copy.allocations.keys().collect::<Vec<_>>(),
            ["alloc_bytes", "alloc_count", "max_alloc_bytes", "max_alloc_count",]
        );
        assert!(runs["allocs::nothing"][0].counts_allocations && !runs["times::sum"][0].counts_allocations);
    }

    #[test]
    fn names_and_units_are_found_by_the_separators() {
        let text = "b          fastest │ slowest │ median │ mean │ samples │ iters\n\
                    printed by a benchmark │ itself\n\
                    ├─ a b  ms  2 ns │ 1.5 µs │ 3 ns │ 9 ns │ 100 │ 100\n\
                    ╰─ Vec<u8, A> 2 s │ 1 h │ 1.5 m │ 1 d │ 7 │ 7\n";
        let runs = read(text).unwrap();
        assert_eq!(runs.keys().collect::<Vec<_>>(), ["b::Vec<u8, A>", "b::a b  ms"]);
        let [a, vec] = [&runs["b::a b  ms"][0], &runs["b::Vec<u8, A>"][0]];
        assert_eq!((a.fastest, a.slowest, a.median, a.samples), (2.0, 1500.0, 3.0, 100));
        assert_eq!((vec.fastest, vec.slowest, vec.median), (2e9, 3600e9, 90e9));
        let twice = read(&text.repeat(2)).unwrap();
        assert!(twice.values().all(|runs| runs.len() == 2));
    }

    #[test]
    fn rows_that_make_no_sense_are_refused() {
        let head = "b fastest │ slowest │ median │ mean │ samples │ iters\n";
        for (row, says) in [
            ("├─ a 2 xs │ 3 ns │ 3 ns │ 3 ns │ 1 │ 1", "`2 xs` is not a time"),
            ("├─ a 2 ns │ 1 ns │ 3 ns │ 3 ns │ 1 │ 1", "the median 3 ns is not between fastest and slowest"),
            ("├─ a 2 ns │ 3 ns │ 3 ns │ 3 ns │ -1 │ 1", "`-1` is not a number of samples"),
            ("├─ a │ 3 ns │ 3 ns │ 3 ns │ 1 │ 1", "`a` has no name and time"),
            ("│  │  ├─ a 2 ns │ 3 ns │ 3 ns │ 3 ns │ 1 │ 1", "`a 2 ns` is at level 3 of the tree, below nothing"),
        ] {
            assert_eq!(read(&format!("{head}{row}\n")), Err((2, says.to_owned())));
        }
        let rows = "├─ a 2 ns │ 3 ns │ 3 ns │ 3 ns │ 1 │ 1\n│ grow: │ │ │ │ │\n│ 1 │ 1 │ 1 │ NaN │ │\n";
        assert_eq!(read(&format!("{head}{rows}")), Err((4, "`NaN` is not a count".to_owned())));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(fastest|slowest|median|mean|samples|iters|├─ |╰─ |│|   | │ |alloc:|grow:|1|2 ns|3 B|\\(ignored\\)|\n|[a-z]){0,60}") {
            let head = "b fastest │ slowest │ median │ mean │ samples │ iters\n";
            let _ = (is_table(&text), read(&text), read(&format!("{head}{text}")));
        }

        #[test]
        fn no_cut_or_changed_table_panics(at in 0usize..5000, with in "[│├╰─ 0-9a-zµ\n]{0,4}") {
            let chars: Vec<char> = OUTPUT.chars().collect();
            let (head, tail) = chars.split_at(at.min(chars.len()));
            let text: String = head.iter().copied().chain(with.chars()).chain(tail.iter().skip(2).copied()).collect();
            let _ = (read(&text), read(&head.iter().collect::<String>()));
        }
    }
}
