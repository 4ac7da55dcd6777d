//! `compare`: what changed between two records.

use clap::Args;
use plimsoll::record::{Record, compare_records};
use plimsoll::report::terminal;
use std::path::PathBuf;

use super::args::ReportFlags;
use super::{Failed, output};

#[derive(Args)]
pub struct Compare {
    /// The record to compare with
    pub a: PathBuf,
    /// The record that is compared
    pub b: PathBuf,
    /// Print the differences as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,

    #[command(flatten)]
    pub documents: ReportFlags,
}

/// Shows the differences and writes the documents of both; 1 if the semantics differ.
pub fn run(compare: &Compare) -> Result<u8, Failed> {
    compare.documents.check()?;
    let records = [Record::read(&compare.a)?, Record::read(&compare.b)?];
    let differences = compare_records(&records[0], &records[1]);
    if compare.json {
        output::json(&differences)?;
    } else {
        output::text(&terminal::differences(&differences, &super::screen()))?;
    }
    compare.documents.write(&records)?;
    Ok(u8::from(differences.semantics_changed()))
}
