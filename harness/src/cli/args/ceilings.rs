//! The ceilings of `run`, `check`, `gate` and similar commands: one flag for each metric that is declared to have one.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use plimsoll::ByteSize;
use plimsoll::ceiling::{Ceiling, Ceilings};
use plimsoll::meter::Metric;

/// Ceilings of a command. Each is absolute and of all of its processes together.
#[derive(Clone, Default)]
pub struct CeilingFlags(Ceilings);

impl CeilingFlags {
    /// What is limited.
    pub fn ceilings(&self) -> Ceilings {
        self.0.clone()
    }

    /// Whether `metric` is limited.
    pub fn limit(&self, metric: Metric) -> bool {
        self.0.get(metric).is_some()
    }
}

/// The metrics that have a flag, in the order of a report.
fn metrics() -> impl Iterator<Item = Metric> {
    Metric::ALL.into_iter().filter(|metric| metric.facts().flag)
}

/// The flag of a metric, without its dashes: `peak-rss`.
pub fn flag(metric: Metric) -> String {
    metric.name().replace('_', "-")
}

impl Args for CeilingFlags {
    fn augment_args(command: Command) -> Command {
        metrics().fold(command, |command, metric| {
            command.arg(
                Arg::new(metric.name())
                    .long(flag(metric))
                    .value_name("BYTES")
                    .env(format!("PLIMSOLL_{}", metric.name().to_uppercase()))
                    .value_parser(value_parser!(ByteSize))
                    .help(metric.facts().help)
                    .help_heading("Ceilings"),
            )
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for CeilingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let given = metrics().filter_map(|metric| {
            let limit = matches.get_one::<ByteSize>(metric.name()).copied()?;
            Some(Ceiling { metric, limit })
        });
        self.0 = given.collect::<Vec<_>>().try_into().expect("each metric has one flag");
        Ok(())
    }
}
