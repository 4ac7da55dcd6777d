//! [`LiveView`]: a running command, in a few lines that are redrawn.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use anstyle::Style;

use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::ceiling::Ceilings;
use plimsoll_memory::meter::{Glance, Metric, ProcessGlance, TimelinePoint, sparkline};
use plimsoll_memory::nanoseconds;
use plimsoll_memory::text::Palette;
use plimsoll_memory::text::{clean, counted, cut, duration, styled, width};

/// Number of samples kept for the line over time.
const HISTORY: usize = 240;
/// The most columns of the bar and of the line over time.
const BAR: usize = 60;
/// Columns reserved beside the bar for its explanation: `1023 MiB, peak 1023 MiB  peak_rss ≤ 1023 MiB`.
const BESIDE: usize = 46;
/// The minimum width of a bar with text beside it; on a narrower screen the text goes below.
const LEAST_BAR: usize = 24;
/// The minimum width of a command's name; columns of figures give way to it.
const COMMAND: usize = 10;

/// The figure columns of a process: title, width, and priority if there is not enough room.
const FIGURES: [(&str, usize, u8); 6] =
    [("pid", 7, 0), ("RSS", 8, 0), ("anon", 8, 2), ("shmem", 8, 3), ("swap", 8, 4), ("CPU", 6, 1)];

/// State kept between two drawings of a run.
#[derive(Debug, Default)]
pub struct LiveView {
    history: VecDeque<TimelinePoint>,
    peak: ByteSize,
    /// The processor time of each process at the last drawing, and the time of that drawing.
    cpu: HashMap<u32, Duration>,
    drawn: Option<Duration>,
}

impl LiveView {
    /// The lines of `glance` for a terminal of the given columns, at most `rows`; each leaves the last column free.
    pub fn lines(
        &mut self,
        glance: &Glance,
        ceilings: &Ceilings,
        palette: &Palette,
        (columns, rows): (usize, usize),
    ) -> Vec<String> {
        let room = columns.saturating_sub(2);
        let rss = glance.totals.map_or(ByteSize::ZERO, |totals| totals.rss);
        self.keep(glance, rss);

        let mut lines = Lines { room, lines: Vec::new() };
        let available = glance.available.map(|available| format!("{} available", short(available)));
        let phase = format!("phase {}", cut(&clean(&glance.phase), (room / 2).saturating_sub(6)));
        let head = [phase, duration(glance.elapsed.as_nanos() as f64), counted(glance.count, "process", "processes")];
        lines.flow(head.into_iter().chain(available), palette.heading);

        let limit = ceilings.get(Metric::PeakRss);
        let beside = room.saturating_sub(BESIDE);
        let wide = beside >= LEAST_BAR;
        let columns = if wide { beside.min(BAR) } else { room.min(BAR) };
        let (bar, over) = self.bar(rss, limit, columns);
        let style = if over { palette.bad } else { palette.good };
        let peak = format!("{}, peak {}", short(rss), short(self.peak));
        let ceiling = limit.map(|limit| format!("peak_rss ≤ {}", short(limit)));
        if wide {
            lines.flow([bar, peak].into_iter().chain(ceiling), style);
        } else {
            lines.flow([bar], style);
            lines.flow([peak].into_iter().chain(ceiling), style);
        }
        if let Some(totals) = glance.totals {
            let kinds = [("anon", totals.anon), ("shmem", totals.shmem), ("swap", totals.swap)];
            lines.flow(kinds.map(|(name, bytes)| format!("{name} {}", some(bytes))), Style::new());
        }
        lines.flow([sparkline(self.history.make_contiguous(), columns)], palette.dim);
        self.processes(glance, palette, &mut lines);
        let mut lines = lines.lines;
        lines.truncate(rows);
        lines
    }

    /// Stores what the next drawing needs.
    fn keep(&mut self, glance: &Glance, rss: ByteSize) {
        self.peak = self.peak.max(rss);
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        let at_ns = nanoseconds(glance.elapsed);
        self.history.push_back(TimelinePoint { at_ns, rss, ..TimelinePoint::default() });
    }

    /// Draws one row per process, with the columns that fit.
    fn processes(&mut self, glance: &Glance, palette: &Palette, lines: &mut Lines) {
        let taken =
            |rank: u8| FIGURES.iter().filter(|figure| figure.2 <= rank).map(|figure| figure.1 + 2).sum::<usize>();
        let rank = (0..=4).rev().find(|&rank| taken(rank) + COMMAND <= lines.room).unwrap_or(0);
        let shown = |cells: [String; 6]| -> String {
            let cells = FIGURES.iter().zip(cells).filter(|(figure, _)| figure.2 <= rank);
            cells.map(|((_, width, _), cell)| format!("{cell:>width$}  ")).collect()
        };
        let titles = shown(FIGURES.map(|(title, ..)| title.to_owned()));
        lines.flow([titles + "command"], palette.dim);
        let since = self.drawn.map(|drawn| glance.elapsed.saturating_sub(drawn)).filter(|since| !since.is_zero());
        let share = |process: &ProcessGlance| {
            let before = self.cpu.get(&process.pid).copied();
            process.cpu.zip(before).zip(since).map_or_else(String::new, |((now, before), since)| {
                format!("{:.0} %", now.saturating_sub(before).as_secs_f64() / since.as_secs_f64() * 100.0)
            })
        };
        for process in &glance.processes {
            let memory = &process.memory;
            let figures = shown([
                process.pid.to_string(),
                short(memory.rss),
                some(memory.anon),
                some(memory.shmem),
                some(memory.swap),
                share(process),
            ]);
            lines.flow([figures + &clean(&process.name)], Style::new());
        }
        self.cpu = glance.processes.iter().filter_map(|process| Some((process.pid, process.cpu?))).collect();
        self.drawn = Some(glance.elapsed);
    }

