//! [`Settings`]: the `plimsoll.toml` of a call.

use std::env;

use plimsoll::config::{Config, ConfigError, Resolved, find};

use super::Failed;
use super::args::ConfigFlags;

/// The configuration of this call.
pub struct Settings {
    pub config: Config,
    pub profile: Option<String>,
}

impl Settings {
    /// What is set for `label`; nothing if there is no configuration.
    pub fn of(settings: Option<&Self>, label: Option<&str>) -> Result<Resolved, ConfigError> {
        settings.map_or_else(
            || Ok(Resolved::default()),
            |settings| settings.config.resolve(settings.profile.as_deref(), label),
        )
    }

    /// What `flags` name, else what lies in the working directory or above it; nothing if there is none.
    ///
    /// # Errors
    /// The file cannot be read, or has no such profile.
    pub fn read(flags: &ConfigFlags) -> Result<Option<Self>, Failed> {
        let config = match &flags.file {
            _ if flags.no_config => None,
            Some(path) => Some(Config::read(path)?),
            // If the working directory is gone, there is no configuration in it.
            None => match env::current_dir().ok().and_then(|folder| find(&folder)) {
                Some(path) => Some(Config::read_found(&path)?),
                None => None,
            },
        };
        let Some(config) = config else {
            return match &flags.profile {
                Some(name) if !flags.no_config => Err(ConfigError::NoFile { name: name.clone() }.into()),
                _ => Ok(None),
            };
        };
        let settings = Self { config, profile: flags.profile.clone() };
        // A profile that is not there is found before anything is run.
        Self::of(Some(&settings), None)?;
        Ok(Some(settings))
    }
}
