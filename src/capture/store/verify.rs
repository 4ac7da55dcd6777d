//! [`Store::verify`]: checks every object by its digest, restores every file, and compares both with the originals if
//! asked to.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use serde::Serialize;

use super::super::error::PackedError;
use super::error::StoreError;
use super::inside::Item;
use super::object::Object;
use super::object_id::ObjectId;
use super::open::{EntryName, Store, is_entry};
use super::recipe::Recipe;
use super::{verified, whole};
use plimsoll_memory::bytes::ByteSize;

/// The size below which objects are verified side by side, one per thread; larger ones are verified one after the
/// other, by all threads.
const LARGE: u64 = 4 << 20;

/// How to verify a store.
pub struct VerifyOptions<'a> {
    /// A folder whose entries should equal those of the one capture named, or of the only one.
    pub against: Option<&'a Path>,
    /// The entries to verify, as [`Store::select`] takes them; all of them if empty.
    pub entries: Vec<OsString>,
    /// Also read objects that no entry of the store uses, if entries are named; without names they are always read.
    pub unused: bool,
    /// The number of threads that hash; `None` takes one per processor.
    pub threads: Option<NonZeroUsize>,
    /// A flag that another thread sets to stop the work.
    pub cancel: &'a AtomicBool,
    /// Called with the bytes of files restored and compared since the last call.
    pub progress: &'a (dyn Fn(ByteSize) + Sync),
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl Default for VerifyOptions<'_> {
    fn default() -> Self {
        Self { against: None, entries: Vec::new(), unused: false, threads: None, cancel: &NEVER, progress: &|_| () }
    }
}

impl std::fmt::Debug for VerifyOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VerifyOptions").field("against", &self.against).finish_non_exhaustive()
    }
}

/// The result of verifying a store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// The number of objects that were read.
    pub objects: u64,
    /// The bytes of those objects in the store.
    pub object_bytes: ByteSize,
    /// The number of entries whose files were restored.
    pub entries: u64,
    /// The bytes of those files.
    pub file_bytes: ByteSize,
    /// The number of files of the folder that equal their entries; absent if no folder was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<u64>,
    /// The problems found.
    pub problems: Vec<Problem>,
}

/// Something that is wrong with a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The damaged object; absent if the problem is with an entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectId>,
    /// What is wrong.
    pub message: String,
    /// The entries that are affected, as `CAPTURE/ENTRY`.
    pub entries: Vec<String>,
}

impl VerifyReport {
    /// Whether no problem was found.
    pub fn holds(&self) -> bool {
        self.problems.is_empty()
    }
}

impl Store {
    /// Reads every object of the named entries, or of all entries and whatever else the store holds, and compares it
    /// with its name; then restores every file without writing it, and compares its digest. Nothing is written.
    ///
    /// # Errors
    /// If the store cannot be listed, or the work was cancelled. Problems of objects and entries are in the report.
    pub fn verify(&self, options: &VerifyOptions<'_>) -> Result<VerifyReport, StoreError> {
        whole::with_threads(options.threads, || {
            Verification { store: self, options, report: VerifyReport::default() }.run()
        })
    }

    /// All objects in the store, in order.
    pub(super) fn all_objects(&self) -> Result<BTreeMap<ObjectId, Object>, StoreError> {
        let folder = self.places.objects();
        let mut objects = BTreeMap::new();
        for fan in self.names_in(&folder, Item::is_folder, |_| true)? {
            let fan = folder.join(fan);
            for name in self.names_in(&fan, |_| true, |_| true)? {
                let name = name.to_str().unwrap_or_default();
                let Ok(id) = name.strip_suffix(".zst").unwrap_or(name).parse() else { continue };
                match Object::find(&self.places, id) {
                    Ok(object) => drop(objects.insert(id, object)),
                    // The object was collected in the meantime.
                    Err(PackedError::Missing { .. }) => {}
                    Err(error) => return Err(StoreError::Object { path: fan.join(name), error }),
                }
            }
        }
        Ok(objects)
    }
}

struct Verification<'a> {
    store: &'a Store,
    options: &'a VerifyOptions<'a>,
    report: VerifyReport,
}

