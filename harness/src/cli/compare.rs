//! `compare`: what changed between two records.

use plimsoll::record::{Record, compare_records};
use plimsoll::report::terminal;

use super::args::Compare;
use super::{Failed, output};

/// Shows the differences; 1 where the semantics differ.
pub fn run(compare: &Compare) -> Result<u8, Failed> {
    let (a, b) = (Record::read(&compare.a)?, Record::read(&compare.b)?);
    let differences = compare_records(&a, &b);
    if compare.json {
        output::json(&differences)?;
    } else {
        output::text(&terminal::differences(&differences, &super::screen()))?;
    }
    Ok(u8::from(differences.semantics_changed()))
}
