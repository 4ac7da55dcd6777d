//! Record files: written beside the target, flushed, renamed; read whole, within bounds, with their digest checked.

use std::fs::{self, File, FileType};
use std::io::{self, BufReader, BufWriter, Read, Seek, Write as _};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;
use tempfile::{NamedTempFile, TempDir};

use super::document::Record;
use super::error::{RecordError, SCHEMA};
use super::head;
use super::json;
use super::texts::{LongText, Texts};
use crate::elsewhere::{self, Local};
use plimsoll_capture::{leftover, origin};
use plimsoll_memory::bytes::ByteSize;

/// The largest record that is read: room for a million entries, and a limit for files that are not records.
pub const MAX_RECORD: ByteSize = ByteSize::mib(512);

/// The space that [`RecordFile::prepare`] reserves: more than a record of a hundred entries with all samples needs.
const RESERVE: ByteSize = ByteSize::mib(1);

/// The prefix of a file's name while it is written.
const PREFIX: &str = ".plimsoll-record-";

/// A record to be written: its path is known to be usable and space is reserved, so that a long run does not end with a
/// record that cannot be written.
///
/// Until [`commit`](Self::commit) an older record at the path stays unchanged. Dropping the value leaves nothing
/// behind; files of a killed process are removed by the next one that prepares a record at the path.
#[derive(Debug)]
pub struct RecordFile {
    /// The path as given, for messages.
    path: PathBuf,
    /// The file to replace: `path`, or the target of its link.
    target: PathBuf,
    temporary: NamedTempFile,
    /// The folder of a record that is sent to an address once written.
    outgoing: Option<TempDir>,
}

impl RecordFile {
    /// Makes a temporary file beside `path` and reserves 1 MiB for it.
    ///
    /// # Errors
    /// [`RecordError`] if no record could be written to `path`: a missing or read-only folder, a read-only record, a
    /// folder or device in its place, a full disk.
    pub fn prepare(path: &Path) -> Result<Self, RecordError> {
        if elsewhere::is_address(path) {
            elsewhere::probe(path)?;
            let io = |source| RecordError::Io { path: path.to_owned(), doing: "make a folder for", source };
            let folder = tempfile::Builder::new().prefix("plimsoll-record-").tempdir().map_err(io)?;
            let file = Self::prepare(&folder.path().join("record.json"))?;
            return Ok(Self { path: path.to_owned(), outgoing: Some(folder), ..file });
        }
        let target = replaceable(path)?;
        let folder = folder_of(&target);
        leftover::clean(folder, PREFIX);
        let temporary = temporary_in(folder).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                RecordError::MissingFolder { path: path.to_owned(), folder: folder.to_owned() }
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                RecordError::ReadOnly { path: path.to_owned(), what: "its folder" }
            }
            _ => write_error(path, RESERVE, source),
        })?;
        let mut file = Self { path: path.to_owned(), target, temporary, outgoing: None };
        file.reserve(RESERVE)?;
        Ok(file)
    }

    /// Reserves `bytes` for the record, if that is more than was reserved before.
    ///
    /// # Errors
    /// [`RecordError::DiskFull`] if the disk cannot hold them.
    pub fn reserve(&mut self, bytes: ByteSize) -> Result<(), RecordError> {
        let file = self.temporary.as_file_mut();
        match rustix::fs::fallocate(&*file, FallocateFlags::empty(), 0, bytes.bytes()) {
            Ok(()) => Ok(()),
            // If a file system cannot allocate ahead, write zeros instead.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                file.rewind().and_then(|()| io::copy(&mut io::repeat(0).take(bytes.bytes()), file)).map(drop)
            }
            Err(errno) => Err(errno.into()),
        }
        .map_err(|source| write_error(&self.path, bytes, source))
    }

    /// Writes `record` and replaces an older one in one step.
    ///
    /// # Errors
    /// [`RecordError`] if the disk is full or the folder went away; an older record is whole then, and so is `record`
    /// in memory, for another path.
    pub fn commit(mut self, record: &Record) -> Result<(), RecordError> {
        let length = json::length(record);
        self.reserve(length)?;
        self.commit_with(length, |writer| json::write(writer, record))
    }

    /// As [`RecordFile::commit`], for a record of about this many bytes that `write` writes.
    pub(crate) fn commit_with(
        self,
        length: ByteSize,
        write: impl FnOnce(&mut BufWriter<&mut File>) -> io::Result<()>,
    ) -> Result<(), RecordError> {
        let Self { path, target, mut temporary, outgoing } = self;
        let file = temporary.as_file_mut();
        let written = file.rewind().and_then(|()| {
            let mut writer = BufWriter::with_capacity(1 << 16, &mut *file);
            write(&mut writer)?;
            writer.flush()?;
            drop(writer);
            let end = file.stream_position()?;
            file.set_len(end)?;
            file.sync_all()
        });
        written.map_err(|source| write_error(&path, length, source))?;
        temporary.persist(&target).map_err(|error| write_error(&path, length, error.error))?;
        if outgoing.is_some() {
            return Ok(elsewhere::write_document(&path, &target)?);
        }
        // The rename itself must reach the disk, or a power cut brings the older record back.
        let synced = File::open(folder_of(&target)).and_then(|folder| folder.sync_all());
        synced.map_err(|source| RecordError::Io { path, doing: "flush the folder of", source })
    }
}

