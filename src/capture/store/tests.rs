mod damage;
mod hostile;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::super::strategies::captures;
use super::super::{Capture, Entry, TorchFile, synthesize};
use super::*;

/// A small capture in a folder `embedding`, and a store beside it.
fn scene(entries: u64) -> (tempfile::TempDir, PathBuf, Store) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("embedding");
    synthesize::gemma4_e2b_gb10().scale(1, 1536).entries(entries).write(&folder).unwrap();
    let store = Store::create(&dir.path().join("store")).unwrap();
    (dir, folder, store)
}

fn pack(store: &Store, folder: &Path, options: &PackOptions<'_>) -> PackReport {
    let report = store.pack(folder, options).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    report
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()).collect();
    files.sort();
    files
}

/// Asserts that every file of one folder is in the other, with the same bytes and modification time.
fn assert_same(a: &Path, b: &Path) {
    assert_eq!(files(a).len(), files(b).len());
    for path in files(a) {
        let other = b.join(path.file_name().unwrap());
        assert!(fs::read(&path).unwrap() == fs::read(&other).unwrap(), "{}", path.display());
        let time = |path: &Path| path.metadata().map(|found| (found.mtime(), found.mtime_nsec())).unwrap();
        assert_eq!(time(&path), time(&other), "{}", path.display());
    }
}

fn objects(store: &Store) -> Vec<PathBuf> {
    files(&store.places.objects()).iter().flat_map(|folder| files(folder)).collect()
}

#[test]
fn a_table_that_ten_entries_share_is_stored_once() {
    let (dir, folder, store) = scene(20);
    let report = pack(&store, &folder, &PackOptions::default());
    let capture = Capture::open(&folder).unwrap();
    let sizes = |index: usize| capture.entry(index).unwrap().storages().iter().map(|s| s.bytes().bytes()).sum::<u64>();
    let tables: u64 =
        (0..2).map(|i| capture.entry(i).unwrap().storages().iter().map(|s| s.bytes().bytes()).max().unwrap()).sum();
    let rest: u64 = (0..20)
        .map(|i| sizes(i) - capture.entry(i).unwrap().storages().iter().map(|s| s.bytes().bytes()).max().unwrap())
        .sum();
    // Skeletons and recipes take some thousand bytes per entry.
    let bound = tables + rest + 20 * 5000;
    assert!((tables..bound).contains(&report.added().bytes()), "{} and {bound}", report.added().bytes());
    let out = dir.path().join("out");
    let unpacked = store.unpack(&out, &UnpackOptions::default()).unwrap();
    assert!(unpacked.errors.is_empty() && unpacked.files.len() == 20);
    assert_same(&folder, &out);
    let verified = store.verify(&VerifyOptions { against: Some(&folder), ..VerifyOptions::default() }).unwrap();
    assert!(verified.holds(), "{:?}", verified.problems);
    assert_eq!((verified.entries, verified.compared), (20, Some(20)));
}

#[test]
fn a_copy_that_differs_does_not_accuse_the_store() {
    let (dir, folder, store) = scene(1);
    store.pack(&folder, &PackOptions::default()).unwrap();
    let copy = dir.path().join("copy");
    fs::create_dir(&copy).unwrap();
    let entry = fs::read_dir(&folder).unwrap().next().unwrap().unwrap();
    let mut bytes = fs::read(entry.path()).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(copy.join(entry.file_name()), bytes).unwrap();
    let verified = store.verify(&VerifyOptions { against: Some(&copy), ..VerifyOptions::default() }).unwrap();
    let [problem] = verified.problems.as_slice() else { panic!("{:?}", verified.problems) };
    assert!(problem.message.contains("`plimsoll unpack` restores that one"), "{}", problem.message);
    assert!(problem.message.starts_with(copy.to_str().unwrap()), "{}", problem.message);
}

