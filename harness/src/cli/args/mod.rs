//! The arguments that several commands share. Arguments of one command are beside that command.

mod ceilings;
mod config;
mod history;
mod remote;
mod report;
mod shard;

use std::time::Duration;

pub use ceilings::{CeilingFlags, flag};
pub use config::ConfigFlags;
pub use history::HistoryFlags;
pub use remote::RemoteFlags;
pub use report::ReportFlags;
pub use shard::{Chosen, ShardFlags, chosen, launcher, named};

pub use plimsoll::ceiling::DEFAULT_HEADROOM as HEADROOM;

/// The default of the setting of `plimsoll.toml` with this key, used if neither the flag nor anything else sets it.
pub fn default(key: &str) -> String {
    plimsoll::config::default_of(key).expect("a key of a setting that has a default")
}

/// Parses a duration flag.
pub fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if !time.is_zero() => Ok(time),
        Ok(_) => Err("must be greater than zero".to_owned()),
        Err(e) => Err(format!("{e}: write a number and a unit, such as 10ms, 60s or 5min")),
    }
}

/// Parses a confidence flag.
pub fn confidence(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(confidence) if (0.5..1.0).contains(&confidence) => Ok(confidence),
        _ => Err("a confidence is a number from 0.5 to below 1, such as 0.99".to_owned()),
    }
}
