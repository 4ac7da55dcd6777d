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
    /// The settings for `label`; empty if there is no configuration.
    pub fn of(settings: Option<&Self>, label: Option<&str>) -> Result<Resolved, ConfigError> {
        settings.map_or_else(
            || Ok(Resolved::default()),
            |settings| settings.config.resolve(settings.profile.as_deref(), label),
        )
    }

    /// The configuration that `flags` name, else one in the working directory or above; empty if there is none.
    ///
    /// # Errors
    /// The file cannot be read, or has no such profile.
    pub fn read(flags: &ConfigFlags) -> Result<Option<Self>, Failed> {
        let config = match &flags.file {
            _ if flags.no_config => None,
            Some(path) => Some(Config::read(path)?),
            // A deleted working directory holds no configuration.
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
        // Report an unknown profile before anything runs.
        Self::of(Some(&settings), None)?;
        Ok(Some(settings))
    }
}
