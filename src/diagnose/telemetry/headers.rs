//! Headers of tables that people print: of a loop (`step  allocated  reserved`, also with commas or bars), and of
//! processes (`ps`, `top`, or the columns that a `ps -o` asks for) and pods (`kubectl top`).

use super::sample::Metric;
use super::scan::unit;
use crate::ascii::regex;

/// The most columns of a table.
pub(super) const MOST_COLUMNS: usize = 40;
/// The names of a first column, which counts steps, ranks or a length of time.
const STEPS: [&str; 21] = [
    "rank",
    "epoch",
    "step",
    "iter",
    "iteration",
    "idx",
    "index",
    "batch",
    "round",
    "request",
    "requests",
    "call",
    "seconds",
    "minute",
    "minutes",
    "hour",
    "hours",
    "day",
    "days",
    "week",
    "elapsed",
];
/// The names of a first column whose rows are phases or moments of one program.
const PHASES: [&str; 12] =
    ["phase", "stage", "state", "cycle", "time", "when", "event", "moment", "rollout", "swap", "turn", "run"];
/// The names of a first column whose rows are versions of a program.
const VERSIONS: [&str; 8] = ["build", "version", "release", "commit", "revision", "tag", "nightly", "sha"];
/// The longest header.
const LONGEST_HEADER: usize = 300;

/// What a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Device,
    Process,
    Name,
    /// The version of a program.
    Version,
    Step,
    Rank,
    /// An amount, and the bytes of its unit if the cells leave it out.
    Figure(Metric, Option<u64>),
    Other,
}

/// What separates columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Apart {
    Blanks,
    /// Two blanks or more.
    Wide,
    Commas,
    Bars,
}

#[derive(Debug)]
pub(super) struct Header {
    pub(super) columns: Vec<Column>,
    apart: Apart,
    /// Whether rows may come after other lines if their amounts have units.
    pub(super) lasts: bool,
    /// Whether amounts may end with a small letter as their unit.
    pub(super) letters: bool,
    /// Whether rows may begin with the time, which no column has.
    timed: bool,
    /// Whether rows may begin with more than the columns.
    right: bool,
    /// The last line of the table.
    pub(super) last: u64,
}

impl Header {
    pub(super) fn of_gpus(columns: Vec<Column>, apart: Apart, last: u64) -> Self {
        Self { columns, apart, lasts: true, letters: false, timed: false, right: false, last }
    }

    /// The cells of the row `text`, if it has as many as the header.
    pub(super) fn fields<'a>(&self, text: &'a str) -> Option<Vec<&'a str>> {
        let mut fields = cells(text, self.apart);
        if self.timed {
            let time = |field: &&&str| {
                field.starts_with(|c: char| c.is_ascii_digit()) && field.contains([':', '-'])
                    || matches!(**field, "AM" | "PM")
            };
            let times = fields.iter().take(2).take_while(time).count();
            fields.drain(..times);
        }
        if self.apart == Apart::Wide && self.columns[0] == Column::Name {
            // Notes stand behind a row, and names have blanks.
            while fields.len() > self.columns.len() && fields.last().is_some_and(|field| field.starts_with('(')) {
                fields.pop();
            }
            if let Some(more @ 1..) = fields.len().checked_sub(self.columns.len()) {
                fields.drain(1..=more);
            }
        }
        if self.right {
            fields.drain(..fields.len().saturating_sub(self.columns.len()));
        }
        // The last column of a process is its command, which has blanks.
        let fits = match self.apart {
            Apart::Blanks => fields.len() >= self.columns.len(),
            _ => fields.len() == self.columns.len(),
        };
        fits.then_some(fields)
    }
}

/// The words of `text`, each number with its unit.
fn words(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let mut ends = 0;
    for word in text.split_ascii_whitespace() {
        let at = word.as_ptr() as usize - text.as_ptr() as usize;
        let is_unit = unit(word).is_some_and(|(size, rest)| size > 1 && rest.is_empty());
        match found.last_mut() {
            Some(last) if is_unit && at == ends + 1 && last.ends_with(|c: char| c.is_ascii_digit()) => {
                *last = &text[at - 1 - last.len()..at + word.len()];
            }
            _ => found.push(word),
        }
        if found.len() > MOST_COLUMNS {
            break;
        }
        ends = at + word.len();
    }
    found
}

