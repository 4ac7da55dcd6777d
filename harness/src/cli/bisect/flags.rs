//! The arguments of `bisect`.

use clap::Args;
use plimsoll::gate::Limit;

use super::super::args::confidence;
use super::super::run::Run;

#[derive(Args)]
#[command(
    after_help = "plimsoll bisect v1.0 HEAD --build 'cargo build --release' -- target/release/load: the figure in which \
    the two commits differ most clearly is followed to the commit that changed it, in separate worktrees. A commit that does \
    not build or run is skipped. Repeat the command to continue a search that was stopped. Exit codes: 0 a commit was \
    found; 2 bad usage; 3 the two do not differ, or that cannot be decided."
)]
#[command(mut_arg("repeat", |repeat| {
    repeat.default_value("40").help("The most runs of a commit").long_help(
        "The most runs of a commit\n\nA commit is run until it can be assigned to GOOD or BAD.",
    )
}))]
// Flags that only a single run has, or that judge it alone.
#[command(mut_args(|argument| match argument.get_id().as_str() {
    "record" | "diagnose" | "fail_on" | "enforce" | "keep_going" | "live" | "warmup" => argument.hide(true),
    _ if argument.get_help_heading() == Some("Ceilings") => argument.hide(true),
    _ => argument,
}))]
pub struct Bisect {
    /// A commit before the change
    #[arg(required = true, value_name = "GOOD")]
    pub good: Option<String>,

    /// A commit that has the change
    #[arg(required = true, value_name = "BAD")]
    pub bad: Option<String>,

    /// The shell command that builds a commit, run in its worktree
    ///
    /// A commit whose build fails is skipped.
    #[arg(long, value_name = "CMD", env = "PLIMSOLL_BUILD")]
    pub build: Option<String>,

    /// How much worse BAD must be, such as '5% | 64 MiB'; may be repeated
    ///
    /// `wall=..` is for figures whose name matches (`*` is any text). The followed figure is the one in which
    /// the two differ most clearly. Default: 5% | 4 MiB on the memory of what was run.
    #[arg(long = "limit", value_name = "LIMIT", env = "PLIMSOLL_LIMIT", value_delimiter = ',')]
    pub limits: Vec<Limit>,

    /// How sure the search is to find the right commit [default: 0.99]
    #[arg(long, value_name = "P", env = "PLIMSOLL_CONFIDENCE", value_parser = confidence)]
    pub confidence: Option<f64>,

    /// Forget the searches of this repository that were stopped
    #[arg(long, exclusive = true)]
    pub reset: bool,

    #[command(flatten)]
    pub run: Run,
}
