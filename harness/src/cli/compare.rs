//! `compare`: what changed between two records.

use plimsoll::record::{Record, compare_records};
use plimsoll::report::terminal;

use super::Failed;
use super::args::Compare;

/// Shows the differences; 1 where the semantics differ.
pub fn run(compare: &Compare) -> Result<u8, Failed> {
    let (a, b) = (Record::read(&compare.a)?, Record::read(&compare.b)?);
    let differences = compare_records(&a, &b);
    if compare.json {
        println!("{}", serde_json::to_string_pretty(&differences)?);
    } else {
        anstream::print!("{}", terminal::differences(&differences, &super::screen()));
    }
    Ok(u8::from(differences.semantics_changed()))
}
