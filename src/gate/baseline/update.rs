//! [`write_baseline`]: records as a baseline.

use std::path::{Path, PathBuf};

use super::error::BaselineError;
use crate::gate::Subject;
use crate::record::{Record, write_record};

/// `record` without what a gate does not need and what would make a baseline large: timelines, processes, mappings.
pub fn distilled(record: &Record) -> Record {
    let mut record = record.clone();
    for phase in &mut record.phases {
        phase.timeline.clear();
        phase.processes.clear();
        phase.mappings.clear();
    }
    for ceiling in record.verdicts.iter_mut().filter_map(|verdict| verdict.ceiling.as_mut()) {
        ceiling.process = None;
    }
    record
}

/// Writes `records`, one a subject, as the baseline at `path`: into a folder each under its subject's name, where `path`
/// is one or does not end in `.json`; else as that file. Baselines of other subjects stay.
///
/// # Errors
/// [`BaselineError`]; every file is then whole, the old one or the new.
pub fn write_baseline(path: &Path, records: &[Record]) -> Result<Vec<PathBuf>, BaselineError> {
    let is_file = path.extension().is_some_and(|extension| extension == "json") && !path.is_dir();
    if is_file {
        if let [first, second, ..] = records {
            let [first, second] = [first, second].map(|record| Subject::of(record).to_string());
            return Err(BaselineError::OneFile { path: path.to_owned(), first, second });
        }
    } else {
        let folder = |source| BaselineError::Folder { what: "make", path: path.to_owned(), source };
        std::fs::create_dir_all(path).map_err(folder)?;
    }
    let mut written = Vec::new();
    for record in records {
        let file = if is_file { path.to_owned() } else { path.join(Subject::of(record).file_name()) };
        write_record(&file, &distilled(record))?;
        written.push(file);
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
    fn one_file_holds_one_subject() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("main.json");
        let error = write_baseline(&file, &[sample::command(), sample::test()]).unwrap_err().to_string();
        assert!(error.contains("main.json is one file, and there are records of train and reader::tests"), "{error}");
        assert!(!file.exists());
        write_baseline(&file, &[sample::command()]).unwrap();
        assert_eq!(BaselineSource::Path(file).read().unwrap()[0].1, distilled(&sample::command()));
    }

    #[test]
    fn what_is_no_record_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x.json"), "{}").unwrap();
        let error = BaselineSource::Path(dir.path().to_owned()).read().unwrap_err().to_string();
        assert!(error.contains("x.json is no record"), "{error}");
    }
}
