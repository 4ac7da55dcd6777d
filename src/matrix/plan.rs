//! [`Plan`]: what to compare, read from a TOML file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::error::MatrixError;
use super::gate::Gate;
use plimsoll_diagnose::trend::Readings;
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::text::nearest;

/// The maximum number of repeats.
pub const MOST_REPEATS: u32 = 1000;

/// What to compare.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The program and its arguments, for configurations without their own command. No shell interprets it.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// Environment variables of every configuration.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The log file that a run writes; without it, the output of the run is its log. `{repeat}` stands for the number
    /// of the repeat.
    #[serde(default)]
    pub log: Option<String>,
    /// The label whose telemetry is compared; by default the one with the most readings.
    #[serde(default)]
    pub label: Option<String>,
    /// How often each configuration runs.
    #[serde(default = "once")]
    pub repeats: u32,
    /// The time limit of a run.
    #[serde(default, deserialize_with = "timeout")]
    pub timeout: Option<Duration>,
    /// The name of the configuration that the others are compared with; by default the first.
    #[serde(default)]
    pub baseline: Option<String>,
    /// How far a configuration may exceed the baseline.
    #[serde(default)]
    pub gate: Gate,
    /// The configurations, in their order.
    #[serde(rename = "configuration")]
    pub configurations: Vec<Configuration>,
}

/// A configuration of the command.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// Its name.
    pub name: String,
    /// Its own command instead of the plan's; `[]` if nothing runs because its log exists already.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// Environment variables that extend or override those of the plan.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Arguments to append to the command.
    #[serde(default)]
    pub flags: Vec<String>,
    /// The log file that a run writes, instead of the plan's; without a command, an existing log.
    #[serde(default)]
    pub log: Option<String>,
    /// The memory of tensors, if already known: `"0.5GB"`, with GB of 2^30 as logs print it. With this or one of the next two, nothing is run or read.
    #[serde(default, deserialize_with = "bytes")]
    pub allocated: Option<ByteSize>,
    /// The memory of the allocator.
    #[serde(default, deserialize_with = "bytes")]
    pub reserved: Option<ByteSize>,
    /// The time of a step: `"95s"`.
    #[serde(default, deserialize_with = "timeout")]
    pub time: Option<Duration>,
    /// The expected result of the gate.
    #[serde(default)]
    pub expect: Option<Expect>,
}

impl Configuration {
    /// The figures that the plan itself contains, if any.
    pub fn given(&self) -> Option<Readings> {
        let Self { allocated, reserved, time, .. } = *self;
        (allocated.is_some() || reserved.is_some() || time.is_some()).then(|| Readings {
            label: String::new(),
            seconds: time.map(|time| time.as_secs_f64()),
            allocated,
            reserved,
            rises: false,
            unseen_ranks: None,
            allocated_spread: None,
            reserved_spread: None,
        })
    }
}

/// The expected result of the gate for a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Expect {
    /// The configuration is expected to pass the gate.
    Pass,
    /// The configuration is expected to fail: a known fault, and a cure should be noticed.
    Fail,
    /// No expectation: the row is for information.
    Any,
}

/// A run to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn<'a> {
    /// The configuration to run.
    pub configuration: &'a Configuration,
    /// The number of the repeat, from 1.
    pub repeat: u32,
}

/// An amount such as `0.5GB`, in the units of the logs and tables it is taken from: GB of 2^30.
fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ByteSize>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[number.len()..];
    let binary = match unit.to_ascii_uppercase().as_str() {
        "K" | "KB" => "KiB",
        "M" | "MB" => "MiB",
        "G" | "GB" => "GiB",
        "T" | "TB" => "TiB",
        _ => unit,
    };
    format!("{number}{binary}").parse().map(Some).map_err(serde::de::Error::custom)
}

/// A time such as `30min`.
fn timeout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    match humantime::parse_duration(&text) {
        Ok(time) if !time.is_zero() => Ok(Some(time)),
        _ => Err(serde::de::Error::custom(format!(
            "`{text}` is not a time: write a number and a unit, such as `30min` or `2h`"
        ))),
    }
}

/// A hint for an unknown name: the most similar known one, or all of them.
pub(super) fn unknown<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(name, &known) {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => format!("; there {} `{}`", if known.len() == 1 { "is" } else { "are" }, known.join("`, `")),
    }
}

fn once() -> u32 {
    1
}

impl Plan {
    /// The configuration that the others are compared with.
    pub fn baseline(&self) -> &Configuration {
        let named = |name: &String| self.configurations.iter().find(|configuration| configuration.name == *name);
        self.baseline.as_ref().and_then(named).unwrap_or(&self.configurations[0])
    }

    /// The plan restricted to these configurations and the baseline; an empty `names` selects all.
    ///
    /// # Errors
    /// [`MatrixError::Unknown`] if a name does not exist.
    pub fn only(mut self, names: &[String]) -> Result<Self, MatrixError> {
        if let Some(name) = names.iter().find(|name| self.configurations.iter().all(|known| known.name != **name)) {
            let known = self.configurations.iter().map(|configuration| &*configuration.name);
            return Err(MatrixError::Unknown { name: name.clone(), hint: unknown(name, known) });
        }
        let baseline = self.baseline().name.clone();
        if names.is_empty() {
            return Ok(self);
        }
        self.configurations.retain(|known| known.name == baseline || names.contains(&known.name));
        self.baseline = Some(baseline);
        Ok(self)
    }

    /// The program and all arguments of `configuration`; `None` if its log exists already.
    pub fn command(&self, configuration: &Configuration) -> Option<Vec<String>> {
        if configuration.given().is_some() {
            return None;
        }
        let mut command = configuration.command.as_ref().or(self.command.as_ref())?.clone();
        if command.is_empty() {
            return None;
        }
        command.extend(configuration.flags.iter().cloned());
        Some(command)
    }

    /// The environment of `configuration`, in addition to that of this process.
    pub fn environment(&self, configuration: &Configuration) -> BTreeMap<String, String> {
        let mut all = self.environment.clone();
        all.extend(configuration.environment.clone());
        all
    }

    /// The log file of a run of `configuration`, unless its output is the log.
    pub fn log(&self, configuration: &Configuration, repeat: u32) -> Option<PathBuf> {
        let log = configuration.log.as_ref().or(self.log.as_ref())?;
        Some(log.replace("{repeat}", &repeat.to_string()).into())
    }

    /// The expected result of the gate for `configuration`: none for the baseline and without a gate, otherwise a pass
    /// by default.
    pub fn expect(&self, configuration: &Configuration) -> Expect {
        if self.gate.is_empty() || configuration.name == self.baseline().name {
            return Expect::Any;
        }
        configuration.expect.unwrap_or(Expect::Pass)
    }

    /// The runs in order: every configuration once before any repeats. An existing log is read once for each repeat
    /// that has its own.
    pub fn turns(&self) -> impl Iterator<Item = Turn<'_>> {
        (1..=self.repeats).flat_map(move |repeat| {
            let all = self.configurations.iter();
            let due = all.filter(move |configuration| repeat <= self.runs_of(configuration));
            due.map(move |configuration| Turn { configuration, repeat })
        })
    }

    /// How many runs `configuration` has.
    pub fn runs_of(&self, configuration: &Configuration) -> u32 {
        let log = configuration.log.as_ref().or(self.log.as_ref());
        if configuration.given().is_some() {
            return 1;
        }
        let read_once = self.command(configuration).is_none() && log.is_some_and(|log| !log.contains("{repeat}"));
        if read_once { 1 } else { self.repeats }
    }
}