#[test]
fn packing_again_adds_nothing() {
    let (_dir, folder, store) = scene(4);
    pack(&store, &folder, &PackOptions::default());
    let before = objects(&store);
    let again = pack(&store, &folder, &PackOptions::default());
    assert_eq!(again.added().bytes(), 0);
    assert!(again.entries.iter().all(|entry| entry.status == PackStatus::Unchanged));
    assert_eq!(objects(&store), before);
    let named = pack(&store, &folder, &PackOptions { name: Some("again".into()), ..PackOptions::default() });
    assert_eq!(named.added().bytes(), 0, "the same files under another name are the same recipes");
}

#[test]
fn entries_of_a_store_read_like_the_files() {
    let (_dir, folder, store) = scene(4);
    pack(&store, &folder, &PackOptions::default());
    let (plain, packed) = (Capture::open(&folder).unwrap(), Capture::open(store.path()).unwrap());
    assert!(packed.is_in_store() && !plain.is_in_store());
    assert_eq!((plain.names(), plain.function_name()), (packed.names(), packed.function_name()));
    for (a, b) in plain.entries().zip(packed.entries()) {
        let (a, b) = (a.unwrap(), b.unwrap());
        assert_eq!(
            (a.name(), a.file_size(), a.args(), a.kwargs(), a.output()),
            (b.name(), b.file_size(), b.args(), b.kwargs(), b.output())
        );
        for digest in [super::super::Digest::Skeleton, super::super::Digest::Full] {
            assert_eq!(a.identity(digest).unwrap(), b.identity(digest).unwrap());
        }
        let (x, y) = (a.map().unwrap(), b.map().unwrap());
        for (index, storage) in a.storages().iter().enumerate() {
            assert_eq!(storage.bytes(), b.storages()[index].bytes());
            assert!(x.storage(index).unwrap() == y.storage(index).unwrap());
            y.verify_storage(index).unwrap();
            assert_eq!(y.storage(index).unwrap().as_ptr() as usize % 64, 0, "as aligned as in the file");
        }
        y.intact().unwrap();
        assert_eq!(
            TorchFile::open(a.path()).unwrap().verify().unwrap(),
            TorchFile::open(b.path()).unwrap().verify().unwrap()
        );
    }
}

#[test]
fn entries_that_share_a_storage_share_its_identity() {
    let (_dir, folder, store) = scene(4);
    pack(&store, &folder, &PackOptions::default());
    let storages = |path: &Path| {
        let capture = Capture::open(path).unwrap();
        let all: Vec<_> = capture.entries().flat_map(|entry| entry.unwrap().residency().storages).collect();
        let distinct: std::collections::HashSet<_> = all.iter().cloned().collect();
        (all.len(), distinct.len())
    };
    assert_eq!(storages(&folder), (8, 8));
    let (all, distinct) = storages(store.path());
    assert_eq!((all, distinct), (8, 6), "two tables, four indices");
}

#[test]
fn every_fixture_comes_back_and_reads_as_it_did() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("fixtures");
    fs::create_dir(&folder).unwrap();
    for path in files(&fixtures).iter().filter(|path| path.extension().is_some_and(|e| e == "pt")) {
        let name = path.file_name().unwrap().to_str().unwrap();
        fs::copy(path, folder.join(format!("entry_{name}"))).unwrap();
    }
    for compress in [false, true] {
        let store = Store::create(&dir.path().join(format!("store-{compress}"))).unwrap();
        pack(&store, &folder, &PackOptions { compress, ..PackOptions::default() });
        let out = dir.path().join(format!("out-{compress}"));
        store.unpack(&out, &UnpackOptions::default()).unwrap();
        for path in files(&folder) {
            let name = path.file_name().unwrap();
            assert!(fs::read(&path).unwrap() == fs::read(out.join(name)).unwrap(), "{name:?}");
            let packed = store.reference(&EntryName { capture: "fixtures".into(), entry: name.into() });
            let (a, b) = (TorchFile::open(&path).unwrap(), TorchFile::open(&packed).unwrap());
            let (x, y) = (a.map().unwrap(), b.map().unwrap());
            assert_eq!(a.storages().len(), b.storages().len());
            for index in 0..a.storages().len() {
                assert!(x.read_storage(index).unwrap() == y.read_storage(index).unwrap(), "{name:?} {index}");
            }
            assert_eq!(a.verify().unwrap(), b.verify().unwrap());
        }
    }
}

