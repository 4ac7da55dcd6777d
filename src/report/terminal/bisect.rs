//! The search for a commit on the terminal.

use super::gate::gate;
use crate::gate::bisect::{Bisection, Growth, SearchEnd, Tried};
use crate::report::figures::amount;
use plimsoll_memory::text::{Align, Cell, fitted};
use plimsoll_memory::text::{Screen, clean, counted, labelled, percent};

/// Writes the search: the commits that were tried, the result, the figures before and after, and where memory grew.
pub fn bisection(search: &Bisection, screen: &Screen) -> String {
    let palette = &screen.palette;
    let mut text = labelled("good", palette.heading, &search.good.short(), 12, screen);
    text.push_str(&labelled("bad", palette.heading, &search.bad.short(), 12, screen));
    if let Some(figure) = &search.figure {
        let after = figure.before + figure.change;
        let words = format!(
            "{}: from {} to {}, {}",
            figure.name,
            amount(figure.before, figure.unit),
            amount(after, figure.unit),
            percent(figure.before, after)
        );
        text.push_str(&labelled("figure", palette.heading, &words, 12, screen));
    }
    text.push('\n');
    if !search.tried.is_empty() {
        text.push_str(&tried(search, screen));
        text.push('\n');
    }
    text.extend(search.report.iter().map(|report| gate(report, screen) + "\n"));
    text.push_str(&grown(&search.growths, screen));
    text.push_str(&end(search, screen));
    text
}

fn tried(search: &Bisection, screen: &Screen) -> String {
    let palette = &screen.palette;
    let columns = [
        ("tried", Align::Left, 0),
        ("runs", Align::Right, 2),
        ("level", Align::Right, 1),
        ("found", Align::Left, 0),
        ("title", Align::Left, 3),
    ];
    let row = |tried: &crate::gate::bisect::TriedCommit| {
        let unit = search.figure.as_ref().map(|figure| figure.unit);
        let level = tried.level.zip(unit).map_or_else(|| "-".to_owned(), |(level, unit)| amount(level, unit));
        let (word, style) = match tried.found {
            Tried::Good => ("good", palette.good),
            Tried::Bad => ("bad", palette.bad),
            Tried::Skipped => ("skipped", palette.warn),
        };
        let about = tried.why.as_deref().unwrap_or(&tried.named.title);
        vec![
            Cell::plain(clean(tried.named.commit.get(..10).unwrap_or(&tried.named.commit))),
            Cell::new(tried.runs.to_string(), palette.dim),
            Cell::plain(level),
            Cell::new(word, style),
            Cell::new(clean(about).chars().take(60).collect::<String>(), palette.dim),
        ]
    };
    fitted(columns, &search.tried.iter().map(row).collect::<Vec<_>>(), screen)
}

fn grown(growths: &[Growth], screen: &Screen) -> String {
    let palette = &screen.palette;
    let line = |growth: &Growth| {
        let what = growth
            .mapping
            .as_ref()
            .map_or_else(|| format!("phase {}", growth.phase), |mapping| format!("{mapping} in {}", growth.phase));
        let words = format!("{what}: from {} to {}", growth.before, growth.after);
        labelled("grew", palette.warn, &words, 12, screen)
    };
    growths.iter().map(line).collect()
}

fn end(search: &Bisection, screen: &Screen) -> String {
    let palette = &screen.palette;
    let code = search.exit_code();
    let sure = (search.confidence * 1e6).round() / 1e4;
    match &search.end {
        Some(SearchEnd::Found { commit, merge, before, share }) => {
            let what = if *merge { "the merge " } else { "" };
            let mut words = format!("{what}{}, sure to {sure} % (exit {code})", commit.short());
            // A change in several steps was made by several commits.
            if *share < 0.75 {
                words += &format!(
                    "; it made {:.0} % of the change: for the rest, search up to {} and from {} on",
                    share * 100.0,
                    before.short(),
                    commit.short()
                );
            }
            labelled("FOUND", palette.good, &words, 12, screen)
        }
        Some(SearchEnd::Suspects { commits }) => {
            let count = counted(commits.len(), "commit", "commits");
            let words = format!("one of {count} made the change; those between could not be judged (exit {code})");
            let mut text = labelled("SUSPECTS", palette.warn, &words, 12, screen);
            for commit in commits {
                text.push_str(&labelled("  or", palette.dim, &commit.short(), 12, screen));
            }
            text
        }
        Some(SearchEnd::NoDifference { why }) => {
            labelled("NOTHING", palette.warn, &format!("{why} (exit {code})"), 12, screen)
        }
        Some(SearchEnd::BaseIsBad { base }) => {
            let words = format!(
                "GOOD and BAD both descend from {}, which is as bad as BAD: the figure changed on the way to GOOD. `plimsoll bisect \
                 {} {}` finds where (exit {code})",
                base.short(),
                base.commit.get(..10).unwrap_or(&base.commit),
                search.good.commit.get(..10).unwrap_or(&search.good.commit),
            );
            labelled("ELSEWHERE", palette.warn, &words, 12, screen)
        }
        None => labelled("OPEN", palette.warn, "the search has not ended", 12, screen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::bisect::{Bisected, Named, TriedCommit};
    use crate::gate::{Direction, Unit};
    use crate::record::sample::assert_snapshot;
    use plimsoll_memory::bytes::ByteSize;
    use plimsoll_memory::text::Palette;

    fn named(number: u64) -> Named {
        Named {
            commit: format!("{:040x}", (u128::from(number) * 0x1234_5678_9abc_def1) << 96),
            title: format!("Change number {number}"),
        }
    }

    fn search(end: Option<SearchEnd>) -> Bisection {
        let mut search = Bisection::new(named(1), named(9), 0.99);
        let (unit, direction) = (Unit::Bytes, Direction::Lower);
        let (before, change) = (50.0 * 1048576.0, 20.0 * 1048576.0);
        search.figure = Some(Bisected { name: "peak_rss".to_owned(), unit, direction, before, change });
        for (number, found, level) in
            [(5, Tried::Bad, Some(70.0)), (3, Tried::Skipped, None), (4, Tried::Good, Some(50.0))]
        {
            let level = level.map(|mib| mib * 1048576.0);
            let why = level.is_none().then(|| "the build exited with code 1: no such file".to_owned());
            let runs = if level.is_some() { 7 } else { 0 };
            search.tried.push(TriedCommit { named: named(number), found, runs, level, why });
        }
        search.end = end;
        search
    }

    #[test]
    fn a_search_of_every_end() {
        let found = SearchEnd::Found { commit: named(5), merge: false, before: named(4), share: 0.4 };
        let mut whole = search(Some(found));
        let (before, after) = (ByteSize::mib(50), ByteSize::mib(70));
        let growth = |mapping: Option<&str>| Growth {
            phase: "load".to_owned(),
            mapping: mapping.map(str::to_owned),
            before,
            after,
        };
        whole.growths = vec![growth(None), growth(Some("heap"))];
        let suspects = SearchEnd::Suspects { commits: vec![named(5), named(3)] };
        let nothing = SearchEnd::NoDifference { why: "GOOD and BAD do not differ by more than the limit".to_owned() };
        let text: Vec<String> = [
            whole,
            search(Some(suspects)),
            search(Some(nothing)),
            search(Some(SearchEnd::BaseIsBad { base: named(2) })),
        ]
        .iter()
        .map(|search| bisection(search, &Screen::new(100, Palette::plain())))
        .collect();
        assert_snapshot("terminal_bisect", &text.join("\n"));
    }
}