fn cells(text: &str, apart: Apart) -> Vec<&str> {
    match apart {
        Apart::Blanks => words(text),
        Apart::Wide => text.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).take(MOST_COLUMNS + 1).collect(),
        Apart::Commas => text.split(',').map(str::trim).take(MOST_COLUMNS + 1).collect(),
        Apart::Bars => text.trim_matches('|').split('|').map(str::trim).take(MOST_COLUMNS + 1).collect(),
    }
}

/// The header of a loop: its first column is the step or the rank, and another one memory.
pub(super) fn of_loop(text: &str, last: u64) -> Option<Header> {
    let first = text.trim_start_matches(['|', ' ']).split([' ', '\t', ',', '|']).next().unwrap_or_default();
    if text.len() > LONGEST_HEADER || text.contains([':', '=']) {
        return None;
    }
    let is_of = |names: &[&str]| names.iter().any(|name| first.eq_ignore_ascii_case(name));
    let (counted, versions) = (is_of(&STEPS), is_of(&VERSIONS));
    // Both figures of the allocator are enough, whatever the rows are.
    let lower = || text.to_ascii_lowercase();
    if !counted && !versions && !is_of(&PHASES) && !["alloc", "reserv"].iter().all(|name| lower().contains(name)) {
        return None;
    }
    let (apart, names): (_, Vec<&str>) = if text.contains('|') {
        (Apart::Bars, cells(text, Apart::Bars))
    } else if text.contains(',') {
        (Apart::Commas, cells(text, Apart::Commas))
    } else if text.trim().contains("  ") {
        // Names of several words stand two blanks apart.
        (if counted { Apart::Blanks } else { Apart::Wide }, cells(text, Apart::Wide))
    } else {
        (Apart::Blanks, cells(text, Apart::Blanks))
    };
    let mut columns: Vec<Column> =
        names.iter().take(MOST_COLUMNS).map(|name| of_a_loop(&name.to_ascii_lowercase())).collect();
    let rows = if counted { matches!(columns[0], Column::Step | Column::Rank) } else { columns[0] == Column::Other };
    let steps = rows && names.len() > 1 && names.len() <= MOST_COLUMNS;
    if !counted {
        columns[0] = if versions { Column::Version } else { Column::Name };
    }
    // A row, and words that are prose.
    let of_table = |name: &str| !name.starts_with(|c: char| c.is_ascii_digit()) && !name.ends_with(['.', '!', '?']);
    let named = names.iter().all(|name| name.len() < 40 && of_table(name));
    // Batches of a size, not the numbers of batches: each row is work of its own, and says how fast it was or how it ended.
    let sized = |name: &&str| {
        regex!(r"(?i)^(?:seq\w*|seq(?:uence)?[ _]len\w*|length|resolution|model|params|hidden|layers|prompt|status|result|fits|ok|oom|\w+/s(?:ec)?|throughput|latency\w*)\W*$")
            .is_match(name)
    };
    let trains = |name: &&str| name.to_ascii_lowercase().contains("loss");
    let sizes =
        regex!(r"(?i)^(?:bs|batch_?size|seq\w*|tokens|ctx|context|res(?:olution)?|dim|hidden|layers)$").is_match(first);
    let by_size = sizes || first.eq_ignore_ascii_case("batch") && names.iter().any(sized);
    if by_size && !names.iter().any(trains) {
        return None;
    }
    if !steps || !named || !columns.iter().any(|column| matches!(column, Column::Figure(..))) {
        return None;
    }
    // As much work as is held at the time: what is stated compares both.
    if names.iter().any(|name| is_of_work(name)) {
        return None;
    }
    columns[1..].iter_mut().filter(|column| **column == Column::Step).for_each(|column| *column = Column::Other);
    Some(Header { columns, apart, lasts: false, letters: false, timed: false, right: false, last })
}

/// Whether `name` is that of a column of how much work a program holds, which may rise and fall.
pub(crate) fn is_of_work(name: &str) -> bool {
    regex!(r"(?i)^\W*(?:[\w/.-]+[ _:]){0,2}(?:replicas|pods|connections?|conns?|users|sessions|clients|players|viewers|subscribers|sockets|streams|tenants|rooms|devices|agents|documents|tabs|keys|vectors)\W*$").is_match(name)
}