/// Writes `record` to `path`: whole, or not at all.
///
/// # Errors
/// As for [`RecordFile::prepare`] and [`RecordFile::commit`].
pub fn write_record(path: &Path, record: &Record) -> Result<(), RecordError> {
    RecordFile::prepare(path)?.commit(record)
}

impl Record {
    /// Writes the record as JSON, as its file has it.
    ///
    /// # Errors
    /// The errors of `writer`.
    pub fn write_to(&self, writer: &mut dyn io::Write) -> io::Result<()> {
        json::write(writer, self)
    }

    /// Reads a record and checks its schema, its digest and that every entry has its result.
    ///
    /// # Errors
    /// [`RecordError`] if the file cannot be read, is not a record of this version, or contradicts itself.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        let local = Local::documents(path)?;
        let file = local.path();
        let shown = origin::address(file);
        let path = shown.as_deref().unwrap_or(path);
        let io_error = |source: io::Error| match source.downcast::<LongText>() {
            Ok(found) => RecordError::LongText { path: path.to_owned(), found },
            Err(source) => RecordError::Io { path: path.to_owned(), doing: "read", source },
        };
        let mut file = File::open(file).map_err(io_error)?;
        fn bounded(file: &File) -> impl Read {
            Texts::new(Read::take(file, MAX_RECORD.bytes() + 1))
        }
        // A file is read twice, so that its bytes are never all in memory. What is not a file can be read only once.
        if !file.metadata().map_err(io_error)?.is_file() {
            let mut copy = tempfile::tempfile().map_err(io_error)?;
            io::copy(&mut bounded(&file), &mut copy).map_err(io_error)?;
            file = copy;
        }
        if file.metadata().map_err(io_error)?.len() > MAX_RECORD.bytes() {
            return Err(RecordError::TooLarge { path: path.to_owned(), limit: MAX_RECORD });
        }
        Self::parse(path, || {
            (&file).rewind()?;
            Ok(Box::new(bounded(&file)))
        })
    }

    /// Reads a record from `bytes`; `path` is for messages.
    pub(crate) fn from_json(path: &Path, bytes: &[u8]) -> Result<Self, RecordError> {
        Self::parse(path, || Ok(Box::new(Texts::new(bytes))))
    }

    /// Reads from a new reader of `open` each time.
    fn parse<'a>(path: &Path, open: impl Fn() -> io::Result<Box<dyn Read + 'a>>) -> Result<Self, RecordError> {
        let path = || path.to_owned();
        let again = || open().map_err(|source| RecordError::Io { path: path(), doing: "read", source });
        let failed = |source: serde_json::Error, other: fn(PathBuf, serde_json::Error) -> RecordError| {
            if !source.is_io() {
                return other(path(), source);
            }
            match io::Error::from(source).downcast::<LongText>() {
                Ok(found) => RecordError::LongText { path: path(), found },
                Err(source) => RecordError::Io { path: path(), doing: "read", source },
            }
        };
        let no_json = |path, source| RecordError::NotJson { path, source };
        // Check the schema first, so that another version is reported as such.
        match head::schema(BufReader::with_capacity(1 << 16, again()?)).map_err(|source| failed(source, no_json))? {
            Some(found) if found == SCHEMA => {}
            found => return Err(RecordError::WrongSchema { path: path(), found }),
        }
        let record = json::read::<Self>(again()?).map_err(|source| {
            if source.is_data() {
                return failed(source, |path, source| RecordError::NotARecord { path, source });
            }
            failed(source, no_json)
        })?;
        record.check().map_err(|fault| RecordError::InFile { path: path(), fault: Box::new(fault) })?;
        Ok(record)
    }
}