#[test]
fn what_compresses_is_compressed_where_that_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("zeros");
    // The tables repeat a single row.
    synthesize::embedding(4096, 64, 16, super::super::Dtype::F32).entries(2).write(&folder).unwrap();
    let store = Store::create(&dir.path().join("store")).unwrap();
    let plain = pack(&store, &folder, &PackOptions::default()).added();
    let other = Store::create(&dir.path().join("other")).unwrap();
    let small = pack(&other, &folder, &PackOptions { compress: true, ..PackOptions::default() }).added();
    let survey = other.survey().unwrap();
    assert_eq!(survey.compressed > 0, small < plain, "{small} and {plain}");
    assert!(other.verify(&VerifyOptions::default()).unwrap().holds());
    let entry = |store: &Store| Capture::open(store.path()).unwrap().entry(0).unwrap();
    let (a, b) = (entry(&store), entry(&other));
    let (x, y) = (a.map().unwrap(), b.map().unwrap());
    for index in 0..a.storages().len() {
        assert!(x.storage(index).unwrap() == y.storage(index).unwrap());
    }
    assert_eq!(a.identity(super::super::Digest::Full).unwrap(), b.identity(super::super::Digest::Full).unwrap());
}

#[test]
fn an_entry_of_other_content_replaces_none_unasked() {
    let (dir, folder, store) = scene(2);
    pack(&store, &folder, &PackOptions::default());
    let other = dir.path().join("other");
    synthesize::gemma4_e2b_gb10().scale(1, 1536).entries(2).seed(7).write(&other).unwrap();
    let options = || PackOptions { name: Some("embedding".into()), ..PackOptions::default() };
    let report = store.pack(&other, &options()).unwrap();
    assert_eq!((report.entries.len(), report.errors.len()), (0, 2));
    assert!(report.errors[0].to_string().contains("embedding/entry_000000.pt"), "{}", report.errors[0]);
    assert!(store.verify(&VerifyOptions { against: Some(&folder), ..VerifyOptions::default() }).unwrap().holds());
    let report = pack(&store, &other, &PackOptions { replace: true, ..options() });
    assert!(report.entries.iter().all(|entry| entry.status == PackStatus::Replaced));
    assert!(store.verify(&VerifyOptions { against: Some(&other), ..VerifyOptions::default() }).unwrap().holds());
    let garbage = store.collect_garbage().unwrap();
    assert!(garbage.objects >= 2 && garbage.bytes.bytes() > 0, "{garbage:?}");
    assert!(store.verify(&VerifyOptions { against: Some(&other), ..VerifyOptions::default() }).unwrap().holds());
    assert_eq!(store.collect_garbage().unwrap(), Garbage::default());
}

#[test]
fn garbage_is_what_no_reference_leads_to() {
    let (_dir, folder, store) = scene(4);
    pack(&store, &folder, &PackOptions::default());
    fs::remove_file(store.path().join("captures/embedding/entry_000001.pt")).unwrap();
    fs::write(store.path().join("tmp/object-left"), "half").unwrap();
    fs::create_dir(store.path().join("tmp/capture-left")).unwrap();
    fs::write(store.path().join("tmp/capture-left/object"), "half").unwrap();
    let survey = store.survey().unwrap();
    let garbage = store.collect_garbage().unwrap();
    assert_eq!((garbage.objects, garbage.unfinished), (survey.unneeded, 2));
    assert!(files(&store.places.incoming()).is_empty());
    let left = store.verify(&VerifyOptions::default()).unwrap();
    assert!(left.holds() && left.entries == 3, "the table of entry 1 is that of entry 3: {:?}", left.problems);
    fs::remove_dir_all(store.path().join("captures/embedding")).unwrap();
    store.collect_garbage().unwrap();
    assert!(objects(&store).is_empty());
}

