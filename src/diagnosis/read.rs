//! [`read`]: reads an input into an analysis, records included.

use std::io::Read;

use plimsoll_diagnose::{Analysis, DiagnoseError};

use super::record;
use crate::record::{MAX_RECORD, Record};

/// Reads an input to its end: text, or a record with the findings, the end and the failures of its run. A snapshot is
/// not read here but returned, for the reader of snapshots.
///
/// # Errors
/// [`DiagnoseError`] if it cannot be read; what was read before stays in the findings, with the error.
pub fn read<'a>(
    analysis: &mut Analysis,
    name: &str,
    reader: impl Read + 'a,
) -> Result<Option<Box<dyn Read + 'a>>, DiagnoseError> {
    analysis.read_with(name, reader, |analysis, reader| {
        let mut bytes = Vec::new();
        let limited = reader.take(MAX_RECORD.bytes() + 1).read_to_end(&mut bytes);
        limited.map_err(|source| DiagnoseError::Io { name: name.to_owned(), source })?;
        let record = Record::from_json(name.as_ref(), &bytes).map_err(|source| DiagnoseError::Record(source.into()))?;
        match &record.diagnosis {
            Some(findings) => analysis.adopt(findings.as_ref().clone()),
            None => {
                analysis.push(record::text(&record).as_bytes());
                record::end(name, &record).into_iter().for_each(|event| analysis.ended(event));
                record::unexplained(name, &record).into_iter().for_each(|dismissal| analysis.dismiss(dismissal));
            }
        }
        record::ceilings(name, &record).into_iter().for_each(|event| analysis.note(event));
        Ok(bytes.len() as u64)
    })
}
