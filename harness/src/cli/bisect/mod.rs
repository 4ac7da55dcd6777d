//! `bisect`: finds the commit that changed a figure, by the statistics of the gate.

mod flags;
mod measure;
mod repository;
mod search;
mod state;

use std::io::IsTerminal as _;

use plimsoll::gate::bisect::{Bisection, SearchEnd};
use plimsoll::report::terminal;

pub use flags::Bisect;
use measure::{Stop, Worker};
use repository::Repository;
use search::Search;
use state::State;

use super::settings::Settings;
use super::{Failed, output};

/// The exit code if a signal ended the search.
const STOPPED: u8 = 3;

/// Searches for the commit; 0 if found, 3 if the two ends do not differ or this cannot be decided.
pub fn run(arguments: &Bisect, settings: Option<&Settings>) -> Result<u8, Failed> {
    let repository = Repository::find()?;
    if arguments.reset {
        let removed = state::reset(&repository)?;
        output::note(&format_args!("{} forgotten", terminal::counted(removed, "search", "searches")));
        return Ok(0);
    }
    refuse(arguments)?;
    arguments.run.documents.check()?;
    let named = |revision: &Option<String>| repository.named(revision.as_deref().unwrap_or_default());
    let (good, bad) = (named(&arguments.good)?, named(&arguments.bad)?);
    if good.commit == bad.commit {
        return Err(format!("GOOD and BAD are the same commit, {}: name two", good.short()).into());
    }
    if repository.bases(&good.commit, &bad.commit)? == [bad.commit.as_str()] {
        return Err("BAD is an ancestor of GOOD, so no later commit made the change: name the earlier commit first, \
                    which finds what made a figure better as well"
            .into());
    }
    let label = super::run::label(arguments.run.label.as_deref(), &arguments.run.command);
    let set = Settings::of(settings, Some(&label))?;
    let rules = super::gate::rules(&set, Default::default(), &arguments.limits, arguments.confidence, Vec::new());
    let words = words(arguments, &good.commit, &bad.commit);
    let state = State::open(&repository, &words, Bisection::new(good, bad, rules.confidence))?;
    let worker =
        Worker { run: &arguments.run, build: arguments.build.as_deref(), prefix: &repository.prefix, log: state.log() };
    if !state.search.tried.is_empty() {
        let tried = terminal::counted(state.search.tried.len(), "commit", "commits");
        output::note(&format_args!("going on with a search in which {tried} were tried"));
    }
    let quiet = arguments.run.quiet || !std::io::stderr().is_terminal();
    let mut search = Search { repository: &repository, worker, rules, state, quiet };
    let end = search.make();
    let Search { mut state, .. } = search;
    match end {
        Err(Stop::Signal) => {
            super::report_message(
                "a signal stopped the search; repeat the command to continue from here; `plimsoll bisect --reset` forgets it",
            );
            Ok(STOPPED)
        }
        Err(Stop::Failed(error)) => Err(error),
        // Only an end of the search gets here: a commit between the ends is skipped.
        Err(Stop::Skip(why)) => {
            state.search.end = Some(SearchEnd::NoDifference { why });
            finish(arguments, &repository, state, &[])
        }
        Ok(records) => finish(arguments, &repository, state, &records),
    }
}

/// Shows the result, writes the documents, and removes the search.
fn finish(
    arguments: &Bisect,
    repository: &Repository,
    state: State,
    records: &[plimsoll::record::Record],
) -> Result<u8, Failed> {
    let search = state.search.clone();
    state.remove(repository)?;
    if arguments.run.json {
        output::json(&search)?;
    } else {
        output::text(&terminal::bisection(&search, &super::screen()))?;
    }
    if let Some(report) = &search.report {
        arguments.run.documents.write_gate(report, records)?;
    }
    Ok(search.exit_code())
}

/// Refuses flags that mean nothing here.
fn refuse(arguments: &Bisect) -> Result<(), Failed> {
    let run = &arguments.run;
    if run.record.is_some() {
        return Err("bisect keeps one record per commit: --json prints the result, --html FILE draws it".into());
    }
    if run.diagnoses() {
        return Err(
            "--diagnose and --fail-on belong to `plimsoll run`: bisect compares figures and does not read output"
                .into(),
        );
    }
    if run.enforce || !run.ceilings.ceilings().is_empty() {
        return Err("bisect compares with GOOD and has no ceilings: say with --limit how much worse BAD must be".into());
    }
    Ok(())
}

/// The words that identify a search, to resume one that was stopped.
fn words(arguments: &Bisect, good: &str, bad: &str) -> Vec<String> {
    let limits = arguments.limits.iter().map(|limit| format!("{:?} {}", limit.name(), limit.allowance()));
    let run = &arguments.run;
    let rest = format!(
        "{:?} {:?} {:?} {:?} {:?}",
        arguments.build, arguments.confidence, run.repeat, run.timeout, run.prepare
    );
    let command = run.command.iter().map(|word| word.to_string_lossy().into_owned());
    [good.to_owned(), bad.to_owned(), rest].into_iter().chain(limits).chain(command).collect()
}
