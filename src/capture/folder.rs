//! [`Capture`]: a folder of entries.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::alike::Alike;
use super::bind::{OrderBuilder, ParameterOrder};
use super::entry::{Entry, OpenEntry};
use super::error::{CaptureError, FolderError, SourceError};
use super::origin;
use super::storage::StoragePlace;
use super::store::inside::Item;
use super::store::places::Places;
use plimsoll_memory::bytes::ByteSize;

/// The calls of one operator, captured into a folder of `entry_*.pt` files, or a single such file; or such a folder or
/// file of a [store](super::store).
///
/// Entries are opened one at a time: a capture keeps their names and the order of their parameters.
///
/// ```no_run
/// # use plimsoll_capture::Capture;
/// let capture = Capture::open("captures/embedding".as_ref())?;
/// for entry in capture.entries() {
///     let entry = entry?;
///     let bound = entry.bind(capture.order())?;
///     println!("{}: {} arguments", entry.name(), bound.args.len());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Capture {
    path: Arc<Path>,
    folder: PathBuf,
    names: Vec<String>,
    files: Vec<OsString>,
    in_store: bool,
    others: Vec<String>,
    function_name: String,
    order: ParameterOrder,
    sizes: Vec<ByteSize>,
    manifest: String,
    /// What was read of small entries, for those like them.
    alike: Arc<Alike>,
}

impl Capture {
    /// Opens the folder `path`, or the single entry `path`. Every entry's headers are read once. The folder of a store
    /// with a single capture opens that capture; in a store with several, `STORE/captures/NAME` opens one.
    ///
    /// # Errors
    /// If there is no such folder, it holds no entries, an entry cannot be read, or entries call two functions.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let shown: Arc<Path> = path.into();
        let fail = |error: io::Error| {
            let kind = match error.kind() {
                io::ErrorKind::NotFound => SourceError::NotFound,
                _ => SourceError::Io { operation: "list it", source: error },
            };
            CaptureError::new(&shown, kind)
        };
        let (folder, files, others) = if fs::metadata(path).map_err(fail)?.is_dir() {
            let folder =
                if Places::are_at(path).map_err(fail)? { only_capture(path, &shown)? } else { path.to_owned() };
            let (files, others) = list(&folder).map_err(fail)?;
            (folder, files, others)
        } else {
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            (folder, path.file_name().map(OsString::from).into_iter().collect(), Vec::new())
        };
        if files.is_empty() {
            return Err(CaptureError::new(&shown, FolderError::Empty { others: others.len() }));
        }
        let names = files.iter().map(|f| f.to_string_lossy().into_owned()).collect();
        let mut capture = Self {
            path: shown,
            folder,
            names,
            files,
            in_store: false,
            others,
            function_name: String::new(),
            order: ParameterOrder::default(),
            sizes: Vec::new(),
            manifest: String::new(),
            alike: Arc::default(),
        };
        capture.read_order()?;
        capture.announce();
        Ok(capture)
    }

    /// Has files that are elsewhere fetched in the order of the entries. Whoever reads entry by entry needs them so.
    fn announce(&self) {
        if origin::address(&self.folder).is_none() {
            return;
        }
        let paths: Vec<PathBuf> = match self.in_store {
            false => self.files.iter().map(|file| self.folder.join(file)).collect(),
            true => self.entries().flatten().flat_map(|entry| objects(&entry)).collect(),
        };
        origin::reads(&paths);
    }

    fn read_order(&mut self) -> Result<(), CaptureError> {
        let mut order = OrderBuilder::default();
        let mut function: Option<String> = None;
        let mut in_store = false;
        let mut sizes = Vec::with_capacity(self.len());
        let mut manifest = Manifest::default();
        for entry in self.entries() {
            let entry = entry?;
            sizes.push(entry.file_size());
            manifest.add(&entry);
            in_store |= entry.is_packed();
            let expected = function.get_or_insert_with(|| entry.function_name().to_owned());
            if entry.function_name() != expected {
                let error = FolderError::OtherFunction {
                    found: entry.function_name().into(),
                    first: self.names[0].as_str().into(),
                    expected: expected.as_str().into(),
                };
                return Err(CaptureError::new(&entry.path().into(), error));
            }
            order.add(&entry);
        }
        self.in_store = in_store;
        (self.sizes, self.manifest) = (sizes, manifest.finish());
        (self.function_name, self.order) = (function.unwrap_or_default(), order.finish());
        Ok(())
    }

    /// The folder, or the single file, that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the entries are in a store.
    pub fn is_in_store(&self) -> bool {
        self.in_store
    }

    /// The file names of the entries, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The names of everything else in the folder, in order.
    pub fn others(&self) -> &[String] {
        &self.others
    }

    /// The sizes of the entries' files, in order; of entries of a store, of the files that were packed.
    pub fn sizes(&self) -> &[ByteSize] {
        &self.sizes
    }

    /// `blake3:` and the digest of the headers of all entries that were opened: functions, names, sizes, and sizes and
    /// checksums of storages. Folders with equal entries have equal manifests, wherever they are.
    pub fn manifest(&self) -> &str {
        &self.manifest
    }

    /// The capture restricted to the entries at `places`, in the order given. Arguments are bound as in the whole
    /// capture, and the manifest stays the same.
    ///
    /// # Panics
    /// If there is no entry at one of the places.
    #[must_use]
    pub fn select(&self, places: &[usize]) -> Self {
        let selected = Self {
            names: places.iter().map(|&place| self.names[place].clone()).collect(),
            files: places.iter().map(|&place| self.files[place].clone()).collect(),
            sizes: places.iter().map(|&place| self.sizes[place]).collect(),
            ..self.clone()
        };
        selected.announce();
        selected
    }

    /// Whether there are no entries, which only an empty [selection](Self::select) can cause.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The number of entries; at least one, except for a [selection](Self::select).
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// The function that all entries call.
    pub fn function_name(&self) -> &str {
        &self.function_name
    }

    /// The order in which arguments are laid out by position.
    pub fn order(&self) -> &ParameterOrder {
        &self.order
    }

    /// Opens entry `index`.
    ///
    /// # Errors
    /// See [`Entry::open`].
    ///
    /// # Panics
    /// If there is no such entry.
    pub fn entry(&self, index: usize) -> Result<Entry, CaptureError> {
        self.open_entry(index).map(OpenEntry::close)
    }

    /// Opens entry `index`, and leaves its file open.
    ///
    /// # Errors
    /// See [`Entry::open`].
    ///
    /// # Panics
    /// If there is no such entry.
    pub fn open_entry(&self, index: usize) -> Result<OpenEntry, CaptureError> {
        OpenEntry::open_like(&self.folder.join(&self.files[index]), &self.alike)
    }

    /// Opens the entries one after the other.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = Result<Entry, CaptureError>> + '_ {
        (0..self.files.len()).map(|index| self.entry(index))
    }
}

