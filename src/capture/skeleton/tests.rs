use std::collections::HashMap;
use std::path::Path;

use std::io::Read;

use proptest::prelude::*;

use super::super::testing;
use super::*;

/// Takes a file apart: the skeleton and the payloads by key.
fn scan(path: &Path) -> (Skeleton, HashMap<String, Vec<u8>>) {
    let mut payloads: HashMap<String, Vec<u8>> = HashMap::new();
    let skeleton = Skeleton::scan(path, &mut |payload, piece| {
        payloads.entry(payload.key.clone()).or_default().extend_from_slice(piece);
        Ok(())
    });
    (skeleton.unwrap(), payloads)
}

fn rebuild(skeleton: &Skeleton, payloads: &HashMap<String, Vec<u8>>) -> Result<Vec<u8>, SkeletonError> {
    let mut out = Vec::new();
    skeleton.rebuild(&mut |payload| Ok(&payloads[&payload.key][..]), &mut out).map(|()| out)
}

fn fixtures() -> impl Iterator<Item = std::path::PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "pt"))
}

#[test]
fn every_fixture_comes_back_byte_for_byte() {
    for path in fixtures() {
        let (skeleton, payloads) = scan(&path);
        let skeleton = Skeleton::from_bytes(&skeleton.to_bytes()).unwrap();
        let original = std::fs::read(&path).unwrap();
        assert!(rebuild(&skeleton, &payloads).unwrap() == original, "{}", path.display());
        assert!(!payloads.is_empty(), "{}", path.display());
    }
}

fn one() -> (Skeleton, HashMap<String, Vec<u8>>) {
    scan(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/layouts.pt"))
}

#[test]
fn a_wrong_payload_is_found() {
    let (skeleton, payloads) = one();
    let changed = |change: fn(&mut Vec<u8>)| {
        let mut payloads = payloads.clone();
        change(payloads.get_mut("0").unwrap());
        rebuild(&skeleton, &payloads).unwrap_err().to_string()
    };
    assert!(changed(|bytes| bytes[5] ^= 1).contains("do not use it"));
    assert!(changed(|bytes| bytes.push(0)).contains("more bytes"));
    assert!(changed(|bytes| bytes.truncate(bytes.len() - 1)).contains("fewer bytes"));
}

#[test]
fn what_fails_is_named() {
    let (skeleton, payloads) = one();
    let mut open = |_: &Payload| Err::<&[u8], _>(std::io::Error::other("the disk is gone"));
    let error = skeleton.rebuild(&mut open, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("payload `0`") && error.to_string().contains("the disk is gone"), "{error}");
    let mut full: &mut [u8] = &mut [0; 100];
    let error = skeleton.rebuild(&mut |payload| Ok(&payloads[&payload.key][..]), &mut full).unwrap_err();
    assert!(matches!(error, SkeletonError::Write(_)), "{error}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/layouts.pt");
    let error = Skeleton::scan(&path, &mut |_, _| Err(std::io::Error::other("full"))).unwrap_err();
    assert!(matches!(error, SkeletonError::Sink { .. }), "{error}");
    let (_dir, path) = testing::file(b"no file of torch");
    assert!(matches!(Skeleton::of(&path), Err(SkeletonError::Capture(_))));
}

#[test]
fn a_skeleton_that_contradicts_itself_is_refused() {
    let header = |bytes: u64, payloads: &str| {
        let blake3 = "0".repeat(64);
        format!(r#"{{"format":"plimsoll.skeleton/1","bytes":{bytes},"blake3":"{blake3}","payloads":[{payloads}]}}"#)
    };
    let read = |header: String, verbatim: &[u8]| {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(verbatim);
        Skeleton::from_bytes(&bytes)
    };
    let one = r#"{"key":"0","offset":1,"bytes":2}"#;
    assert!(read(header(4, one), b"ab").is_ok());
    for (header, what) in [
        (header(5, one), "not as many as its header says"),
        (header(2, one), "beyond the file"),
        (header(6, &format!("{one},{one}")), "overlap"),
        (header(2, r#"{"key":"0","offset":1,"bytes":0}"#), "empty"),
        (header(4, r#"{"key":"0","offset":18446744073709551615,"bytes":2}"#), "2^64"),
        (header(4, one).replace("skeleton/1", "skeleton/2"), "format"),
        (header(4, one).replace("000000", "00000g"), "digest"),
        (header(4, one).replace("key", "name"), "unknown field"),
    ] {
        let error = read(header, b"ab").unwrap_err().to_string();
        assert!(error.contains(what), "{error} and not {what}");
    }
    assert!(Skeleton::from_bytes(&u64::MAX.to_le_bytes()).is_err());
    assert!(Skeleton::from_bytes(b"short").is_err());
}

proptest! {
    /// Whatever bytes are around the payloads and wherever they are, the parts restore the whole.
    #[test]
    fn parts_give_the_whole(parts in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..40), prop::collection::vec(any::<u8>(), 1..40)), 0..6), tail in prop::collection::vec(any::<u8>(), 0..40)) {
        let (mut whole, mut verbatim, mut payloads, mut contents) = (Vec::new(), Vec::new(), Vec::new(), HashMap::new());
        for (index, (before, content)) in parts.into_iter().enumerate() {
            verbatim.extend_from_slice(&before);
            whole.extend(before);
            payloads.push(Payload {
                key: index.to_string(),
                offset: whole.len() as u64,
                bytes: ByteSize::new(content.len() as u64),
            });
            whole.extend_from_slice(&content);
            contents.insert(index.to_string(), content);
        }
        verbatim.extend_from_slice(&tail);
        whole.extend(tail);
        let blake3 = blake3::hash(&whole).to_hex().to_string();
        let header = Header { format: format::NAME.to_owned(), bytes: ByteSize::new(whole.len() as u64), blake3, payloads };
        let skeleton = Skeleton { header, verbatim };
        prop_assert_eq!(&Skeleton::from_bytes(&skeleton.to_bytes()).unwrap(), &skeleton);
        prop_assert_eq!(rebuild(&skeleton, &contents).unwrap(), whole);
    }

    #[test]
    fn any_bytes_are_a_skeleton_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let _ = Skeleton::from_bytes(&bytes);
        let mut real = one().0.to_bytes();
        for (index, flip) in flips {
            let at = index.index(real.len());
            real[at] ^= flip;
        }
        if let Ok(skeleton) = Skeleton::from_bytes(&real) {
            let _ = skeleton.rebuild(&mut |payload| Ok(std::io::repeat(0).take(payload.bytes.bytes().min(1 << 20))), &mut std::io::sink());
        }
    }
}