#[test]
fn unpacking_replaces_nothing() {
    let (dir, folder, store) = scene(3);
    pack(&store, &folder, &PackOptions::default());
    let out = dir.path().join("out");
    let one = UnpackOptions { entries: vec!["embedding/entry_000001.pt".into()], ..UnpackOptions::default() };
    assert_eq!(store.unpack(&out, &one).unwrap().files.len(), 1);
    fs::write(out.join("entry_000002.pt"), "mine").unwrap();
    let report = store.unpack(&out, &UnpackOptions::default()).unwrap();
    assert_eq!(report.files.iter().map(|file| file.was_there).collect::<Vec<_>>(), [false, true]);
    assert!(matches!(&report.errors[..], [StoreError::Exists { .. }]), "{:?}", report.errors);
    assert_eq!(fs::read(out.join("entry_000002.pt")).unwrap(), b"mine");
    let none = UnpackOptions { entries: vec!["../../x".into()], ..UnpackOptions::default() };
    assert!(matches!(store.unpack(&out, &none), Err(StoreError::NoSuch { .. })));
}

#[test]
fn what_an_unpack_that_was_killed_left_is_removed_by_the_next() {
    let (dir, folder, store) = scene(2);
    pack(&store, &folder, &PackOptions::default());
    pack(&store, &folder, &PackOptions { name: Some("other".into()), ..PackOptions::default() });
    let out = dir.path().join("out");
    for capture in ["embedding", "other"] {
        fs::create_dir_all(out.join(capture)).unwrap();
        fs::write(out.join(capture).join(".plimsoll-Ab12xY"), "half").unwrap();
    }
    store.unpack(&out, &UnpackOptions::default()).unwrap();
    assert_same(&folder, &out.join("embedding"));
    assert_same(&folder, &out.join("other"));
}

#[test]
fn captures_of_several_operators_share_a_store() {
    let (dir, folder, store) = scene(2);
    pack(&store, &folder, &PackOptions::default());
    pack(&store, &folder, &PackOptions { name: Some("other".into()), ..PackOptions::default() });
    let error = Capture::open(store.path()).unwrap_err().to_string();
    assert!(error.contains("2 captures (embedding, other)") && error.contains("STORE/captures/NAME"), "{error}");
    let capture = Capture::open(&store.path().join("captures/other")).unwrap();
    assert_eq!(capture.len(), 2);
    let single = Capture::open(&store.path().join("captures/other/entry_000001.pt")).unwrap();
    assert!(single.is_in_store() && single.len() == 1);
    let out = dir.path().join("out");
    store.unpack(&out, &UnpackOptions::default()).unwrap();
    assert_same(&folder, &out.join("embedding"));
    assert_same(&folder, &out.join("other"));
    let link = dir.path().join("entry_link.pt");
    std::os::unix::fs::symlink(single.path(), &link).unwrap();
    assert!(Entry::open(&link).unwrap().is_packed(), "a link to an entry is that entry");
    let moved = dir.path().join("entry_000000.pt");
    fs::copy(single.path(), &moved).unwrap();
    let error = Entry::open(&moved).unwrap_err().to_string();
    assert!(error.contains("is not a store"), "{error}");
}

