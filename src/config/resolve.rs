//! [`Config`]: a configuration, and its settings for a profile and a label.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use plimsoll_capture::open_regular;

use super::error::{ConfigError, Position};
use super::find::MAX_CONFIG;
use super::read::{Body, Label, Scope, file};
use super::setting::{Setting, settings};
use super::trust::{Stranger, stranger};
use super::value::{Value, limit};
use crate::gate::{BaselineSource, Condition, Conditions, Limit};
use plimsoll_memory::ceiling::{Ceiling, Ceilings};
use plimsoll_memory::text::nearest;

/// A configuration that was read and checked.
#[derive(Clone, Debug)]
pub struct Config {
    path: PathBuf,
    top: Scope,
    profiles: BTreeMap<String, Scope>,
    /// The owner, if the file was found and belongs to another user.
    stranger: Option<Stranger>,
}

/// The source of a setting's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub path: PathBuf,
    /// The position in the file.
    pub at: Position,
    /// The profile; absent at the top of the file.
    pub profile: Option<String>,
    /// The pattern of labels; absent if the setting is for all.
    pub label: Option<String>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path.display(), self.at)?;
        if let Some(profile) = &self.profile {
            write!(f, " of profile {profile}")?;
        }
        if let Some(label) = &self.label {
            write!(f, " for label {label}")?;
        }
        Ok(())
    }
}

/// A setting that a configuration sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// The value.
    pub value: Value,
    /// The source.
    pub origin: Origin,
}

/// The settings of a configuration, by full names such as `gate.limits.peak_rss`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    set: BTreeMap<String, Set>,
}

impl Config {
    /// Reads the configuration at `path`, which the user has named and so trusts.
    ///
    /// # Errors
    /// [`ConfigError`] if it cannot be read, is too large, is not valid TOML, or has an unknown key.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let failed = |source| ConfigError::Read { path: path.to_owned(), source };
        Self::read_from(path, &File::open(path).map_err(failed)?)
    }

    /// Reads the configuration at `path`, which [`find`](super::find) found. Programs and paths to write to are refused
    /// if the file belongs to another user.
    ///
    /// # Errors
    /// As for [`Config::read`]; also if it is not a regular file.
    pub fn read_found(path: &Path) -> Result<Self, ConfigError> {
        let failed = |source| ConfigError::Read { path: path.to_owned(), source };
        let file = open_regular(path).map_err(failed)?;
        let stranger = stranger(path, &file).map_err(failed)?;
        Ok(Self { stranger, ..Self::read_from(path, &file)? })
    }

    fn read_from(path: &Path, file: &File) -> Result<Self, ConfigError> {
        let failed = |source| ConfigError::Read { path: path.to_owned(), source };
        let mut text = String::new();
        let mut bounded = file.take(MAX_CONFIG.bytes() + 1);
        bounded.read_to_string(&mut text).map_err(failed)?;
        if text.len() as u64 > MAX_CONFIG.bytes() {
            return Err(ConfigError::TooLarge { path: path.to_owned(), limit: MAX_CONFIG });
        }
        Self::parse(path, &text)
    }

    /// Reads a configuration from its text; `path` is for messages.
    ///
    /// # Errors
    /// As for [`Config::read`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let (top, profiles) = file(path, text)?;
        Ok(Self { path: path.to_owned(), top, profiles, stranger: None })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The profiles in it, by name.
    pub fn profiles(&self) -> impl Iterator<Item = &str> {
        self.profiles.keys().map(String::as_str)
    }

    /// The labels with ceilings of their own: `[ceilings.LABEL]`.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.top.overrides.iter().filter_map(|one| match &one.label {
            Label::Exact(label) => Some(label.as_str()),
            Label::Pattern(_) => None,
        })
    }

    /// The settings with `profile` for `label`; without a label, the settings for all.
    ///
    /// # Errors
    /// [`ConfigError::NoProfile`]; [`ConfigError::NotTrusted`].
    pub fn resolve(&self, profile: Option<&str>, label: Option<&str>) -> Result<Resolved, ConfigError> {
        let scope = profile.map(|name| self.profile(name)).transpose()?;
        let mut resolved = Resolved::default();
        // Put the lowest priority first, so that higher ones replace it.
        self.put(&mut resolved, &self.top.body, None, None);
        if let Some(scope) = scope {
            self.put(&mut resolved, &scope.body, profile, None);
        }
        let scopes = [(Some(&self.top), None), (scope, profile)];
        for (scope, profile) in scopes.into_iter().filter_map(|(scope, profile)| Some((scope?, profile))) {
            for one in &scope.overrides {
                if label.is_some_and(|label| one.label.is_match(label)) {
                    self.put(&mut resolved, &one.body, profile, Some(&one.written));
                }
            }
        }
        self.trusted(&resolved)?;
        Ok(resolved)
    }

    /// Refuses programs and paths to write to if the file belongs to another user.
    fn trusted(&self, resolved: &Resolved) -> Result<(), ConfigError> {
        let Some(stranger) = &self.stranger else { return Ok(()) };
        match settings()
            .filter(Setting::needs_trust)
            .find_map(|setting| resolved.get(&setting.key()).map(|set| (setting, set)))
        {
            None => Ok(()),
            Some((setting, set)) => Err(ConfigError::NotTrusted {
                path: self.path.clone(),
                at: set.origin.at,
                key: setting.key(),
                stranger: stranger.clone(),
            }),
        }
    }

    fn profile(&self, name: &str) -> Result<&Scope, ConfigError> {
        self.profiles.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.profiles().collect();
            let hint = match nearest(name, &known) {
                Some(nearest) => format!("; did you mean `{nearest}`?"),
                None if known.is_empty() => ", and no other".to_owned(),
                None => format!("; there are `{}`", known.join("`, `")),
            };
            ConfigError::NoProfile { path: self.path.clone(), name: name.to_owned(), hint }
        })
    }

    fn put(&self, resolved: &mut Resolved, body: &Body, profile: Option<&str>, label: Option<&str>) {
        for (key, (value, at)) in body {
            let origin = Origin {
                path: self.path.clone(),
                at: *at,
                profile: profile.map(str::to_owned),
                label: label.map(str::to_owned),
            };
            resolved.set.insert(key.clone(), Set { value: value.clone(), origin });
        }
    }
}