    /// Draws resident memory as a bar with its ceiling as a line through it; also returns whether it is above the
    /// ceiling.
    fn bar(&self, rss: ByteSize, limit: Option<ByteSize>, columns: usize) -> (String, bool) {
        // Leaves room above the ceiling, so that an excess shows.
        let top = limit
            .map_or(self.peak.bytes(), |limit| self.peak.bytes().max(limit.bytes().saturating_add(limit.bytes() / 4)));
        let column =
            |bytes: u64| (u128::from(bytes) * columns as u128 / u128::from(top.max(1))).min(columns as u128) as usize;
        let (full, line) =
            (column(rss.bytes()), limit.map(|limit| column(limit.bytes()).min(columns.saturating_sub(1))));
        let cell = |at: usize| match () {
            () if line == Some(at) => '┃',
            () if at < full => '█',
            () => '░',
        };
        ((0..columns).map(cell).collect(), limit.is_some_and(|limit| rss > limit))
    }
}

/// Lines that are filled one after the other.
struct Lines {
    /// The columns left on a line after its label.
    room: usize,
    lines: Vec<String>,
}

impl Lines {
    /// Adds all of `parts`, as many per line as fit. Only a part longer than a line is cut.
    fn flow(&mut self, parts: impl IntoIterator<Item = String>, style: Style) {
        let mut line = String::new();
        for part in parts {
            let part = cut(&part, self.room);
            if line.is_empty() {
                line = part;
            } else if width(&line) + 2 + width(&part) <= self.room {
                line = line + "  " + &part;
            } else {
                self.push(&std::mem::replace(&mut line, part), style);
            }
        }
        self.push(&line, style);
    }

    fn push(&mut self, line: &str, style: Style) {
        self.lines.push(styled(&format!(" {line}"), style));
    }
}

/// An amount in three digits: more would flicker.
fn short(bytes: ByteSize) -> String {
    let text = bytes.to_string();
    let Some((number, unit)) = text.split_once(' ').filter(|(number, _)| number.contains('.')) else { return text };
    let decimals = match number.find('.') {
        Some(1) => 2,
        Some(2) => 1,
        _ => 0,
    };
    match number.parse::<f64>() {
        Ok(number) => format!("{number:.decimals$} {unit}"),
        Err(_) => text,
    }
}

fn some(bytes: Option<ByteSize>) -> String {
    bytes.map_or("n/a".to_owned(), short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample::assert_snapshot;
    use plimsoll_memory::meter::{MemorySplit, ProcessGlance};

    fn split(mib: u64) -> MemorySplit {
        let part = |mib| Some(ByteSize::mib(mib));
        MemorySplit {
            rss: ByteSize::mib(mib),
            anon: part(mib / 2),
            file: part(mib / 2),
            shmem: part(0),
            swap: None,
            hugetlb: None,
        }
    }

    fn glance(seconds: u64, mib: u64) -> Glance {
        let process = |pid, name: &str, mib| ProcessGlance {
            pid,
            name: name.to_owned(),
            memory: split(mib),
            cpu: Some(Duration::from_millis(seconds * 750)),
        };
        Glance {
            phase: "train\u{1b}[2J".to_owned(),
            elapsed: Duration::from_secs(seconds),
            totals: Some(split(mib)),
            available: Some(ByteSize::gib(20)),
            count: 2,
            processes: vec![process(4242, "python3", mib - 10), process(4243, "worker\n1", 10)],
        }
    }

    #[test]
    fn a_run_as_it_rises_above_its_ceiling_on_any_screen() {
        let ceilings = "peak_rss = 256 MiB".parse().unwrap();
        let palette = Palette::plain();
        let mut text = String::new();
        for columns in [100, 80, 40] {
            let mut view = LiveView::default();
            for (seconds, mib) in [(1, 64), (2, 200), (3, 300)] {
                text += &view.lines(&glance(seconds, mib), &ceilings, &palette, (columns, 12)).join("\n");
                text += "\n\n";
            }
            assert_eq!(view.lines(&glance(4, 300), &ceilings, &palette, (columns, 3)).len(), 3);
        }
        assert_snapshot("terminal_live", &text);
    }

    #[test]
    fn nothing_is_cut_and_no_line_is_as_wide_as_the_screen() {
        let ceilings = "peak_rss = 1023 MiB".parse().unwrap();
        let mut glance = glance(3, 1023);
        glance.processes[0].pid = 4_194_304;
        glance.processes[0].name = "ninechars".to_owned();
        for columns in 40..=200 {
            let mut view = LiveView::default();
            for _ in 0..2 {
                glance.elapsed += Duration::from_secs(1);
                let lines = view.lines(&glance, &ceilings, &Palette::plain(), (columns, 12));
                assert!(lines.iter().all(|line| width(line) < columns && !line.contains('…')), "{columns}: {lines:#?}");
                let text = lines.join(" ");
                for part in ["phase train", "2 processes", "available", "peak_rss ≤ 1023 MiB", "4194304", "ninechars"]
                {
                    assert!(text.contains(part), "{part} at {columns}: {lines:#?}");
                }
            }
        }
        // Without any room the content does not matter, but something is drawn.
        assert!(!LiveView::default().lines(&glance, &ceilings, &Palette::plain(), (0, 12)).is_empty());
    }

    #[test]
    fn amounts_have_three_digits() {
        let shown = [0, 1023, 1024, 55_000, 550_000, 300 << 20, 1_073_000_000].map(|bytes| short(ByteSize::new(bytes)));
        assert_eq!(shown, ["0 B", "1023 B", "1.00 KiB", "53.7 KiB", "537 KiB", "300 MiB", "1023 MiB"]);
    }
}
