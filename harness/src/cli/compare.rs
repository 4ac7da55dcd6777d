//! `compare`: what changed between two records.

use plimsoll::record::{Record, compare_records};
use plimsoll::report::terminal;

use super::args::Compare;
use super::{Failed, output};

/// Shows the differences and writes the documents of both; 1 where the semantics differ.
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
