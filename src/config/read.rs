//! Reads the settings of `plimsoll.toml`, each with its position; an unknown key is an error that suggests what was
//! meant.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

use regex::{Regex, RegexBuilder};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, Places, Position};
use super::setting::{Kind, LIMITED, SECTIONS, named, settings};
use super::value::{Value, limit};
use plimsoll_memory::text::nearest;

/// The settings of a table, by their full names.
pub(super) type Body = BTreeMap<String, (Value, Position)>;

/// The labels that an override applies to.
#[derive(Clone, Debug)]
pub(super) enum Label {
    /// One label.
    Exact(String),
    /// The labels that the pattern matches.
    Pattern(Regex),
}

impl Label {
    pub(super) fn is_match(&self, label: &str) -> bool {
        match self {
            Self::Exact(own) => own == label,
            Self::Pattern(pattern) => pattern.is_match(label),
        }
    }
}

/// The most memory of one compiled pattern, in bytes.
const PATTERN: usize = 256 << 10;

/// The most patterns of a file. A single label ([ceilings.LABEL]) is not a pattern.
const PATTERNS: usize = 1000;

/// Settings for the labels that a pattern matches.
#[derive(Clone, Debug)]
pub(super) struct Override {
    pub(super) label: Label,
    /// The label as written.
    pub(super) written: String,
    pub(super) body: Body,
}

/// Settings, and those for some labels only; the last that matches counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) body: Body,
    pub(super) overrides: Vec<Override>,
}

/// The scope of a whole file, and the profiles in it.
pub(super) fn file(path: &Path, text: &str) -> Result<(Scope, BTreeMap<String, Scope>), ConfigError> {
    let table = DeTable::parse(text).map_err(|error| ConfigError::Toml {
        path: path.to_owned(),
        at: Position::of(text, error.span().map_or(0, |span| span.start)),
        message: error.message().to_owned(),
    })?;
    let reader = Reader { path, places: Places::of(text), patterns: Cell::new(0) };
    let mut profiles = BTreeMap::new();
    let mut rest = Vec::new();
    for (key, value) in table.get_ref() {
        if key.get_ref() != "profile" {
            rest.push((key, value));
            continue;
        }
        for (name, profile) in reader.table("profile", value)? {
            let place = format!("profile.{}", name.get_ref());
            let entries = reader.table(&place, profile)?.iter().collect();
            profiles.insert(name.get_ref().to_string(), reader.scope(entries, &place)?);
        }
    }
    Ok((reader.scope(rest, "")?, profiles))
}

/// The name of a table in the table `place`; at the top, its own name.
fn joined(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

type Entry<'a, 'i> = (&'a Spanned<std::borrow::Cow<'i, str>>, &'a Spanned<DeValue<'i>>);

struct Reader<'a> {
    path: &'a Path,
    places: Places<'a>,
    patterns: Cell<usize>,
}

