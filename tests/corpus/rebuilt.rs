//! Every file comes back byte for byte from its skeleton and its storages.

use std::collections::HashMap;
use std::path::Path;

use plimsoll::capture::skeleton::{Skeleton, SkeletonError};

use crate::support::{corpus, files};

/// Takes a file apart and puts it together again.
fn rebuilt(path: &Path) -> Result<(Skeleton, Vec<u8>), SkeletonError> {
    let mut payloads: HashMap<String, Vec<u8>> = HashMap::new();
    let skeleton = Skeleton::scan(path, &mut |payload, piece| {
        payloads.entry(payload.key.clone()).or_default().extend_from_slice(piece);
        Ok(())
    })?;
    let skeleton = Skeleton::from_bytes(&skeleton.to_bytes())?;
    let mut out = Vec::new();
    skeleton.rebuild(&mut |payload| Ok(&payloads[&payload.key][..]), &mut out)?;
    Ok((skeleton, out))
}

#[test]
fn every_good_file_is_rebuilt_byte_for_byte() {
    let Some(corpus) = corpus() else { return };
    for file in files(corpus) {
        let (skeleton, bytes) = rebuilt(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert!(bytes == std::fs::read(&file).unwrap(), "{}", file.display());
        assert_eq!(skeleton.file_size().bytes(), bytes.len() as u64, "{}", file.display());
    }
}