#[test]
fn names_are_names_and_folders_of_other_things_are_no_stores() {
    let (dir, folder, store) = scene(1);
    for name in ["..", ".", "a/b", "", "a\nb"] {
        let options = PackOptions { name: Some(name.into()), ..PackOptions::default() };
        assert!(matches!(store.pack(&folder, &options), Err(StoreError::Name { .. })), "{name:?}");
    }
    assert!(matches!(Store::create(&folder), Err(StoreError::NotEmpty { .. })));
    assert!(matches!(Store::open(&folder), Err(StoreError::NoStore { .. })));
    assert!(matches!(store.pack(dir.path(), &PackOptions::default()), Err(StoreError::NoEntries { .. })));
    fs::write(store.places.marker(), r#"{"format": "plimsoll.store/2"}"#).unwrap();
    assert!(matches!(Store::open(store.path()), Err(StoreError::Format { found, .. }) if found == "plimsoll.store/2"));
}

#[test]
fn a_malformed_file_costs_the_others_nothing() {
    let (_dir, folder, store) = scene(2);
    fs::write(folder.join("entry_000000.pt"), "no file of torch.save").unwrap();
    fs::write(folder.join("notes.txt"), "left alone").unwrap();
    let report = store.pack(&folder, &PackOptions::default()).unwrap();
    assert_eq!((report.entries.len(), report.errors.len(), &report.others[..]), (1, 1, &["notes.txt".to_owned()][..]));
    assert!(store.verify(&VerifyOptions::default()).unwrap().holds());
}

#[test]
fn several_packers_of_one_store_agree() {
    let (dir, folder, store) = scene(6);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (store, folder) = (&store, &folder);
            scope.spawn(move || {
                let name = Some(if number % 2 == 0 { "same".into() } else { format!("own-{number}").into() });
                pack(store, folder, &PackOptions { name, ..PackOptions::default() });
            });
        }
    });
    assert_eq!(store.captures().unwrap(), ["own-1", "own-3", "same"]);
    let verified = store.verify(&VerifyOptions::default()).unwrap();
    assert!(verified.holds() && verified.entries == 18, "{:?}", verified.problems);
    let out = dir.path().join("out");
    store.unpack(&out, &UnpackOptions { entries: vec!["same".into()], ..UnpackOptions::default() }).unwrap();
    assert_same(&folder, &out);
}

#[test]
fn a_packer_that_is_stopped_leaves_nothing_half_done() {
    let (_dir, folder, store) = scene(4);
    let cancel = std::sync::atomic::AtomicBool::new(false);
    let seen = std::sync::atomic::AtomicU64::new(0);
    let progress = |bytes: plimsoll_memory::ByteSize| {
        let before = seen.fetch_add(bytes.bytes(), std::sync::atomic::Ordering::Relaxed);
        cancel.store(before > 1_000_000, std::sync::atomic::Ordering::Relaxed);
    };
    let options = PackOptions { cancel: &cancel, progress: &progress, ..PackOptions::default() };
    assert!(matches!(store.pack(&folder, &options), Err(StoreError::Cancelled)));
    assert!(files(&store.places.incoming()).is_empty());
    assert!(store.verify(&VerifyOptions::default()).unwrap().holds());
    pack(&store, &folder, &PackOptions::default());
    assert!(store.verify(&VerifyOptions { against: Some(&folder), ..VerifyOptions::default() }).unwrap().holds());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_capture_comes_back_byte_for_byte(capture in captures(3), compress: bool) {
        let folder = capture.write().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(&dir.path().join("store")).unwrap();
        let options = PackOptions { name: Some("any".into()), compress, ..PackOptions::default() };
        let report = store.pack(folder.path(), &options).unwrap();
        prop_assert!(report.errors.is_empty(), "{:?}", report.errors);
        let out = dir.path().join("out");
        store.unpack(&out, &UnpackOptions::default()).unwrap();
        assert_same(folder.path(), &out);
        prop_assert!(store.verify(&VerifyOptions::default()).unwrap().holds());
        for path in files(folder.path()) {
            let name = EntryName { capture: "any".into(), entry: path.file_name().unwrap().into() };
            let (a, b) = (Entry::open(&path).unwrap(), Entry::open(&store.reference(&name)).unwrap());
            prop_assert_eq!((a.args(), a.kwargs(), a.output()), (b.args(), b.kwargs(), b.output()));
            let (x, y) = (a.map().unwrap(), b.map().unwrap());
            for index in 0..a.storages().len() {
                prop_assert!(x.storage(index).unwrap() == y.storage(index).unwrap());
            }
        }
    }
}
