//! [`LiveView`]: a run under way, in a few lines that are drawn again and again.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::style::Screen;
use super::text::{clean, counted, cut, duration, styled, width};
use crate::bytes::ByteSize;
use crate::ceiling::Ceilings;
use crate::meter::{Glance, Metric, TimelinePoint, sparkline};

/// So many sums are kept for the line over time.
const HISTORY: usize = 240;
/// The columns of the bar and of the line over time.
const BAR: usize = 40;

/// What is kept of a run from one drawing to the next.
#[derive(Debug, Default)]
pub struct LiveView {
    history: VecDeque<TimelinePoint>,
    peak: ByteSize,
    /// The processor time of each process at the last drawing, and when that was.
    cpu: HashMap<u32, Duration>,
    drawn: Option<Duration>,
}

impl LiveView {
    /// The lines of `glance`, at most `rows`, none wider than the screen.
    pub fn lines(&mut self, glance: &Glance, ceilings: &Ceilings, screen: &Screen, rows: usize) -> Vec<String> {
        let palette = &screen.palette;
        let rss = glance.totals.map_or(ByteSize::ZERO, |totals| totals.rss);
        self.peak = self.peak.max(rss);
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        let at_ns = u64::try_from(glance.elapsed.as_nanos()).unwrap_or(u64::MAX);
        self.history.push_back(TimelinePoint { at_ns, rss, ..TimelinePoint::default() });

        let fit = |text: String| cut(&clean(&text), screen.width() - 1);
        let some = |bytes: Option<ByteSize>| bytes.map_or("n/a".to_owned(), |bytes| bytes.to_string());
        let mut lines = Vec::new();
        let available = some(glance.available);
        let head = format!(
            " phase {}  {}  {}  {available} available",
            glance.phase,
            duration(glance.elapsed.as_nanos() as f64),
            counted(glance.count, "process", "processes")
        );
        lines.push(styled(&fit(head), palette.heading));
        let (bar, over) = self.bar(rss, ceilings.get(Metric::PeakRss));
        let limit = ceilings.get(Metric::PeakRss).map_or(String::new(), |limit| format!("  peak_rss ≤ {limit}"));
        let text = fit(format!(" {bar}  {rss}, peak {}{limit}", self.peak));
        lines.push(styled(&text, if over { palette.bad } else { palette.good }));
        if let Some(totals) = glance.totals {
            let split =
                format!(" anon {}  shmem {}  swap {}", some(totals.anon), some(totals.shmem), some(totals.swap));
            lines.push(fit(split));
        }
        lines.push(styled(&fit(format!(" {}", sparkline(self.history.make_contiguous(), BAR))), palette.dim));
        let titles =
            format!(" {:>8} {:>11} {:>11} {:>11} {:>11} {:>6}  command", "pid", "RSS", "anon", "shmem", "swap", "CPU");
        lines.push(styled(&fit(titles), palette.dim));
        let since = self.drawn.map(|drawn| glance.elapsed.saturating_sub(drawn)).filter(|since| !since.is_zero());
        for process in &glance.processes {
            let before = self.cpu.get(&process.pid);
            let share = process.cpu.zip(before.copied()).zip(since).map(|((now, before), since)| {
                format!("{:.0} %", now.saturating_sub(before).as_secs_f64() / since.as_secs_f64() * 100.0)
            });
            let memory = &process.memory;
            lines.push(fit(format!(
                " {:>8} {:>11} {:>11} {:>11} {:>11} {:>6}  {}",
                process.pid,
                memory.rss.to_string(),
                some(memory.anon),
                some(memory.shmem),
                some(memory.swap),
                share.unwrap_or_default(),
                process.name
            )));
        }
        self.cpu = glance.processes.iter().filter_map(|process| Some((process.pid, process.cpu?))).collect();
        self.drawn = Some(glance.elapsed);
        lines.truncate(rows);
        debug_assert!(lines.iter().all(|line| !line.contains('\n')) && width(&bar) == BAR);
        lines
    }

    /// The resident memory as a bar with its ceiling as a line through it, and whether it is above.
    fn bar(&self, rss: ByteSize, limit: Option<ByteSize>) -> (String, bool) {
        // Room above the ceiling, so that what breaks it shows.
        let top = limit
            .map_or(self.peak.bytes(), |limit| self.peak.bytes().max(limit.bytes().saturating_add(limit.bytes() / 4)));
        let column = |bytes: u64| (u128::from(bytes) * BAR as u128 / u128::from(top.max(1))).min(BAR as u128) as usize;
        let (full, line) = (column(rss.bytes()), limit.map(|limit| column(limit.bytes()).min(BAR - 1)));
        let cell = |at: usize| match () {
            () if line == Some(at) => '┃',
            () if at < full => '█',
            () => '░',
        };
        ((0..BAR).map(cell).collect(), limit.is_some_and(|limit| rss > limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{MemorySplit, ProcessGlance};
    use crate::record::sample::assert_snapshot;
    use crate::report::terminal::Palette;

    fn split(mib: u64) -> MemorySplit {
        let part = |mib| Some(ByteSize::mib(mib));
        MemorySplit { rss: ByteSize::mib(mib), anon: part(mib / 2), file: part(mib / 2), shmem: part(0), swap: None }
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
    fn a_run_as_it_rises_above_its_ceiling() {
        let ceilings = "peak_rss = 256 MiB".parse().unwrap();
        let screen = Screen::new(80, Palette::plain());
        let mut view = LiveView::default();
        let mut text = String::new();
        for (seconds, mib) in [(1, 64), (2, 200), (3, 300)] {
            text += &view.lines(&glance(seconds, mib), &ceilings, &screen, 7).join("\n");
            text += "\n\n";
        }
        assert_snapshot("terminal_live", &text);
        assert_eq!(view.lines(&glance(4, 300), &ceilings, &screen, 3).len(), 3);
    }
}
