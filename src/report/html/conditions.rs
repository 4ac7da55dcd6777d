//! What the figures mean, how memory was managed and where the command ran: the record's fields in folds.

use serde::Serialize;
use serde_json::Value;

use super::{Body, escaped, table};
use crate::record::{CaptureSemantics, Record, Rows, Semantics};
use crate::report::terminal::{counted, value_words};

/// Maximum number of items of a list shown here; the record has them all.
const ITEMS: usize = 24;

/// Writes one fold for each of the three parts of the record.
pub(super) fn conditions(out: &mut Body, record: &Record) {
    out.push_str("<h2>Conditions</h2>\n");
    let semantics = match &record.semantics {
        // Each entry already has its own row.
        Semantics::Capture(semantics) => {
            Semantics::Capture(CaptureSemantics { entries: Rows::default(), ..semantics.clone() })
        }
        other => other.clone(),
    };
    fold(out, "Semantics: what the figures mean", &semantics, &[("digest", &record.semantics_digest)]);
    fold(out, "Policy: how memory was managed", &record.policy, &[]);
    fold(out, "Environment: where it ran", &record.environment, &[("plimsoll", &record.plimsoll)]);
}

fn fold(out: &mut Body, title: &str, part: &impl Serialize, more: &[(&str, &String)]) {
    let mut rows = Vec::new();
    if let Ok(value) = serde_json::to_value(part) {
        flat("", &value, &mut rows);
    }
    rows.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).clone())));
    out.push_str(&format!("<details class=\"fold\"><summary>{title}</summary>\n"));
    let rows = rows.into_iter().map(|(name, value)| vec![escaped(&name), escaped(&value)]);
    table::table(out, &[table::words("field"), table::words("value")], rows);
    out.push_str("</details>\n");
}

fn flat(path: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path} {name}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| flat(&below(name), value, rows)),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (at, item) in items.iter().take(ITEMS).enumerate() {
                flat(&below(&(at + 1).to_string()), item, rows);
            }
            if let Some(more) = items.len().checked_sub(ITEMS).filter(|more| *more > 0) {
                rows.push((path.to_owned(), format!("and {more} more, in the record")));
            }
        }
        Value::Array(items) if items.is_empty() => {}
        Value::Array(items) => {
            let words: Vec<_> = items.iter().take(ITEMS).map(|item| value_words(path, item)).collect();
            let more = items.len().saturating_sub(ITEMS);
            let more = if more > 0 { format!(" and {}", counted(more, "more", "more")) } else { String::new() };
            rows.push((path.to_owned(), words.join(" ") + &more));
        }
        Value::Null => {}
        other => {
            // The last word of a path shows the unit.
            let field = path.rsplit(' ').next().unwrap_or(path);
            rows.push((path.to_owned(), value_words(field, other)));
        }
    }
}