/// The column of a loop's table whose name, in lower case, is `name`.
fn of_a_loop(name: &str) -> Column {
    if name == "rank" {
        return Column::Rank;
    }
    if STEPS.contains(&name) {
        return Column::Step;
    }
    let memory = regex!(
        r"^(?:(?P<peak>max|peak)[ _]?)?(?:(?:gpu|cuda|torch|device|memory|mem)[ _.]?)?(?P<what>gpu_?mem|gpu_?memory|cuda_?mem|gpu_?ram|mem|memory|vram|rss|uss|allocated|alloc|reserved|cached)(?:[ _]?(?:mem|memory|used|usage))?[ _]?[(\[]?(?P<unit>[kmg]i?b)?[)\]]?$"
    );
    if let Some(found) = regex!(r"^(?:after_?)?(?:a?sleep|residual)\w*_(?P<unit>[kmg])i?b$").captures(name) {
        return Column::Figure(Metric::StillInUse, size(&found["unit"]));
    }
    let Some(found) = memory.captures(name) else { return Column::Other };
    let unit = found.name("unit").and_then(|unit| size(unit.as_str()));
    let peak = found.name("peak").is_some();
    let on_device = name.contains("gpu") || name.contains("cuda") || name.contains("torch") || name.contains("device");
    let metric = match &found["what"] {
        "rss" | "uss" if peak => Metric::HostPeak,
        "rss" | "uss" => Metric::HostUsed,
        "reserved" | "cached" if peak => Metric::MaxReserved,
        "allocated" | "alloc" if peak => Metric::MaxAllocated,
        "allocated" | "alloc" => Metric::Allocated,
        // Memory of which nothing says whose it is.
        "mem" | "memory" if !on_device => return Column::Other,
        _ if peak => Metric::MaxReserved,
        _ => Metric::Reserved,
    };
    Column::Figure(metric, unit)
}

/// The bytes of the unit that begins with the first letter of `unit`.
fn size(unit: &str) -> Option<u64> {
    match unit.as_bytes().first()? {
        b'k' => Some(1 << 10),
        b'm' => Some(1 << 20),
        _ => Some(1 << 30),
    }
}

/// The header of `docker stats`, `podman stats` and `crictl stats`.
pub(super) fn of_containers(text: &str, last: u64) -> Option<Header> {
    let is = text.contains("MEM USAGE / LIMIT") || text.starts_with("CONTAINER ") && text.contains(" INODES");
    if text.len() > LONGEST_HEADER || !is {
        return None;
    }
    let column = |name: &&str| match *name {
        "NAME" => Column::Name,
        "MEM USAGE / LIMIT" | "MEM" => Column::Figure(Metric::HostUsed, None),
        _ => Column::Other,
    };
    let columns = cells(text, Apart::Wide).iter().map(column).collect();
    Some(Header { columns, apart: Apart::Wide, lasts: false, letters: false, timed: false, right: false, last })
}

/// `kubectl top pod`, whose rows come without a header if it is asked to, or if a search leaves it out.
pub(super) fn of_pods(text: &str, last: u64) -> Option<Header> {
    let command = text.len() <= LONGEST_HEADER
        && regex!(r"\bk(?:ubectl)?\b[^|;\n]{0,60} top po").is_match(text)
        && ["--no-headers", "grep", "rg "].iter().any(|without| text.contains(without));
    let columns = vec![Column::Name, Column::Other, Column::Figure(Metric::HostUsed, None)];
    command.then_some(Header {
        columns,
        apart: Apart::Blanks,
        lasts: false,
        letters: true,
        timed: false,
        right: true,
        last,
    })
}

