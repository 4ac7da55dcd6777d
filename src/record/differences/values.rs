//! Changes between two values of JSON, as [`Change`]s by their paths.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::{Change, ChangeKind};

/// The changes between two values as JSON.
pub(super) fn changes<T: Serialize>(before: &T, after: &T) -> Vec<Change> {
    let mut found = Vec::new();
    diff("", &json(before), &json(after), &mut found);
    found
}

/// Adds to `found` if two values differ. Objects are compared field by field, arrays of objects that have a `path`
/// element by element under it, other arrays as a whole.
pub(super) fn diff(path: &str, before: &Value, after: &Value, found: &mut Vec<Change>) {
    match (before, after) {
        _ if before == after => {}
        (Value::Null, _) => found.push(added(path.to_owned(), after.clone())),
        (_, Value::Null) => found.push(removed(path.to_owned(), before.clone())),
        (Value::Object(old), Value::Object(new)) => {
            for key in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
                let below = format!("{path}/{}", escape(key));
                let field = |fields: &serde_json::Map<String, Value>| fields.get(key).cloned().unwrap_or(Value::Null);
                diff(&below, &field(old), &field(new), found);
            }
        }
        (Value::Array(old), Value::Array(new)) => match (by_path(old), by_path(new)) {
            (Some(old), Some(new)) => {
                for key in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
                    let element = |elements: &BTreeMap<&str, &Value>| elements.get(key).copied().cloned();
                    let (old, new) = (element(&old).unwrap_or(Value::Null), element(&new).unwrap_or(Value::Null));
                    diff(&format!("{path}/{}", escape(key)), &old, &new, found);
                }
            }
            _ => found.push(changed(path, before, after)),
        },
        _ => found.push(changed(path, before, after)),
    }
}

/// The elements by their `path`, if each has a unique one and their order follows the first listing of the paths.
fn by_path(elements: &[Value]) -> Option<BTreeMap<&str, &Value>> {
    let named: BTreeMap<&str, &Value> =
        elements.iter().map(|element| Some((element.get("path")?.as_str()?, element))).collect::<Option<_>>()?;
    (named.len() == elements.len()).then_some(named)
}

pub(super) fn added(path: String, value: Value) -> Change {
    Change { path, kind: ChangeKind::Added, before: None, after: Some(value) }
}

pub(super) fn removed(path: String, value: Value) -> Change {
    Change { path, kind: ChangeKind::Removed, before: Some(value), after: None }
}

fn changed(path: &str, before: &Value, after: &Value) -> Change {
    Change {
        path: path.to_owned(),
        kind: ChangeKind::Changed,
        before: Some(before.clone()),
        after: Some(after.clone()),
    }
}

pub(super) fn json<T: Serialize + ?Sized>(value: &T) -> Value {
    serde_json::to_value(value).expect("the types of a record have text keys and no failing parts")
}

/// A key as a segment of a JSON pointer (RFC 6901).
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
