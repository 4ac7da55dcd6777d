//! The arguments of `bisect`.

use clap::Args;
use plimsoll::gate::Limit;

use super::super::args::confidence;
use super::super::run::Run;

#[derive(Args)]
#[command(
    after_help = "plimsoll bisect v1.0 HEAD --build 'cargo build --release' -- target/release/load: the figure that tells \
    the two commits apart is followed to the commit that changed it, in worktrees of its own. A commit that does not build \
    or run is skipped. A search that was stopped goes on when the same words are given again. Exit codes: 0 a commit was \
    found; 2 bad usage; 3 the two do not differ, or that cannot be decided."
)]
#[command(mut_arg("repeat", |repeat| {
    repeat.default_value("40").help("The most runs of a commit").long_help(
        "The most runs of a commit\n\nAs many are made as it takes to tell it from GOOD or BAD.",
    )
}))]
// What one run alone has, or what judges it by itself.
#[command(mut_args(|argument| match argument.get_id().as_str() {
    "record" | "diagnose" | "fail_on" | "enforce" | "keep_going" | "live" | "warmup" => argument.hide(true),
    _ if argument.get_help_heading() == Some("Ceilings") => argument.hide(true),
    _ => argument,
}))]
pub struct Bisect {
    /// A commit before the change
    #[arg(required = true, value_name = "GOOD")]
    pub good: Option<String>,

    /// A commit that has it
    #[arg(required = true, value_name = "BAD")]
    pub bad: Option<String>,

    /// What makes a commit ready to run, by a shell in its worktree
    ///
    /// A commit whose build fails is skipped.
    #[arg(long, value_name = "CMD", env = "PLIMSOLL_BUILD")]
    pub build: Option<String>,

    /// What BAD has to be worse by, such as '5% | 64 MiB'; may be repeated
    ///
    /// `wall=..` is for figures whose name matches (`*` is any text). The figure that is followed is the one that tells the
    /// two apart best. Default: 5% | 4 MiB on the memory of what was run.
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
