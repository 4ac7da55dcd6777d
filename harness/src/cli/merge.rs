//! `merge`: the records of shards or ranks as one.

use std::path::{Path, PathBuf};

use clap::Args;
use plimsoll::capture::origin;
use plimsoll::elsewhere::{Local, is_address};
use plimsoll::merge::{Merge as Merging, MergeError};
use plimsoll::record::{Record, RecordFile};
use plimsoll::report::terminal;

use super::args::ReportFlags;
use super::{Failed, USAGE, output, quoted, records};

#[derive(Args)]
pub struct Merge {
    /// The records of all shards or ranks, or folders of them
    ///
    /// Merged records can be merged again. In a folder, all *.json are read, and each *.json.partial without a *.json beside it.
    /// Files and folders may be at addresses of an object store.
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,

    /// Where the merged record goes
    #[arg(long, value_name = "RECORD")]
    pub out: PathBuf,

    /// Merge the given records although some are missing; exit code 3
    #[arg(long)]
    pub partial: bool,

    /// Print the merged record instead of the report
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,

    #[command(flatten)]
    pub documents: ReportFlags,
}

/// Merges, and returns the exit code of the merged record's verdicts.
pub fn run(merge: &Merge) -> Result<u8, Failed> {
    merge.documents.check()?;
    let file = RecordFile::prepare(&merge.out)?;
    let mut merging = Merging::new(&scratch(&merge.out))?;
    for path in &merge.records {
        let local = Local::documents(path)?;
        for part in parts(local.path(), &merge.out)? {
            merging.add(&origin::shown(&part), Record::read(&part)?)?;
        }
    }
    if let Some(missing) = merging.missing().filter(|_| !merge.partial) {
        let commands: Vec<String> = missing.commands.iter().map(|command| line(command)).collect();
        super::report(&MergeError::Gap(missing));
        if !commands.is_empty() {
            output::aside(&format!("  {}", commands.join("\n  ")));
        }
        return Ok(USAGE);
    }
    let merged = merging.finish()?;
    let code = merged.head().exit_code;
    let text = if merge.json { None } else { Some(terminal::merged(&merged, &merge.out, &super::screen())?) };
    merged.commit(file)?;
    if merge.json || merge.documents.are_asked_for() {
        let record = Record::read(&merge.out)?;
        merge.documents.write(std::slice::from_ref(&record))?;
        if merge.json {
            output::record(&record)?;
        }
    }
    text.map_or(Ok(()), |text| output::text(&text))?;
    Ok(code)
}

/// The folder of the temporary file of entries: the folder of the record, whose disk has room, unless that is an address.
fn scratch(out: &Path) -> PathBuf {
    if is_address(out) {
        return std::env::temp_dir();
    }
    out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

/// The records at `path`; for a folder also the partial records of killed runs, but not the output file.
fn parts(path: &Path, out: &Path) -> Result<Vec<PathBuf>, Failed> {
    let mut files = records::files(path)?;
    if !path.is_dir() {
        return Ok(files);
    }
    for item in std::fs::read_dir(path)? {
        let file = item?.path();
        let whole = file.to_str().and_then(|name| name.strip_suffix(".partial")).filter(|name| name.ends_with(".json"));
        if whole.is_some_and(|whole| !Path::new(whole).exists()) {
            files.push(file);
        }
    }
    let same = |file: &PathBuf| match origin::address(file) {
        Some(address) => *address == *out,
        None => file.canonicalize().is_ok_and(|file| out.canonicalize().is_ok_and(|out| file == out)),
    };
    files.retain(|file| !same(file));
    files.sort();
    Ok(files)
}

/// A command line, quoted for a shell.
fn line(command: &[String]) -> String {
    command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}
