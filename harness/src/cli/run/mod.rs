//! `run`: runs a command under the meter, once or several times.

mod document;
mod flags;
mod made;
mod phases;
mod repeat;
mod said;
mod tmpfs;

use std::path::{Path, PathBuf};

use plimsoll::diagnose::CommandWatch;
use plimsoll::record::{Record, RecordFile};
use plimsoll::report::terminal;
use plimsoll::run::Observer as _;

use super::args::{launcher, named};
use super::{Failed, output};
use crate::keep::Keeper;
pub use flags::Run;

pub(super) use document::verdict;
pub use document::{label, record};
pub use made::Made;
pub use repeat::{NotRun, Surroundings, once, once_in, prepare, progress};

/// Runs the command and returns its exit code, or that of a failure here.
pub fn run(arguments: &Run) -> Result<u8, Failed> {
    // Check that the record can be written now, not after hours of work.
    let arguments = &Run { record: named_record(arguments)?, ..arguments.clone() };
    let file = arguments.record.as_deref().map(RecordFile::prepare).transpose()?;
    arguments.documents.check()?;
    let mut keeper = Keeper::new(arguments.record.as_deref());
    let watch = arguments.diagnoses().then(CommandWatch::begin);
    let made = match repeat::repeat(arguments, &arguments.ceilings.ceilings(), &mut keeper, watch.as_ref()) {
        Ok(made) => made,
        Err(error) => {
            let Some(code) = error.shell_exit_code() else { return Err(error.into()) };
            super::report_message(&error.to_string());
            return Ok(code);
        }
    };
    let orphaned = made.orphaned;
    let mut record = document::record(arguments, made);
    if let Some(watch) = watch {
        watch.conclude(&mut record, &arguments.fail_on);
    }
    if orphaned {
        return Ok(orphan(keeper, &record));
    }
    // Report a verdict only once its record and report are on the disk: if they do not fit, the verdict does not hold.
    file.map(|file| file.commit(&record)).transpose()?;
    let kept = keeper.kept().and_then(|(path, problem)| Some((path.display().to_string(), problem?.to_string())));
    keeper.remove();
    arguments.documents.write(std::slice::from_ref(&record))?;
    if !arguments.quiet || record.exit_code != 0 {
        show(&record, arguments.record.as_deref(), arguments.json)?;
    }
    if let Some((path, problem)) = kept {
        output::note(&format_args!("note: what was known while it ran could not be kept in {path}: {problem}"));
    }
    Ok(record.exit_code)
}

/// The record's file, with the rank of this process in its name.
fn named_record(arguments: &Run) -> Result<Option<PathBuf>, Failed> {
    let Some(path) = &arguments.record else { return Ok(None) };
    let named = named(path, None)?;
    if named == *path
        && let Ok(found) = launcher(None)
        && found.local_rank.is_some()
        && found.node_ranks.unwrap_or(found.ranks) > 1
    {
        let (ranks, path) = (found.ranks, path.display());
        output::note(&format_args!(
            "note: the {ranks} processes of {} all write {path}: put %r into its name",
            found.launcher
        ));
    }
    Ok(Some(named))
}

/// Cleans up if the started process is gone: nobody waits for this one, and the record is incomplete.
fn orphan(mut keeper: Keeper, record: &Record) -> u8 {
    keeper.keep(record);
    let kept = keeper.kept().map_or_else(String::new, |(path, _)| format!(" What was read is in {}", path.display()));
    super::report_message(&format!("plimsoll was killed, and ended the command with it.{kept}"));
    record.exit_code
}

fn show(record: &Record, path: Option<&Path>, json: bool) -> Result<(), Failed> {
    if json {
        return output::record_aside(record);
    }
    output::aside(terminal::record(record, path, &super::screen()).trim_end());
    Ok(())
}