impl Verification<'_> {
    fn run(mut self) -> Result<VerifyReport, StoreError> {
        let names = self.store.select(&self.options.entries)?;
        let mut users: BTreeMap<ObjectId, BTreeSet<&EntryName>> = BTreeMap::new();
        let mut recipes: Vec<(&EntryName, Recipe)> = Vec::new();
        for name in &names {
            match self.recipe(name) {
                Ok((id, recipe)) => {
                    for object in recipe.objects().chain([id]) {
                        users.entry(object).or_default().insert(name);
                    }
                    recipes.push((name, recipe));
                }
                Err(error) => self.problem(None, &error, [name]),
            }
        }
        let mut objects = self.store.all_objects()?;
        if !self.options.entries.is_empty() {
            let used_by_others = if self.options.unused { self.used()? } else { BTreeSet::new() };
            let unused = |id: &ObjectId| self.options.unused && !used_by_others.contains(id);
            objects.retain(|id, _| users.contains_key(id) || unused(id));
        }
        let damaged = self.objects(&objects, &users)?;
        for (name, recipe) in &recipes {
            if recipe.objects().any(|object| damaged.contains(&object)) {
                continue;
            }
            self.cancelled()?;
            match whole::check(&self.store.reference(name)) {
                Ok(_) => {
                    self.report.entries += 1;
                    self.report.file_bytes += recipe.bytes;
                    (self.options.progress)(recipe.bytes);
                }
                Err(error) => self.problem(None, &error, [*name]),
            }
        }
        if let Some(folder) = self.options.against {
            self.compare(folder, &recipes)?;
        }
        Ok(self.report)
    }

    /// The objects that any entry uses. An unreadable entry contributes none: its own verification reports it.
    fn used(&self) -> Result<BTreeSet<ObjectId>, StoreError> {
        let names = self.store.entries()?;
        let recipes = names.iter().filter_map(|name| self.recipe(name).ok());
        Ok(recipes.flat_map(|(id, recipe)| recipe.objects().chain([id]).collect::<Vec<_>>()).collect())
    }

    fn recipe(&self, name: &EntryName) -> Result<(ObjectId, Recipe), StoreError> {
        self.store.read_recipe(name)?.ok_or_else(|| StoreError::NoSuch { name: name.to_string() })
    }

    fn problem<'n>(
        &mut self,
        object: Option<ObjectId>,
        error: &StoreError,
        entries: impl IntoIterator<Item = &'n EntryName>,
    ) {
        let entries = entries.into_iter().map(EntryName::to_string).collect();
        self.report.problems.push(Problem { object, message: error.to_string(), entries });
    }

    fn cancelled(&self) -> Result<(), StoreError> {
        if self.options.cancel.load(Ordering::Relaxed) { Err(StoreError::Cancelled) } else { Ok(()) }
    }

    /// Verifies objects, and returns the damaged ones.
    fn objects(
        &mut self,
        objects: &BTreeMap<ObjectId, Object>,
        users: &BTreeMap<ObjectId, BTreeSet<&EntryName>>,
    ) -> Result<BTreeSet<ObjectId>, StoreError> {
        let check = |object: &Object| {
            self.cancelled()?;
            let found = verified::digest(object).and_then(|actual| object.compare(actual));
            let path = object.path.to_path_buf();
            Ok((object.id, found.map_err(|error| StoreError::Object { path, error })))
        };
        let (small, large): (Vec<_>, Vec<_>) = objects.values().partition(|object| object.stored < LARGE);
        let mut checked = small.into_par_iter().map(check).collect::<Result<Vec<_>, StoreError>>()?;
        for object in large {
            checked.push(check(object)?);
        }
        self.report.objects = objects.len() as u64;
        self.report.object_bytes = objects.values().map(|object| ByteSize::new(object.stored)).sum();
        let mut damaged = BTreeSet::new();
        checked.sort_by_key(|(id, _)| *id);
        for (id, found) in checked {
            if let Err(error) = found {
                damaged.insert(id);
                self.problem(Some(id), &error, users.get(&id).into_iter().flatten().copied());
            }
        }
        Ok(damaged)
    }

    /// Compares the files of a folder with the entries of the same names: files in the folder itself, and files in its
    /// subfolders named after a capture, as unpacking several captures creates them.
    fn compare(&mut self, folder: &Path, recipes: &[(&EntryName, Recipe)]) -> Result<(), StoreError> {
        let mut files = entry_files(folder)?;
        let captures: BTreeSet<&OsString> = recipes.iter().map(|(name, _)| &name.capture).collect();
        for capture in captures {
            let nested = folder.join(capture);
            if nested.is_dir() {
                files.extend(entry_files(&nested)?);
            }
        }
        let mut compared = 0;
        for (name, recipe) in recipes {
            self.cancelled()?;
            let nested = folder.join(&name.capture).join(&name.entry);
            let found = [nested, folder.join(&name.entry)].into_iter().find(|path| files.remove(path));
            let Some(path) = found else {
                let message = format!("{}: the folder has no {name}", folder.display());
                let entries = vec![name.to_string()];
                self.report.problems.push(Problem { object: None, message, entries });
                continue;
            };
            let expected = recipe.blake3;
            match whole::digest(&path) {
                Ok(actual) if actual == expected => compared += 1,
                Ok(actual) => {
                    self.problem(None, &StoreError::Differs { path, expected, actual }, [*name]);
                }
                Err(error) => self.problem(None, &error.into(), [*name]),
            }
            (self.options.progress)(recipe.bytes);
        }
        for path in files {
            let message = format!("{}: the file is not in the store", path.display());
            self.report.problems.push(Problem { object: None, message, entries: Vec::new() });
        }
        self.report.compared = Some(compared);
        Ok(())
    }
}

/// The files of `folder` whose names are those of entries.
fn entry_files(folder: &Path) -> Result<BTreeSet<PathBuf>, StoreError> {
    let items = fs::read_dir(folder).and_then(|items| items.collect::<Result<Vec<_>, _>>());
    let items = items.map_err(StoreError::io(folder, "list it"))?;
    Ok(items.into_iter().filter(|item| is_entry(&item.file_name())).map(|item| item.path()).collect())
}
