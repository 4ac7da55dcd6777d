//! `plimsoll.toml`: settings of a project, by profile and by label.
//!
//! ```toml
//! [ceilings]                     # what run, check and gate hold memory to
//! peak_rss = "2 GiB"
//!
//! [ceilings.train]               # of the label `train` alone, as `plimsoll calibrate --write plimsoll.toml` puts it
//! peak_rss = "8 GiB"
//!
//! [gate]
//! baseline = "git:main"
//! limits = { peak_rss = "5% | 64 MiB", "epoch*.peak_rss" = "10%" }
//!
//! [profile.ci.run]               # with --profile ci
//! repeat = 10
//!
//! [[profile.ci.overrides]]       # of the labels that a pattern matches
//! label = "^train-large"
//! run = { timeout = "2h" }
//! ```
//!
//! A setting is taken from the first place that has it: the flag, its environment variable, the overrides of the
//! profile (the last that matches), the overrides of the file and its tables of labels, the profile, the file, its
//! default. An unknown key is an error that names its position and the key that was probably meant: a limit with a
//! wrong name would never be judged.

mod error;
mod find;
mod read;
mod resolve;
pub mod schema;
mod setting;
mod trust;
mod value;

pub use error::{ConfigError, Position};
pub use find::{FILE_NAME, MAX_CONFIG, find};
pub use resolve::{Config, Origin, Resolved, Set};
pub use setting::{Kind, LIMITED, Preset, SECTIONS, Setting, default_of, settings};
pub use trust::Stranger;
pub use value::Value;
