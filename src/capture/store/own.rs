//! Whether a folder is inside a store, judged by device and inode, so that no link, mount or spelling of a path hides
//! it.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::error::StoreError;
use super::open::Store;

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

impl Store {
    /// Refuses `folder` if it is this store or a folder in it: files deleted there would be the store's own.
    ///
    /// # Errors
    /// [`StoreError::OfStore`]; also if the metadata of a folder on the way cannot be read.
    pub(super) fn refuse_own(&self, folder: &Path) -> Result<(), StoreError> {
        let identity_of = |path: &Path| -> Result<_, StoreError> {
            fs::metadata(path).map(|found| identity(&found)).map_err(StoreError::io(path, "read its metadata"))
        };
        let places = &self.places;
        let mut own = HashSet::from([identity_of(places.root())?]);
        // A mount may show any folder of the store elsewhere, without the folders above it.
        for part in [places.captures(), places.objects(), places.incoming()] {
            own.insert(identity_of(&part)?);
        }
        for capture in self.captures()? {
            own.insert(identity_of(&places.capture(&capture))?);
        }
        let whole = folder.canonicalize().map_err(StoreError::io(folder, "resolve its path"))?;
        for above in whole.ancestors() {
            if own.contains(&identity_of(above)?) {
                return Err(StoreError::OfStore { path: folder.to_owned(), store: self.path().to_owned() });
            }
        }
        Ok(())
    }
}
