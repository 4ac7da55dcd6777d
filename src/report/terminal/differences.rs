//! The differences between two records on the terminal.

use anstyle::Style;
use serde_json::Value;

use super::memory::marked;
use super::worst::{ROWS, worst};
use crate::record::{Change, ChangeKind, Differences, Figures, Rows, TimingDelta};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::text::Screen;
use plimsoll_memory::text::{Align, Cell, apart};
use plimsoll_memory::text::{clean, counted, cut, duration, interval, labelled, percent, short, styled};

/// The fields of a record that are bytes; those that are times end in `_ns`.
const BYTES: [&str; 9] = ["bytes", "limit", "cap", "after", "rss_mark", "memory", "memory_high", "swap", "page"];

/// Writes the changes in semantics, policy, environment and results, then the times and peaks of both records if they
/// are comparable.
pub fn differences(differences: &Differences, screen: &Screen) -> String {
    let palette = &screen.palette;
    let [before, after] = &differences.digests;
    let (style, word) = if differences.semantics_changed() {
        (palette.bad, format!("changed: {} → {}", short(before), short(after)))
    } else {
        (palette.good, format!("the same: {}", short(before)))
    };
    let mut text = section("semantics", style, &word, screen);
    text.push_str(&changes(&differences.semantics, screen));
    for (name, found) in
        [("policy", &differences.policy), ("environment", &differences.environment), ("results", &differences.results)]
    {
        let word = match found.len() {
            0 => "the same".to_owned(),
            count => counted(count, "change", "changes"),
        };
        text.push_str(&section(name, palette.heading, &word, screen));
        text.push_str(&changes(found, screen));
    }
    match &differences.figures {
        Some(figures) => text.push_str(&tables(figures, screen)),
        None => {
            let refusal = "not compared: times and peaks of different semantics mean different things";
            text.push_str(&section("figures", palette.warn, refusal, screen));
        }
    }
    text
}

fn section(name: &str, style: Style, word: &str, screen: &Screen) -> String {
    labelled(name, style, word, 12, screen)
}

fn changes(changes: &Rows<Change>, screen: &Screen) -> String {
    let palette = &screen.palette;
    let line = |change: &Change| {
        let (mark, style) = match change.kind {
            ChangeKind::Added => ("+", palette.good),
            ChangeKind::Removed => ("-", palette.bad),
            ChangeKind::Changed => ("~", palette.warn),
            ChangeKind::Reordered => ("↕", palette.warn),
        };
        let side = |value: &Option<Value>| value.as_ref().map(|value| value_words(&change.path, value));
        let values = match (side(&change.before), side(&change.after)) {
            (Some(before), Some(after)) => format!("{before} → {after}"),
            (one, other) => one.or(other).unwrap_or_default(),
        };
        let line = cut(&clean(&format!("{}  {values}", change.path)), screen.width() - 5);
        format!("   {} {line}\n", styled(mark, style))
    };
    changes.iter().map(|change| line(&change)).collect()
}

/// A value of a record in readable form; the last part of its path determines the unit.
pub(crate) fn value_words(path: &str, value: &Value) -> String {
    let field = path.rsplit('/').next().unwrap_or(path);
    match value {
        Value::Number(n) if field.ends_with("_ns") => n.as_u64().map_or_else(|| n.to_string(), interval),
        Value::Number(n) if BYTES.contains(&field) => match n.as_u64() {
            Some(bytes) => ByteSize::new(bytes).to_string(),
            None => n.to_string(),
        },
        Value::String(text) if text.starts_with("blake3:") => short(text),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().any(Value::is_object) => counted(items.len(), "item", "items"),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| format!("{name} {}", value_words(&format!("{path}/{name}"), value)))
            .collect::<Vec<_>>()
            .join(", "),
        other => other.to_string(),
    }
}

fn tables(figures: &Figures, screen: &Screen) -> String {
    // The figure over all entries stands first.
    let badness = |delta: &TimingDelta| (delta.entry.is_some(), (delta.after_ns / delta.before_ns).ln().abs());
    let mut timing = figures.timing.reader();
    let shown = worst(figures.timing.iter().map(|delta| badness(&delta)));
    let times = shown.into_iter().filter_map(|place| timing.get(place).cloned()).map(|delta| {
        let name = delta.entry.as_deref().map_or("all entries".to_owned(), clean);
        let ratio = percent(delta.before_ns, delta.after_ns);
        [name, duration(delta.before_ns), duration(delta.after_ns), ratio]
    });
    let peaks = figures.memory.iter().map(|delta| {
        let name = format!("{} {}", clean(&delta.phase), delta.metric.name());
        let (before, after) = (delta.before.bytes.bytes(), delta.after.bytes.bytes());
        let ratio = percent(before as f64, after as f64);
        [name, marked(&delta.before), marked(&delta.after), ratio]
    });
    let mut text = table("median/launch", times.collect(), screen);
    if let Some(more) = figures.timing.len().checked_sub(ROWS).filter(|more| *more > 0) {
        let line = format!("… and {more} more that changed less; --json has them all");
        text.push_str(&format!(" {}\n", styled(&cut(&line, screen.width() - 1), screen.palette.dim)));
    }
    text + &table("memory", peaks.collect(), screen)
}

fn table(title: &'static str, rows: Vec<[String; 4]>, screen: &Screen) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let columns =
        [(title, Align::Left, 0), ("before", Align::Right, 1), ("after", Align::Right, 0), ("change", Align::Right, 0)];
    let rows: Vec<Vec<Cell>> = rows.into_iter().map(|row| row.map(Cell::plain).to_vec()).collect();
    apart(columns, &rows, screen)
}
