//! `ratchet`: lowers ceilings in source code if usage fell.
//!
//! The records of tests name the test and its limits. A ceiling is found at the `#[plimsoll::test(..)]` of a function
//! of that name, in inline modules that the test's path ends in, as a literal of exactly that limit. If the source is
//! newer than the record, or two such functions exist, nothing is changed.

mod source;

use clap::Args;
use plimsoll::gate::Allowance;
use plimsoll::gate::{Lowering, ratchet};
use plimsoll::report::terminal;
use std::path::PathBuf;

use super::args::HEADROOM;
use super::{Failed, output, records};
use crate::replace::replace;
use source::{Edit, Search};

#[derive(Args)]
#[command(
    after_help = "Records are written by tests where PLIMSOLL_RECORD_DIR is set. Exit codes: 0 done; 1 with --check, where \
    a ceiling could be lowered; 2 unreadable; 3 no record has a ceiling."
)]
pub struct Ratchet {
    /// Records, or folders of them
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,

    /// The sources of the tests: files, or folders to search
    #[arg(long = "source", value_name = "PATH", env = "PLIMSOLL_SOURCE", default_value = ".", value_delimiter = ',')]
    pub sources: Vec<PathBuf>,

    /// The room above the largest reading: the larger of the two parts
    ///
    /// A ceiling is moved only by more than that.
    #[arg(long, value_name = "ALLOWANCE", env = "PLIMSOLL_HEADROOM", default_value = HEADROOM)]
    pub headroom: Allowance,

    /// Change nothing; exit 1 if a ceiling could be lowered
    #[arg(long, env = "PLIMSOLL_CHECK")]
    pub check: bool,

    /// Print what was found as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

/// Lowers ceilings, or only lists them: with --check 1 if one could be lowered; 3 if no record has one.
pub fn run(arguments: &Ratchet) -> Result<u8, Failed> {
    let records = records::read(&arguments.records)?;
    let mut found = ratchet(&records, arguments.headroom);
    let nothing = found.lowerings.is_empty() && found.kept == 0;
    if !nothing {
        let search = Search::new(&arguments.sources)?;
        let mut edits = Vec::new();
        for lowering in &mut found.lowerings {
            edits.extend(locate(&search, lowering));
        }
        if !arguments.check {
            for (file, text) in search.edited(&edits) {
                let failed = |error| format!("cannot write {}: {error}; no further file is changed", file.display());
                replace(file, text.as_bytes()).map_err(failed)?;
            }
        }
    }
    if arguments.json {
        output::json(&found)?;
    } else {
        output::text(&terminal::ratchet(&found, arguments.check, &super::screen()))?;
    }
    Ok(match (nothing, arguments.check && !found.lowerings.is_empty()) {
        (true, _) => 3,
        (_, true) => 1,
        _ => 0,
    })
}

/// Finds the ceiling and how to change it, or notes why its user has to change it.
fn locate(search: &Search, lowering: &mut Lowering) -> Option<Edit> {
    if !lowering.is_test {
        lowering.by_hand = Some("the ceiling belongs to a command: change it where the command is started".to_owned());
        return None;
    }
    match search.find(lowering) {
        Ok(edit) => {
            lowering.place = Some(search.place(&edit));
            Some(edit)
        }
        Err(reason) => {
            lowering.by_hand = Some(reason);
            None
        }
    }
}
