//! The values of settings: checked when read, and kept in the form of a command-line flag.

use std::time::Duration;

use toml::de::DeValue;

use super::setting::Kind;
use crate::gate::{Allowance, BaselineSource, Condition, Conditions, Limit};
use plimsoll_diagnose::Verdict;
use plimsoll_memory::bytes::ByteSize;

/// The value of a checked setting, as the texts that a flag would take: one, except for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value(Vec<String>);

impl Value {
    /// A value of one text.
    pub(super) fn of(text: impl Into<String>) -> Self {
        Self(vec![text.into()])
    }

    /// The texts.
    pub fn texts(&self) -> &[String] {
        &self.0
    }

    /// The text, or the list with commas.
    pub fn text(&self) -> String {
        self.0.join(",")
    }

    /// The value of `found` for a setting of `kind`, or what is wrong with it.
    pub(super) fn read(kind: Kind, found: &DeValue<'_>) -> Result<Self, String> {
        let wrong = |why: &dyn std::fmt::Display| format!("{} ({why})", shown(found));
        match (kind, found) {
            (Kind::Bytes, DeValue::String(text)) => {
                text.parse::<ByteSize>().map(|bytes| Self::of(bytes.exact())).map_err(|error| wrong(&error))
            }
            (Kind::Bytes, DeValue::Integer(_)) => {
                integer(found).map(|bytes| Self::of(ByteSize::new(bytes).exact())).ok_or_else(|| shown(found))
            }
            (Kind::Count, DeValue::Integer(_)) => {
                integer(found).map(|count| Self::of(count.to_string())).ok_or_else(|| shown(found))
            }
            (Kind::Time, DeValue::String(text)) => match humantime::parse_duration(text) {
                Ok(Duration::ZERO) => Err(wrong(&"must be greater than zero")),
                Ok(_) => Ok(Self::of(text.trim())),
                Err(error) => Err(wrong(&error)),
            },
            (Kind::Confidence, DeValue::Float(number)) => {
                let confidence = number.as_str().replace('_', "").parse::<f64>().ok();
                let confidence = confidence.filter(|confidence| (0.5..1.0).contains(confidence));
                confidence.map(|confidence| Self::of(confidence.to_string())).ok_or_else(|| shown(found))
            }
            (Kind::Switch, DeValue::Boolean(on)) => Ok(Self::of(on.to_string())),
            (Kind::Text, DeValue::String(text)) if !text.is_empty() && !text.contains('\0') => Ok(Self::of(&**text)),
            (Kind::Baseline, DeValue::String(text)) => {
                text.parse::<BaselineSource>().map(|source| Self::of(source.to_string())).map_err(|error| wrong(&error))
            }
            (Kind::Allowance, DeValue::String(text)) => text
                .parse::<Allowance>()
                .map(|allowance| Self::of(allowance.to_string()))
                .map_err(|error| wrong(&error)),
            (Kind::Conditions, _) => {
                let words = texts(found).ok_or_else(|| shown(found))?;
                conditions(words).map(Self).map_err(|error| wrong(&error))
            }
            (Kind::Verdicts, _) => {
                let words = texts(found).ok_or_else(|| shown(found))?;
                verdicts(words).map(Self).map_err(|error| wrong(&error))
            }
            _ => Err(shown(found)),
        }
    }
}

fn conditions<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for word in words {
        let Conditions(named) = word.parse::<Conditions>().map_err(|error| error.to_string())?;
        found.extend(named.into_iter().map(|condition: Condition| condition.to_string()));
    }
    Ok(found)
}

/// A text, or those of a list; `None` for anything else.
fn texts<'a>(found: &'a DeValue<'_>) -> Option<Vec<&'a str>> {
    match found {
        DeValue::String(text) => Some(vec![&**text]),
        DeValue::Array(list) => list.iter().map(|word| word.get_ref().as_str()).collect(),
        _ => None,
    }
}

fn verdicts<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>, String> {
    let of = |word: &str| word.parse::<Verdict>().map(|verdict| verdict.to_string()).map_err(|error| error.to_string());
    words.into_iter().flat_map(|words| words.split(',')).map(|word| of(word.trim())).collect()
}

fn integer(found: &DeValue<'_>) -> Option<u64> {
    let number = found.as_integer()?;
    u64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
}

/// A value as a message names it, cut if it is long.
fn shown(found: &DeValue<'_>) -> String {
    const LONGEST_TEXT: usize = 40;
    let cut = |text: &str| {
        let short: String = text.chars().take(LONGEST_TEXT).collect();
        if short.len() < text.len() { format!("{short}…") } else { short }
    };
    match found {
        DeValue::String(text) => format!("\"{}\"", cut(&text.escape_debug().to_string())),
        DeValue::Integer(number) => cut(number.as_str()),
        DeValue::Float(number) => cut(number.as_str()),
        DeValue::Boolean(on) => on.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// The limit on the figures called `name`, in which `*` is any text; `default` is for all figures without another
/// limit.
pub(super) fn limit(name: &str, allowance: &str) -> Option<Limit> {
    let text = if name == "default" { allowance.to_owned() } else { format!("{name}={allowance}") };
    text.parse().ok()
}
