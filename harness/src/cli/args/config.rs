//! Which configuration is used.

use std::path::PathBuf;

use clap::Args;

// Shared by every command that reads `plimsoll.toml`.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigFlags {
    /// The configuration [default: plimsoll.toml here or above, in the repository]
    #[arg(long = "config", id = "config_file", value_name = "FILE", env = "PLIMSOLL_CONFIG")]
    pub file: Option<PathBuf>,

    /// Use no configuration
    #[arg(long, conflicts_with = "config_file", env = "PLIMSOLL_NO_CONFIG")]
    pub no_config: bool,

    /// The profile of the configuration
    #[arg(long = "profile", id = "config_profile", value_name = "NAME", env = "PLIMSOLL_PROFILE")]
    pub profile: Option<String>,
}