/// The files that hold the storages of an entry, in order.
fn objects(entry: &Entry) -> Vec<PathBuf> {
    let places = entry.storages().iter().map(|storage| storage.place());
    places.map(|(StoragePlace::File { path, .. } | StoragePlace::Encoded { path, .. })| path.to_path_buf()).collect()
}

/// The digest of the headers of entries.
#[derive(Default)]
struct Manifest(blake3::Hasher);

impl Manifest {
    fn add(&mut self, entry: &Entry) {
        let mut take = |bytes: &[u8]| {
            // Lengths keep neighbours apart.
            self.0.update(&(bytes.len() as u64).to_le_bytes());
            self.0.update(bytes);
        };
        take(entry.function_name().as_bytes());
        take(entry.name().as_bytes());
        take(&entry.file_size().bytes().to_le_bytes());
        for storage in entry.storages() {
            take(&storage.bytes().bytes().to_le_bytes());
            take(&storage.crc32().map_or(Vec::new(), |crc| crc.to_le_bytes().to_vec()));
        }
    }

    fn finish(self) -> String {
        format!("blake3:{}", self.0.finalize().to_hex())
    }
}

/// The folder of the one capture of the store at `root`.
fn only_capture(root: &Path, shown: &Arc<Path>) -> Result<PathBuf, CaptureError> {
    let fail = |source| CaptureError::new(shown, SourceError::Io { operation: "list its captures", source });
    let places = Places::new(root);
    let folder = places.folder(&places.captures()).map_err(fail)?;
    let names = folder.names(Item::is_folder, |_| true).map_err(fail)?;
    let mut captures: Vec<_> = names.iter().map(|name| folder.path_of(name)).collect();
    match &mut captures[..] {
        [only] => Ok(std::mem::take(only)),
        several => {
            let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let captures = several.iter().map(name).collect();
            Err(CaptureError::new(shown, FolderError::SeveralCaptures { captures }))
        }
    }
}

/// The entries and the other names of a folder, each in byte order.
fn list(folder: &Path) -> io::Result<(Vec<OsString>, Vec<String>)> {
    if let Some(places) = Places::of_capture(folder) {
        return list_packed(&places, folder);
    }
    let (mut files, mut others) = (Vec::new(), Vec::new());
    for item in fs::read_dir(folder)? {
        let item = item?;
        let name = item.file_name();
        // A link to an entry is an entry; a link that leads nowhere is not. A path whose metadata cannot be read cannot
        // be opened either, and is an error then.
        let is_file = || match fs::metadata(item.path()) {
            Ok(found) => found.is_file(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        };
        if is_entry(&name) && is_file() {
            files.push(name);
        } else {
            others.push(name.to_string_lossy().into_owned());
        }
    }
    files.sort();
    others.sort();
    Ok((files, others))
}

/// Lists the folder of a capture in a store, in which no link is followed.
fn list_packed(places: &Places, folder: &Path) -> io::Result<(Vec<OsString>, Vec<String>)> {
    let listed = places.folder(&folder.canonicalize()?)?;
    let files = listed.names(|item| is_entry(&item.name) && item.is_file(), is_entry)?;
    let others = listed.names(|item| !(is_entry(&item.name) && item.is_file()), |_| false)?;
    Ok((files, others.iter().map(|name| name.to_string_lossy().into_owned()).collect()))
}

fn is_entry(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"entry_") && name.as_bytes().ends_with(b".pt")
}