impl Resolved {
    /// The settings, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Set)> {
        self.set.iter().map(|(key, set)| (key.as_str(), set))
    }

    /// The setting of this name, such as `run.repeat`.
    pub fn get(&self, key: &str) -> Option<&Set> {
        self.set.get(key)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.get(key).map(|set| set.value.text())
    }

    /// The ceilings.
    pub fn ceilings(&self) -> Ceilings {
        let mut ceilings = Ceilings::new();
        for setting in settings().filter(|setting| setting.section == "ceilings") {
            let limit = self.text(&setting.key()).and_then(|text| text.parse().ok());
            if let (Some(limit), Ok(metric)) = (limit, setting.name.parse()) {
                ceilings.add(Ceiling { metric, limit }).expect("each metric has one setting");
            }
        }
        ceilings
    }

    /// The limits of a section, sorted so that the last match counts: first the one for all figures, then those with a
    /// wildcard, then those of one figure.
    pub fn limits(&self, section: &str) -> Vec<Limit> {
        let prefix = format!("{section}.limits.");
        let set = self.set.iter().filter_map(|(key, set)| Some((key.strip_prefix(&prefix)?, set)));
        let mut limits: Vec<(u8, &str, Limit)> = set
            .filter_map(|(name, set)| {
                let rank = if name == "default" { 0 } else { 2 - u8::from(name.contains(['*', '?'])) };
                Some((rank, name, limit(name, &set.value.text())?))
            })
            .collect();
        limits.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        limits.into_iter().map(|(_, _, limit)| limit).collect()
    }

    /// The confidence of a section's intervals.
    pub fn confidence(&self, section: &str) -> Option<f64> {
        self.text(&format!("{section}.confidence"))?.parse().ok()
    }

    /// The baseline of the gate.
    pub fn baseline(&self) -> Option<BaselineSource> {
        self.text("gate.baseline")?.parse().ok()
    }

    /// The conditions that may differ.
    pub fn allow(&self) -> Vec<Condition> {
        let words = self.get("gate.allow").map_or(&[][..], |set| set.value.texts());
        words.iter().filter_map(|word| word.parse().ok()).flat_map(|Conditions(conditions)| conditions).collect()
    }
}

#[cfg(test)]
mod tests;