/// The folder of the file at `path`.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file in `folder` that is later renamed to a record there. While the file is open, other processes do not treat it
/// as a leftover.
pub(super) fn temporary_in(folder: &Path) -> io::Result<NamedTempFile> {
    let permissions = fs::Permissions::from_mode(0o666);
    let make = || tempfile::Builder::new().prefix(PREFIX).permissions(permissions.clone()).tempfile_in(folder);
    // The lock belongs to the open file, which the temporary file shares with its clone.
    leftover::held(make, |file| file.as_file().try_clone(), |file| file.path()).map(|(file, _)| file)
}

/// The file that a record at `path` replaces: `path` itself, or the target of its link, so that the link stays.
fn replaceable(path: &Path) -> Result<PathBuf, RecordError> {
    let io_error = |source| RecordError::Io { path: path.to_owned(), doing: "look at", source };
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path.to_owned()),
        Err(source) => return Err(io_error(source)),
    };
    let target = if found.is_symlink() { fs::canonicalize(path).map_err(io_error)? } else { path.to_owned() };
    let metadata = fs::metadata(&target).map_err(io_error)?;
    match not_a_file(metadata.file_type()) {
        Some(found) => Err(RecordError::NotAFile { path: path.to_owned(), found }),
        // A rename would succeed, but a record that was made read-only, such as a baseline, must stay.
        None if metadata.permissions().readonly() => {
            Err(RecordError::ReadOnly { path: path.to_owned(), what: "the record that is there" })
        }
        None => Ok(target),
    }
}

/// What is in the place of a file; `None` if it is a file.
pub(crate) fn not_a_file(kind: FileType) -> Option<&'static str> {
    match () {
        () if kind.is_file() => None,
        () if kind.is_dir() => Some("a folder"),
        () if kind.is_fifo() => Some("a pipe"),
        () if kind.is_socket() => Some("a socket"),
        () => Some("a device"),
    }
}

