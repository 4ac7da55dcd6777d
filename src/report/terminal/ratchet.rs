//! Ceilings that can be lowered, on the terminal.

use crate::gate::{Lowering, Ratchet};
use plimsoll_memory::text::Screen;
use plimsoll_memory::text::{Align, Cell, fitted};
use plimsoll_memory::text::{clean, counted, labelled};

/// Writes the ceilings that `ratchet` lowers, or would lower if `check` is set, and where they are in the sources.
pub fn ratchet(ratchet: &Ratchet, check: bool, screen: &Screen) -> String {
    let palette = &screen.palette;
    let mut text = String::new();
    if !ratchet.lowerings.is_empty() {
        let columns = [
            ("test", Align::Left, 0),
            ("metric", Align::Left, 0),
            ("ceiling", Align::Right, 0),
            ("largest", Align::Right, 2),
            ("runs", Align::Right, 3),
            ("lowered to", Align::Right, 0),
            ("place", Align::Left, 1),
        ];
        let rows: Vec<Vec<Cell>> = ratchet.lowerings.iter().map(|lowering| row(lowering, screen)).collect();
        text = fitted(columns, &rows, screen);
        text.push('\n');
    }
    for lowering in &ratchet.lowerings {
        if let Some(reason) = &lowering.by_hand {
            let words = format!("{} of {}: {}", lowering.metric, clean(&lowering.subject), clean(reason));
            text.push_str(&labelled("by hand", palette.warn, &words, 10, screen));
        }
    }
    for failed in &ratchet.failed {
        text.push_str(&labelled(
            "failed",
            palette.warn,
            &format!("{failed}: its record was not used, as the test failed"),
            10,
            screen,
        ));
    }
    let applied = ratchet.lowerings.iter().filter(|lowering| lowering.place.is_some()).count();
    let all = ratchet.lowerings.len();
    let ceilings = |count| counted(count, "ceiling", "ceilings");
    let words = match (all, ratchet.kept) {
        (0, 0) => {
            "no record has a ceiling that could be lowered: run the tests with PLIMSOLL_RECORD_DIR set".to_owned()
        }
        (0, kept) => format!("{} as close to what is used as {} allows", stand(kept), ratchet.headroom),
        _ if check => format!("{} could be lowered by more than the headroom of {}", ceilings(all), ratchet.headroom),
        _ => format!("{} lowered, {} left to you", ceilings(applied), all - applied),
    };
    let style = if all > 0 && check { palette.bad } else { palette.good };
    text.push_str(&labelled("ratchet", style, &words, 10, screen));
    text
}

fn stand(kept: u64) -> String {
    if kept == 1 { "1 ceiling stands".to_owned() } else { format!("{kept} ceilings stand") }
}

fn row(lowering: &Lowering, screen: &Screen) -> Vec<Cell> {
    let palette = &screen.palette;
    let subject = match &lowering.suite {
        Some(suite) => format!("{suite}::{}", lowering.subject),
        None => lowering.subject.clone(),
    };
    vec![
        Cell::plain(clean(&subject)),
        Cell::plain(lowering.metric.name()),
        Cell::plain(lowering.from.exact()),
        Cell::plain(lowering.largest.to_string()),
        Cell::plain(lowering.runs.to_string()),
        Cell::new(lowering.to.exact(), palette.good),
        Cell::new(clean(lowering.place.as_deref().unwrap_or("-")), palette.dim),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::sample_test_run as run;
    use crate::record::sample::assert_snapshot;
    use crate::report::terminal::Palette;

    #[test]
    fn ceilings_to_lower() {
        let started = "2026-01-01T00:00:00.000Z";
        let records = [
            run("tests::reads", 256, 60, started),
            run("tests::writes", 512, 61, started),
            run("breaks", 8, 9, started),
        ];
        let mut found = crate::gate::ratchet(&records, "10% | 4 MiB".parse().unwrap());
        found.lowerings[0].place = Some("src/reading.rs:118".to_owned());
        found.lowerings[1].by_hand = Some("src/writing.rs:9 has an expression instead of a literal".to_owned());
        let screen = Screen::new(110, Palette::plain());
        assert_snapshot("terminal_ratchet", &ratchet(&found, false, &screen));
        assert!(ratchet(&found, true, &screen).contains("2 ceilings could be lowered by more than"));
        found.lowerings.clear();
        assert!(ratchet(&found, true, &screen).contains("no record has a ceiling"));
    }
}
