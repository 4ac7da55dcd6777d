//! github-action-benchmark: the data of its page (`data.js`), and lists of results in its input format.

use std::path::Path;

use serde_json::Value;

use super::{At, Gathered, HistoryError, Measured, failed};
use crate::record::Direction;

/// Whether a document is in this tool's format.
pub(super) fn is(value: &Value) -> bool {
    value.is_array() || value.get("entries").is_some_and(Value::is_object)
}

pub(super) fn read(path: &Path, value: &Value, found: &mut Gathered) -> Result<(), HistoryError> {
    let Some(suites) = value.get("entries").and_then(Value::as_object) else {
        return benches(path, value, None, None, None, found);
    };
    for (suite, runs) in suites {
        for run in runs.as_array().map(Vec::as_slice).unwrap_or_default() {
            let text = |name: &str| run.get("commit").and_then(|commit| commit.get(name)).and_then(Value::as_str);
            let id = text("id").ok_or_else(|| failed(path, format!("a run of {suite} has no commit")))?;
            let made = text("timestamp").and_then(|text| humantime::parse_rfc3339_weak(&utc(text)?).ok());
            let made = made.and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
            let committed = made.and_then(|made| i64::try_from(made.as_secs()).ok());
            let committed = committed.or(run.get("date").and_then(Value::as_i64).map(|at| at / 1000));
            let title = text("message").and_then(|message| message.lines().next()).unwrap_or_default().to_owned();
            let at = At { id: id.to_owned(), committed, title };
            let tool = run.get("tool").and_then(Value::as_str);
            let list = run.get("benches").unwrap_or(&Value::Null);
            benches(path, list, Some(&at), Some(suite), tool, found)?;
        }
    }
    Ok(())
}

/// Converts a time with an offset (`2024-01-31T10:00:00+01:00`) to UTC.
pub(super) fn utc(text: &str) -> Option<String> {
    let (local, offset) = text.split_at_checked(19)?;
    let offset = offset.find(['+', '-', 'Z']).map_or("", |at| &offset[at..]);
    let minutes = match offset {
        "" | "Z" => 0,
        offset => {
            let (hours, minutes) = offset.get(1..)?.split_once(':')?;
            let minutes = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
            if offset.starts_with('-') { -minutes } else { minutes }
        }
    };
    let at = humantime::parse_rfc3339_weak(local).ok()?;
    let seconds = i64::try_from(at.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs()).ok()? - minutes * 60;
    let at = std::time::UNIX_EPOCH.checked_add(std::time::Duration::from_secs(u64::try_from(seconds).ok()?))?;
    Some(humantime::format_rfc3339_seconds(at).to_string())
}

fn benches(
    path: &Path,
    list: &Value,
    at: Option<&At>,
    suite: Option<&str>,
    tool: Option<&str>,
    found: &mut Gathered,
) -> Result<(), HistoryError> {
    for bench in list.as_array().map(Vec::as_slice).unwrap_or_default() {
        let text = |name: &str| bench.get(name).and_then(Value::as_str);
        let (Some(label), Some(value)) = (text("name"), bench.get("value").and_then(number)) else {
            return Err(failed(path, "a result has no `name` with a `value`"));
        };
        let direction = (tool == Some("customBiggerIsBetter")).then_some(Direction::Higher);
        let unit = text("unit").unwrap_or_default();
        let measured = Measured { commit: at.cloned(), suite, label, figure: "value", unit, direction };
        found.add(path, measured, [value])?;
    }
    Ok(())
}

/// A number, or a text that contains one.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}