fn write_error(path: &Path, needed: ByteSize, source: io::Error) -> RecordError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            RecordError::DiskFull { path, needed, source }
        }
        _ => RecordError::Io { path, doing: "write", source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;
    use crate::record::texts::LONGEST_TEXT;

    fn names_in(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_record_reads_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        for record in [sample::record(), sample::failing()] {
            write_record(&path, &record).unwrap();
            assert_eq!(Record::read(&path).unwrap(), record);
        }
        assert_eq!(names_in(folder.path()), ["run.json"]);
    }

    #[test]
    fn an_older_record_stays_whole_until_the_rename_and_nothing_is_left_of_an_abandoned_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        write_record(&path, &sample::record()).unwrap();
        let older = fs::read(&path).unwrap();

        let prepared = RecordFile::prepare(&path).unwrap();
        assert_eq!(names_in(folder.path()).len(), 2, "the temporary file stands beside the record");
        assert_eq!(fs::read(&path).unwrap(), older);
        drop(prepared);
        assert_eq!(names_in(folder.path()), ["run.json"]);

        RecordFile::prepare(&path).unwrap().commit(&sample::failing()).unwrap();
        assert_eq!(Record::read(&path).unwrap(), sample::failing());
    }

    #[test]
    fn what_a_killed_run_left_goes_with_the_next_and_what_another_run_holds_stays() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".plimsoll-record-a1B2c3");
        fs::write(&left, "half a record").unwrap();
        let held = temporary_in(folder.path()).unwrap();
        write_record(&folder.path().join("run.json"), &sample::record()).unwrap();
        assert!(!left.exists() && held.path().exists());
    }

    #[test]
    fn a_path_that_cannot_take_a_record_is_found_before_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let refused = |path: &Path| RecordFile::prepare(path).unwrap_err();

        assert!(matches!(refused(&at("none/run.json")), RecordError::MissingFolder { .. }));
        fs::write(at("file"), "x").unwrap();
        assert!(matches!(
            refused(&at("file/run.json")),
            RecordError::Io { source, .. } if source.kind() == io::ErrorKind::NotADirectory
        ));
        assert!(matches!(refused(folder.path()), RecordError::NotAFile { found: "a folder", .. }));
        assert!(matches!(refused(Path::new("/dev/null")), RecordError::NotAFile { found: "a device", .. }));

        fs::write(at("baseline.json"), "{}").unwrap();
        fs::set_permissions(at("baseline.json"), fs::Permissions::from_mode(0o444)).unwrap();
        assert!(matches!(refused(&at("baseline.json")), RecordError::ReadOnly { .. }));
        assert_eq!(fs::read(at("baseline.json")).unwrap(), b"{}");
    }

    #[test]
    fn a_full_disk_is_found_before_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = RecordFile::prepare(&folder.path().join("run.json")).unwrap();
        let error = file.reserve(ByteSize::new(1 << 60)).unwrap_err();
        assert!(matches!(error, RecordError::DiskFull { .. }), "{error}");
    }

    #[test]
    fn a_link_stays_and_its_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (link, file) = (folder.path().join("latest.json"), folder.path().join("run-1.json"));
        fs::write(&file, "{}").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_record(&link, &sample::record()).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(Record::read(&file).unwrap(), sample::record());
    }

    #[test]
    fn records_are_readable_to_those_whom_the_umask_allows() {
        let folder = tempfile::tempdir().unwrap();
        let (path, plain) = (folder.path().join("run.json"), folder.path().join("plain"));
        write_record(&path, &sample::record()).unwrap();
        fs::write(&plain, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), mode(&plain));
    }

    fn refused(text: &str) -> RecordError {
        Record::from_json(Path::new("run.json"), text.as_bytes()).unwrap_err()
    }

    #[test]
    fn what_is_no_record_of_this_version_is_refused_by_name() {
        assert!(matches!(refused("not json"), RecordError::NotJson { .. }));
        assert!(matches!(refused("{\"schema\": \"plimsoll.record/1\""), RecordError::NotJson { .. }));
        assert!(matches!(refused("[1, 2]"), RecordError::WrongSchema { found: None, .. }));
        assert!(matches!(refused("{}"), RecordError::WrongSchema { found: None, .. }));
        assert!(matches!(refused("{\"schema\": 1}"), RecordError::WrongSchema { found: None, .. }));
        let found = |error| match error {
            RecordError::WrongSchema { found, .. } => found,
            other => panic!("{other}"),
        };
        assert_eq!(found(refused("{\"schema\": \"plimsoll.record/2\"}")).as_deref(), Some("plimsoll.record/2"));
        assert!(matches!(refused("{\"schema\": \"plimsoll.record/1\"}"), RecordError::NotARecord { .. }));
        let deep = format!("{{\"schema\": \"plimsoll.record/1\", \"command\": {}", "[".repeat(100_000));
        assert!(matches!(refused(&deep), RecordError::NotARecord { .. }));
    }

    #[test]
    fn a_record_is_read_from_a_pipe_as_from_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let (path, pipe) = (dir.path().join("r.json"), dir.path().join("pipe"));
        write_record(&path, &sample::record()).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        let text = fs::read(&path).unwrap();
        let read = std::thread::scope(|scope| {
            scope.spawn(|| fs::write(&pipe, &text).unwrap());
            Record::read(&pipe).unwrap()
        });
        assert_eq!(read, Record::read(&path).unwrap());
    }

    #[test]
    fn a_text_longer_than_any_is_refused_from_a_file_and_from_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("long.json");
        let long = format!("{{\"schema\": \"{SCHEMA}\", \"x\": \"{}\"}}", "x".repeat(LONGEST_TEXT.bytes() as usize));
        fs::write(&path, &long).unwrap();
        for found in [Record::read(&path), Record::from_json(&path, long.as_bytes())] {
            let error = found.map(drop).unwrap_err();
            assert!(matches!(error, RecordError::LongText { .. }), "{error}");
        }
    }

    #[test]
    fn changed_semantics_break_the_digest() {
        let mut record = sample::record();
        sample::capture(&mut record).entries[1].bytes = ByteSize::new(1);
        let error = refused(&serde_json::to_string(&record).unwrap());
        let RecordError::InFile { fault, .. } = &error else { panic!("{error}") };
        assert!(matches!(**fault, RecordError::BrokenDigest { .. }), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn a_cut_or_changed_record_is_refused_or_read_and_never_panics(at in 0usize..20_000, byte: u8, cut: bool) {
            let mut text = serde_json::to_vec(&sample::record()).unwrap();
            let at = at % text.len();
            if cut { text.truncate(at) } else { text[at] = byte }
            let read = Record::from_json(Path::new("run.json"), &text);
            proptest::prop_assert!(!cut || read.is_err());
        }
    }
}
