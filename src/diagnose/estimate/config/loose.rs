//! Configurations that are not JSON: YAML as written by Accelerate and Axolotl, and Python's printed objects.
//!
//! Supports a part of YAML: mappings by indentation, lists, scalars, comments. Anything beyond is skipped, not refused:
//! a field that cannot be read counts as absent.

use serde_json::{Map, Value};

use super::scalar::scalar;
use super::{literal, recipe};

/// The deepest nesting of mappings.
const DEEPEST: usize = 16;

/// The fields of `text`; `None` if it has none.
pub(super) fn fields(text: &str) -> Option<Value> {
    let fields = if literal::is_call(text) {
        literal::fields(text)
    } else {
        // A file of YAML may quote a command in its comments, and a command may have colons.
        let (given, own) = (recipe::arguments(text), yaml(text));
        if given.len() > own.len() { given } else { own }
    };
    (!fields.is_empty()).then_some(Value::Object(fields))
}

fn is_name(name: &str) -> bool {
    let name = name.trim();
    !name.is_empty() && name.len() < 80 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

fn yaml(text: &str) -> Map<String, Value> {
    let lines: Vec<(usize, &str)> = text
        .lines()
        .map(|line| (line.len() - line.trim_start().len(), without_comment(line.trim())))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with("---"))
        .collect();
    mapping(&lines, &mut 0, 0)
}

/// A comment begins at a `#` after a space, outside quotes.
fn without_comment(line: &str) -> &str {
    if line.starts_with('#') {
        return "";
    }
    match line.find(" #") {
        Some(at) if !line[..at].contains(['"', '\'']) => line[..at].trim_end(),
        _ => line,
    }
}

/// The mapping whose lines begin at `at`, with the indentation of its first line.
fn mapping(lines: &[(usize, &str)], at: &mut usize, depth: usize) -> Map<String, Value> {
    let mut fields = Map::new();
    let Some(&(indent, _)) = lines.get(*at) else { return fields };
    while let Some(&(found, line)) = lines.get(*at) {
        if found < indent {
            break;
        }
        *at += 1;
        let Some((name, value)) =
            line.split_once(':').filter(|(name, _)| found == indent && is_name(name.trim_matches('"')))
        else {
            continue;
        };
        let name = name.trim().trim_matches('"').to_owned();
        let value = value.trim();
        let deeper = |at: usize| lines.get(at).is_some_and(|next| next.0 > indent);
        let listed = |at: usize| lines.get(at).is_some_and(|next| next.0 >= indent && next.1.starts_with("- "));
        let value = if !value.is_empty() {
            scalar(value)
        } else if listed(*at) {
            let mut items = Vec::new();
            while listed(*at) || (!items.is_empty() && deeper(*at)) {
                items.extend(lines[*at].1.strip_prefix("- ").map(scalar));
                *at += 1;
            }
            Value::Array(items)
        } else if deeper(*at) && depth < DEEPEST {
            Value::Object(mapping(lines, at, depth + 1))
        } else {
            Value::Null
        };
        fields.insert(name, value);
    }
    fields
}