impl Reader<'_> {
    fn at<T>(&self, item: &Spanned<T>) -> Position {
        self.places.at(item.span().start)
    }

    fn table<'a, 'i>(&self, key: &str, value: &'a Spanned<DeValue<'i>>) -> Result<&'a DeTable<'i>, ConfigError> {
        value.get_ref().as_table().ok_or_else(|| self.wrong(key, value, "a table".to_owned()))
    }

    fn wrong(&self, key: &str, value: &Spanned<DeValue<'_>>, expects: String) -> ConfigError {
        let found = match value.get_ref() {
            DeValue::Table(_) => "a table".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            other => format!("a {}", other.type_str()),
        };
        ConfigError::Value { path: self.path.to_owned(), at: self.at(value), key: key.to_owned(), expects, found }
    }

    fn unknown<'k>(
        &self,
        key: &Spanned<impl AsRef<str>>,
        place: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> ConfigError {
        let name = key.get_ref().as_ref();
        let known: Vec<&str> = known.into_iter().collect();
        let hint = match nearest(&name.replace('-', "_"), &known) {
            Some(nearest) => format!("; did you mean `{nearest}`?"),
            None => format!("; there are `{}`", known.join("`, `")),
        };
        let place = if place.is_empty() { "at the top".to_owned() } else { format!("in [{place}]") };
        ConfigError::Unknown { path: self.path.to_owned(), at: self.at(key), key: name.to_owned(), place, hint }
    }

    /// The top level of a file, or a profile called `place`.
    fn scope(&self, entries: Vec<Entry<'_, '_>>, place: &str) -> Result<Scope, ConfigError> {
        let mut scope = Scope::default();
        for (key, value) in entries {
            let name: &str = key.get_ref();
            if name == "overrides" {
                let list = value.get_ref().as_array();
                let list =
                    list.ok_or_else(|| self.wrong("overrides", value, "a list of tables, [[overrides]]".to_owned()))?;
                for one in list.iter() {
                    scope.overrides.push(self.one_override(one, place)?);
                }
            } else if SECTIONS.iter().any(|(section, _)| *section == name) {
                self.section(name, value, &joined(place, name), &mut scope.body, Some(&mut scope.overrides))?;
            } else {
                let extra = if place.is_empty() { &["overrides", "profile"][..] } else { &["overrides"] };
                let known = SECTIONS.iter().map(|(section, _)| *section).chain(extra.iter().copied());
                return Err(self.unknown(key, place, known));
            }
        }
        Ok(scope)
    }

    fn one_override(&self, table: &Spanned<DeValue<'_>>, place: &str) -> Result<Override, ConfigError> {
        let place = joined(place, "overrides");
        let entries = self.table(&place, table)?;
        self.patterns.set(self.patterns.get() + 1);
        if self.patterns.get() > PATTERNS {
            return Err(ConfigError::TooMany { path: self.path.to_owned(), at: self.at(table), most: PATTERNS });
        }
        let mut label = None;
        let mut body = Body::new();
        for (key, value) in entries {
            let name: &str = key.get_ref();
            if name == "label" {
                let written = value.get_ref().as_str();
                let written = written.ok_or_else(|| self.wrong("label", value, "a pattern of labels".to_owned()))?;
                let pattern = RegexBuilder::new(written).size_limit(PATTERN).dfa_size_limit(PATTERN).build().map_err(
                    |error| ConfigError::Value {
                        path: self.path.to_owned(),
                        at: self.at(value),
                        key: "label".to_owned(),
                        expects: "a regular expression".to_owned(),
                        found: format!("`{written}` ({})", error.to_string().lines().last().unwrap_or_default()),
                    },
                )?;
                label = Some((pattern, written.to_owned()));
            } else if SECTIONS.iter().any(|(section, _)| *section == name) {
                self.section(name, value, &joined(&place, name), &mut body, None)?;
            } else {
                let known = SECTIONS.iter().map(|(section, _)| *section).chain(["label"]);
                return Err(self.unknown(key, &place, known));
            }
        }
        let (label, written) =
            label.ok_or_else(|| ConfigError::NoLabel { path: self.path.to_owned(), at: self.at(table) })?;
        Ok(Override { label: Label::Pattern(label), written, body })
    }

    /// Reads a section, called `whole` in the file, into `body`, and the tables of labels in `ceilings` into `labels`,
    /// if they are allowed there.
    fn section(
        &self,
        section: &str,
        value: &Spanned<DeValue<'_>>,
        whole: &str,
        body: &mut Body,
        mut labels: Option<&mut Vec<Override>>,
    ) -> Result<(), ConfigError> {
        for (key, value) in self.table(whole, value)? {
            let name: &str = key.get_ref();
            if name == "limits" && LIMITED.contains(&section) {
                for (figure, allowance) in self.table(&format!("{whole}.limits"), value)? {
                    let name = format!("{section}.limits.{}", figure.get_ref());
                    let read = self.value(Kind::Allowance, &name, allowance)?;
                    if limit(figure.get_ref(), &read.text()).is_none() {
                        let expects = "a figure's name, in which `*` is any text".to_owned();
                        return Err(self.wrong(&name, allowance, expects));
                    }
                    self.put(body, name, read, figure)?;
                }
            } else if let Some(setting) = named(section, name) {
                let read = self.value(setting.kind, &format!("{whole}.{}", setting.name), value)?;
                self.put(body, setting.key(), read, key)?;
            } else if let (Some(labels), DeValue::Table(_)) = (&mut labels, value.get_ref())
                && section == "ceilings"
            {
                let mut of_label = Body::new();
                self.section("ceilings", value, &joined(whole, name), &mut of_label, None)?;
                labels.push(Override {
                    label: Label::Exact(name.to_owned()),
                    written: name.to_owned(),
                    body: of_label,
                });
            } else {
                let of_section: Vec<&'static str> =
                    settings().filter(|setting| setting.section == section).map(|setting| setting.name).collect();
                let limits = LIMITED.contains(&section).then_some("limits");
                return Err(self.unknown(key, whole, of_section.into_iter().chain(limits)));
            }
        }
        Ok(())
    }

    fn value(&self, kind: Kind, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Value, ConfigError> {
        Value::read(kind, value.get_ref()).map_err(|found| ConfigError::Value {
            path: self.path.to_owned(),
            at: self.at(value),
            key: key.to_owned(),
            expects: kind.expects().to_owned(),
            found,
        })
    }

    fn put<T>(&self, body: &mut Body, key: String, value: Value, at: &Spanned<T>) -> Result<(), ConfigError> {
        let at = self.at(at);
        match body.insert(key.clone(), (value, at)) {
            None => Ok(()),
            Some(_) => Err(ConfigError::Twice { path: self.path.to_owned(), at, key }),
        }
    }
}
