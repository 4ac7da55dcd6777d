//! Proposed ceilings as a terminal document.

use std::collections::BTreeMap;

use super::propose::{Proposal, ProposedCeiling};
use super::verdict::trust;
use crate::text::{Align, Cell, Screen, clean, counted, fitted, labelled};

/// Formats `proposal`: one row per metric with the range of the runs and the ceiling, then remarks.
pub fn proposal(proposal: &Proposal, screen: &Screen) -> String {
    let palette = &screen.palette;
    let columns = [
        ("metric", Align::Left, 0),
        ("smallest", Align::Right, 2),
        ("median", Align::Right, 3),
        ("largest", Align::Right, 1),
        ("ceiling", Align::Right, 0),
        ("source", Align::Left, 4),
    ];
    let rows: Vec<Vec<Cell>> = proposal.ceilings.iter().map(|ceiling| row(ceiling, screen)).collect();
    let mut text = fitted(columns, &rows, screen);
    let runs = counted(proposal.runs as usize, "run", "runs");
    let words = format!(
        "{runs}; the ceiling is {} beyond the worst, the larger of the two, rounded; without it, one run more exceeds the \
         worst with a probability of 1 in {}",
        proposal.headroom,
        proposal.runs + 1
    );
    text.push_str(&labelled("headroom", palette.dim, &words, 12, screen));
    for ceiling in proposal.ceilings.iter().filter(|ceiling| ceiling.scattered) {
        let words = format!(
            "{} differs by {} from run to run, more than the headroom: make it larger, or find out why",
            ceiling.metric,
            ceiling.largest.saturating_sub(ceiling.smallest)
        );
        text.push_str(&labelled("scattered", palette.warn, &words, 12, screen));
    }
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for unavailable in &proposal.unavailable {
        reasons.entry(&unavailable.reason).or_default().push(unavailable.metric.name());
    }
    for (reason, metrics) in reasons {
        let words = format!("{}: {}", metrics.join(", "), clean(reason));
        text.push_str(&labelled("not read", palette.dim, &words, 12, screen));
    }
    text
}

fn row(ceiling: &ProposedCeiling, screen: &Screen) -> Vec<Cell> {
    let palette = &screen.palette;
    let figure = |bytes| Cell::plain(format!("{bytes}"));
    let style = if ceiling.scattered { palette.warn } else { palette.good };
    let source = format!("in `{}`, {}", clean(&ceiling.phase), clean(source(&trust(&ceiling.reading))));
    vec![
        Cell::plain(ceiling.metric.name()),
        figure(ceiling.smallest),
        figure(ceiling.median),
        figure(ceiling.largest),
        Cell::new(ceiling.limit.exact(), style),
        Cell::new(source, palette.dim),
    ]
}

/// How exact a figure is; the JSON also names its counter.
fn source(trust: &str) -> &str {
    trust.split_once(" (").map_or(trust, |(source, _)| source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::propose;
    use crate::testing::{assert_snapshot, phases_of as run};
    use crate::text::Palette;

    #[test]
    fn a_calibration_of_three_runs() {
        let proposed = propose(&[run(200), run(230), run(202)], "5% | 4 MiB".parse().unwrap());
        for (name, width) in [("terminal_proposal", 120), ("terminal_proposal_narrow", 66)] {
            assert_snapshot(name, &proposal(&proposed, &Screen::new(width, Palette::plain())));
        }
    }
}