/// The header of a table of processes, whose amounts are KiB: names in capitals, or the columns that a command asks for.
pub(super) fn of_processes(text: &str, last: u64) -> Option<Header> {
    if text.len() > LONGEST_HEADER || !["RSS", "RES", "rss", "MEMORY(bytes)"].iter().any(|name| text.contains(name)) {
        return None;
    }
    let capitals =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'%' | b'+' | b'_'));
    // `pidstat` puts the time before the names of its columns, as before each row.
    let time = |name: &&str| regex!(r"^(?:\d\d:\d\d:\d\d|[AP]M|#)$").is_match(name);
    let mut names: Vec<&str> = text.split_ascii_whitespace().take(MOST_COLUMNS + 1).collect();
    let times = names.iter().take(2).take_while(|name| time(name)).count();
    names.drain(..times);
    if let ["NAME", .., "MEMORY(bytes)"] | ["NAMESPACE" | "POD", "NAME", .., "MEMORY(bytes)"] = names[..] {
        let column = |name: &&str| match *name {
            "NAME" => Column::Name,
            "MEMORY(bytes)" => Column::Figure(Metric::HostUsed, None),
            _ => Column::Other,
        };
        let columns = names.iter().map(column).collect();
        return Some(Header {
            columns,
            apart: Apart::Blanks,
            lasts: false,
            letters: true,
            timed: false,
            right: false,
            last,
        });
    }
    let asked;
    let rates = |name: &str| capitals(name) || matches!(name, "minflt/s" | "majflt/s" | "Command");
    let (names, timed) = if names.len() <= MOST_COLUMNS && names.iter().all(|name| rates(name)) {
        (names, times > 0)
    } else {
        let command = regex!(
            r"(?:^|[\s;|(&`])ps\s(?:[^|;\n]*\s)?-?[a-zA-Z]*o[ =]?(?P<columns>[a-z%_]+=?(?:,[a-z%_]+=?)*)(?:\s|$|;|\|)"
        );
        let columns = command.captures(text)?.name("columns")?.as_str().to_ascii_uppercase();
        asked = columns;
        (asked.split(',').map(|name| name.trim_end_matches('=')).collect(), true)
    };
    let column = |name: &&str| match *name {
        "PID" => Column::Process,
        "RSS" | "RES" => Column::Figure(Metric::HostUsed, Some(1 << 10)),
        _ => Column::Other,
    };
    let columns: Vec<Column> = names.iter().map(column).collect();
    let amounts = columns.iter().filter(|column| matches!(column, Column::Figure(..))).count();
    let is = amounts == 1 && (timed || columns.contains(&Column::Process));
    is.then_some(Header { columns, apart: Apart::Blanks, lasts: false, letters: true, timed, right: false, last })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_loops_and_of_processes_are_known_and_prose_is_none() {
        let figures = |text: &str| {
            let header = of_loop(text, 0).or_else(|| of_processes(text, 0))?;
            let figures = header.columns.iter().filter_map(|column| match column {
                Column::Figure(metric, unit) => Some((*metric, *unit)),
                _ => None,
            });
            Some(figures.collect::<Vec<_>>())
        };
        let (kib, mib, gib) = (Some(1 << 10), Some(1 << 20), Some(1 << 30));
        for (text, expected) in [
            ("step  allocated  reserved", vec![(Metric::Allocated, None), (Metric::Reserved, None)]),
            ("step,loss,allocated_mb,peak_allocated_mb", vec![(Metric::Allocated, mib), (Metric::MaxAllocated, mib)]),
            ("| epoch | gpu mem (GiB) | loss |", vec![(Metric::Reserved, gib)]),
            ("idx        RSS          \u{394} RSS   \u{394} accumulated", vec![(Metric::HostUsed, None)]),
            ("iter rss_kb", vec![(Metric::HostUsed, kib)]),
            ("  PID   RSS    VSZ COMMAND", vec![(Metric::HostUsed, kib)]),
            ("USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND", vec![(Metric::HostUsed, kib)]),
            ("PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND", vec![(Metric::HostUsed, kib)]),
            (
                "$ while true; do ps -o pid,rss,vsz,cmd -p 2214 --no-headers; sleep 60; done",
                vec![(Metric::HostUsed, kib)],
            ),
            ("NAME   CPU(cores)   MEMORY(bytes)", vec![(Metric::HostUsed, None)]),
            ("$ watch -n 5 ps -p 71 -o rss=", vec![(Metric::HostUsed, kib)]),
            ("07:50:00 AM  UID  PID  minflt/s  majflt/s  VSZ  RSS  %MEM  Command", vec![(Metric::HostUsed, kib)]),
        ] {
            assert_eq!(figures(text).unwrap_or_default(), expected, "{text}");
        }
        for text in [
            "the epoch of vram",
            "step, which has the memory reserved for it, is next.",
            "steps to save rss",
            "ps aux | grep rss",
            "RSS PEAK",
            "epoch 3 loss 0.5 vram",
            "request memory limits",
        ] {
            assert_eq!(figures(text), None, "{text}");
        }
    }
}
