//! Configurations that are not JSON: YAML as written by Accelerate and Axolotl, and a printed `TrainingArguments(..)`.
//!
//! Supports a part of YAML: mappings by indentation, lists, scalars, comments. Anything beyond is skipped, not refused:
//! a field that cannot be read counts as absent.

use serde_json::{Map, Value};

/// The deepest nesting of mappings.
const DEEPEST: usize = 16;

/// The fields of `text`; `None` if it has none.
pub(super) fn fields(text: &str) -> Option<Value> {
    let fields =
        if text.contains("TrainingArguments(") || text.contains("Config(") { printed(text) } else { yaml(text) };
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// `name=value,` lines of a printed object.
fn printed(text: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    for line in text.lines() {
        let line = line.trim().trim_end_matches([',', ')']);
        let line = line.rsplit_once('(').map_or(line, |(_, rest)| if rest.contains('=') { rest } else { line });
        if let Some((name, value)) = line.split_once('=').filter(|(name, _)| is_name(name)) {
            fields.insert(name.trim().to_owned(), scalar(value));
        }
    }
    fields
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

/// A scalar of YAML or Python; an enum such as `<OptimizerNames.X: 'x'>` becomes its value.
fn scalar(text: &str) -> Value {
    let text = text.trim();
    if let Some((_, value)) = text.strip_prefix('<').and_then(|text| text.trim_end_matches('>').rsplit_once(':')) {
        return scalar(value);
    }
    let bare = text.trim_matches(['"', '\'']);
    if bare.len() < text.len() {
        return Value::String(bare.to_owned());
    }
    match text.to_ascii_lowercase().as_str() {
        "" | "null" | "none" | "~" => Value::Null,
        "true" | "yes" | "on" => Value::Bool(true),
        "false" | "no" | "off" => Value::Bool(false),
        _ => {
            let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
            if let Some(inner) = inner {
                let items = inner.split(',').filter(|item| !item.trim().is_empty()).map(scalar);
                return Value::Array(items.collect());
            }
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
        }
    }
}
