//! [`write_baseline`]: writes records as a baseline.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::error::BaselineError;
use crate::elsewhere::is_address;
use crate::gate::Subject;
use crate::record::{Record, write_record};

/// Copies `record` without the large parts that a gate does not need: timelines, processes, mappings, findings.
pub fn distilled(record: &Record) -> Record {
    let mut record = record.clone();
    for phase in &mut record.phases {
        *phase = phase.without_details();
    }
    record.diagnosis = None;
    record.parts.clear();
    for ceiling in record.verdicts.iter_mut().filter_map(|verdict| verdict.ceiling.as_mut()) {
        ceiling.process = None;
    }
    record
}

/// Writes `records` as the baseline at `path`. If `path` is a folder or does not end in `.json`, each record goes into
/// that folder under its subject's name; otherwise a single record becomes the file. Baselines of other subjects stay.
///
/// # Errors
/// [`BaselineError`]. Every file is complete even then, in its old or its new version.
pub fn write_baseline(path: &Path, records: &[Record]) -> Result<Vec<PathBuf>, BaselineError> {
    let is_file = path.extension().is_some_and(|extension| extension == "json") && !path.is_dir();
    if is_file {
        if let [first, second, ..] = records {
            let [first, second] = [first, second].map(|record| Subject::of(record).to_string());
            return Err(BaselineError::OneFile { path: path.to_owned(), first, second });
        }
        records.iter().try_for_each(|record| write_record(path, &distilled(record)))?;
        return Ok(vec![path.to_owned()]);
    }
    let folder = |what| move |source| BaselineError::Folder { what, path: path.to_owned(), source };
    if is_address(path) {
        // Records that are no longer produced would remain there.
        let why = "a folder in an object store is not updated: name a file that ends in .json";
        return Err(folder("update")(std::io::Error::other(why)));
    }
    std::fs::create_dir_all(path).map_err(folder("make"))?;
    let mut numbers: BTreeMap<Subject, usize> = BTreeMap::new();
    let mut written = Vec::new();
    for record in records {
        let subject = Subject::of(record);
        let number = numbers.entry(subject.clone()).or_default();
        let file = path.join(subject.file_name(*number));
        *number += 1;
        write_record(&file, &distilled(record))?;
        written.push(file);
    }
    // An older baseline with more records would leave surplus files behind.
    for (subject, first) in numbers {
        for number in first.. {
            match std::fs::remove_file(path.join(subject.file_name(number))) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => break,
                Err(error) => return Err(folder("clean")(error)),
            }
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::BaselineSource;
    use crate::record::sample;

    #[test]
    fn what_is_written_is_read_again_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("perf/baselines");
        let read = || BaselineSource::Path(folder.clone()).read().unwrap();
        assert!(read().is_empty(), "a folder that is not there has no baseline");
        write_baseline(&folder, &[sample::command()]).unwrap();
        let written = write_baseline(&folder, &[sample::test(), sample::record()]).unwrap();
        assert_eq!(written.len(), 2);
        std::fs::write(folder.join("README.md"), "baselines of main").unwrap();
        let mut found: Vec<Record> = read().into_iter().map(|(_, record)| record).collect();
        found.sort_by_key(|record| record.semantics_digest.clone());
        let mut expected = [sample::command(), sample::test(), sample::record()].map(|record| distilled(&record));
        expected.sort_by_key(|record| record.semantics_digest.clone());
        assert_eq!(found, expected);
        let size: u64 = std::fs::metadata(folder.join("train.json")).unwrap().len();
        assert!(size < 6000, "{size} bytes are too many to be committed each time");
    }

    #[test]
    fn several_records_of_a_subject_have_a_file_each_and_none_is_left_over() {
        let dir = tempfile::tempdir().unwrap();
        let count = |records: &[Record]| {
            write_baseline(dir.path(), records).unwrap();
            BaselineSource::Path(dir.path().to_owned()).read().unwrap().len()
        };
        assert_eq!(count(&[sample::command(), sample::command(), sample::command()]), 3);
        assert_eq!(count(&[sample::test()]), 4);
        assert_eq!(count(&[sample::command()]), 2);
    }

    #[test]
    fn one_file_holds_one_subject() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("main.json");
        let error = write_baseline(&file, &[sample::command(), sample::test()]).unwrap_err().to_string();
        assert!(
            error.contains("main.json is one file, but there are several records, of train and reader::tests"),
            "{error}"
        );
        assert!(!file.exists());
        write_baseline(&file, &[sample::command()]).unwrap();
        assert_eq!(BaselineSource::Path(file).read().unwrap()[0].1, distilled(&sample::command()));
    }

    #[test]
    fn what_is_no_record_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x.json"), "{}").unwrap();
        let error = BaselineSource::Path(dir.path().to_owned()).read().unwrap_err().to_string();
        assert!(error.contains("x.json is not a record"), "{error}");
    }
}
