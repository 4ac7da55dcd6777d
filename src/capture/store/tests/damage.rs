//! Tests of stores that are damaged, forged, or in use.

use std::fs::File;
use std::time::{Duration, SystemTime};

use super::super::super::{Capture, Entry, TorchFile};
use super::*;

/// Changes a file that is not writable, in place.
fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_flipped_bit_in_any_object_is_found_with_the_entries_that_it_hurts() {
    let (_dir, folder, store) = scene(4);
    pack(&store, &folder, &PackOptions::default());
    let mut hurt = std::collections::BTreeMap::new();
    for path in objects(&store) {
        let good = fs::read(&path).unwrap();
        for at in [0, good.len() / 2, good.len() - 1] {
            flip(&path, at);
            let report = store.verify(&VerifyOptions::default()).unwrap();
            let id = path.file_name().unwrap().to_str().unwrap();
            let named = report.problems.iter().any(|problem| problem.message.contains(id));
            assert!(named, "{} {:?}", path.display(), report.problems);
            let entries: std::collections::BTreeSet<_> =
                report.problems.iter().flat_map(|p| p.entries.clone()).collect();
            assert!(!entries.is_empty());
            hurt.insert(id.to_owned(), entries.len());
            fs::remove_file(&path).unwrap();
            fs::write(&path, &good).unwrap();
        }
    }
    assert_eq!(hurt.values().filter(|&&count| count == 2).count(), 2, "each table hurts its two entries: {hurt:?}");
    assert!(store.verify(&VerifyOptions::default()).unwrap().holds());
}

#[test]
fn kernels_are_not_given_damaged_objects() {
    let (_dir, folder, store) = scene(2);
    pack(&store, &folder, &PackOptions::default());
    let entry = Capture::open(store.path()).unwrap().entry(0).unwrap();
    let largest = entry.objects().iter().max_by_key(|object| object.stored).unwrap().clone();
    let mut once = ObjectVerifier::new(VerifyObjects::Once);
    once.verify(&entry).unwrap();
    flip(&largest.path, 1000);
    for mut verifier in [once, ObjectVerifier::new(VerifyObjects::Once), ObjectVerifier::new(VerifyObjects::Always)] {
        let error = verifier.verify(&entry).unwrap_err().to_string();
        assert!(error.contains(&largest.id.to_string()) && error.contains("damaged"), "{error}");
        assert!(error.contains("entry_000000.pt"), "{error}");
    }
    ObjectVerifier::new(VerifyObjects::Never).verify(&entry).unwrap();
    fs::remove_file(&largest.path).unwrap();
    let error = Entry::open(entry.path()).unwrap_err().to_string();
    assert!(error.contains("is missing"), "{error}");
}

#[test]
fn what_was_verified_is_remembered_and_believed_only_of_the_same_file() {
    let (_dir, folder, store) = scene(2);
    pack(&store, &folder, &PackOptions::default());
    let entry = Capture::open(store.path()).unwrap().entry(0).unwrap();
    let table = entry.objects().iter().max_by_key(|object| object.stored).unwrap().clone();
    let mut verifier = ObjectVerifier::new(VerifyObjects::Once);
    verifier.verify(&entry).unwrap();
    verifier.remember();
    let file = store.places.verified();
    // Holds unless this took seconds on a busy machine, which the object's own time of change shows.
    let settled = table.stamp().unwrap().changed_before(SystemTime::now(), Duration::from_secs(2));
    assert!(
        settled || !file.exists(),
        "the objects were written a moment ago, and may change within the tick of a clock"
    );

    // A line that claims that a damaged object was verified is believed: the file is trusted as much as the objects
    // are.
    flip(&table.path, 1000);
    let remember = || {
        let mut remembered = remembered::Remembered::default();
        remembered.add(table.id, table.stamp().unwrap(), SystemTime::now() + Duration::from_secs(60));
        remembered.write(&store.places);
        assert!(file.exists());
    };
    let verify = |mode| ObjectVerifier::new(mode).verify(&entry);
    remember();
    verify(VerifyObjects::Once).unwrap();
    assert!(verify(VerifyObjects::Always).is_err());
    // A change that restores the old modification time is seen by the time of the change.
    let modified = table.path.metadata().unwrap().modified().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    File::open(&table.path).unwrap().set_modified(modified).unwrap();
    assert!(verify(VerifyObjects::Once).is_err());

    // A file that is malformed or cannot be written costs only time.
    let good = fs::read_to_string(&file).unwrap();
    for content in ["", "plimsoll.verified/2\n", &good[..good.len() - 2], "\u{0}"] {
        fs::write(&file, content).unwrap();
        assert!(verify(VerifyObjects::Once).is_err());
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(verify(VerifyObjects::Once).is_err());
    ObjectVerifier::new(VerifyObjects::Once).remember();
    fs::remove_dir(&file).unwrap();
    remember();
    fs::remove_dir_all(store.path().join("captures/embedding")).unwrap();
    store.collect_garbage().unwrap();
    assert!(Store::open(store.path()).is_ok() && store.verify(&VerifyOptions::default()).unwrap().holds());
}

#[test]
fn garbage_is_not_collected_while_something_is_packed_or_a_recipe_is_unknown() {
    let (_dir, folder, store) = scene(2);
    pack(&store, &folder, &PackOptions::default());
    let lock = store.lock_to_write().unwrap();
    assert!(matches!(store.collect_garbage(), Err(StoreError::InUse { .. })));
    drop(lock);
    let id = store.recipe_of(&store.entries().unwrap()[0]).unwrap().unwrap();
    flip(&store.places.object(id), 3);
    let before = objects(&store);
    assert!(store.collect_garbage().is_err());
    assert_eq!(objects(&store), before);
}

#[test]
fn a_move_deletes_what_the_store_gives_back() {
    let (dir, folder, store) = scene(4);
    let copy = dir.path().join("copy");
    fs::create_dir(&copy).unwrap();
    for path in files(&folder) {
        fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
    }
    let options = || PackOptions { remove_originals: true, ..PackOptions::default() };
    let report = pack(&store, &folder, &options());
    assert!(report.entries.iter().all(|entry| entry.removed) && files(&folder).is_empty());
    assert!(store.verify(&VerifyOptions { against: Some(&copy), ..VerifyOptions::default() }).unwrap().holds());

    // A store whose object is damaged does not give the file back: the original stays.
    let table = objects(&store).into_iter().max_by_key(|path| path.metadata().unwrap().len()).unwrap();
    flip(&table, 12345);
    let report = store.pack(&copy, &PackOptions { name: Some("embedding".into()), ..options() }).unwrap();
    let kept = files(&copy);
    assert!(kept.len() == 2 && report.errors.len() == 2, "{kept:?} {:?}", report.errors);
    assert!(report.errors.iter().all(|error| matches!(error, StoreError::Digest { .. })), "{:?}", report.errors);
}

#[test]
fn a_damaged_object_of_another_size_is_written_again() {
    let (_dir, folder, store) = scene(2);
    pack(&store, &folder, &PackOptions::default());
    let table = objects(&store).into_iter().max_by_key(|path| path.metadata().unwrap().len()).unwrap();
    fs::remove_file(&table).unwrap();
    fs::write(&table, "short").unwrap();
    assert!(!store.verify(&VerifyOptions::default()).unwrap().holds());
    pack(&store, &folder, &PackOptions::default());
    assert!(store.verify(&VerifyOptions { against: Some(&folder), ..VerifyOptions::default() }).unwrap().holds());
}

/// A store with one entry whose recipe is an honest one, changed by `change`.
fn forged(change: impl FnOnce(String) -> String) -> Result<(), String> {
    let (_dir, folder, store) = scene(1);
    pack(&store, &folder, &PackOptions::default());
    let name = store.entries().unwrap().remove(0);
    let (_, recipe) = store.read_recipe(&name).unwrap().unwrap();
    let text = String::from_utf8(recipe.to_bytes()).unwrap();
    let changed = change(text.clone());
    assert_ne!(changed, text);
    let id = ObjectId::from(blake3::hash(changed.as_bytes()));
    fs::create_dir_all(store.places.object_folder(id)).unwrap();
    fs::write(store.places.object(id), changed).unwrap();
    let reference = store.reference(&name);
    fs::write(&reference, reference::write(id)).unwrap();
    let opened = TorchFile::open(&reference).map_err(|error| error.to_string());
    let verified = store.verify(&VerifyOptions::default()).unwrap();
    assert_eq!(opened.is_err(), !verified.holds(), "{opened:?} {:?}", verified.problems);
    let out = folder.join("out");
    match store.unpack(&out, &UnpackOptions::default()) {
        Ok(report) => assert_eq!(opened.is_err(), !report.errors.is_empty()),
        Err(error) => assert!(opened.is_err(), "{error}"),
    }
    opened.map(drop)
}

#[test]
fn hostile_recipes_are_typed_errors() {
    let object = |text: &str| text.split("\"object\":\"").nth(1).unwrap()[..64].to_owned();
    let skeleton = |text: &str| text.split("\"skeleton\":\"").nth(1).unwrap()[..64].to_owned();
    type Change = fn(String, &dyn Fn(&str) -> String) -> String;
    let cases: [(Change, &str); 7] = [
        (|text, id| text.replace(&id(&text), "../../../../../../etc/passwd"), "is not a digest"),
        (|text, id| text.replace(&id(&text), &"0".repeat(64)), "is missing"),
        (|text, _| text.replacen("\"at\":0", "\"at\":9223372036854775000", 1), "2^63"),
        (|text, _| text.replace("\"at\":0", "\"at\":8"), "but the recipe needs"),
        (|text, _| text.replacen("\"bytes\":", "\"bytes\":9", 1), "skeleton of another file"),
        (|text, _| text.replacen("\"key\":\"0\"", "\"key\":\"1\"", 1), "differ from those"),
        (|text, _| text.replacen("\"format\"", "\"format\":\"plimsoll.recipe/1\",\"format\"", 1), "duplicate field"),
    ];
    for (change, what) in cases {
        let error = forged(|text| change(text, &object)).unwrap_err();
        assert!(error.contains(what), "{error} and not {what}");
    }
    // The object of a storage, which might hold anything, in place of a skeleton.
    let error = forged(|text| text.replace(&skeleton(&text), &object(&text))).unwrap_err();
    assert!(error.contains("skeleton"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Flipped bytes anywhere in references, recipes and skeletons are found or change nothing.
    #[test]
    fn mutated_parts_never_panic(at in any::<prop::sample::Index>(), which in any::<prop::sample::Index>(), flip in 1u8..) {
        let (_dir, folder, store) = scene(1);
        pack(&store, &folder, &PackOptions::default());
        let name = store.entries().unwrap().remove(0);
        let (id, recipe) = store.read_recipe(&name).unwrap().unwrap();
        let parts = [store.reference(&name), store.places.object(id), store.places.object(recipe.skeleton)];
        let path = which.get(&parts);
        let mut bytes = fs::read(path).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        fs::remove_file(path).unwrap();
        fs::write(path, bytes).unwrap();
        prop_assert!(TorchFile::open(&parts[0]).is_err());
        prop_assert!(!store.verify(&VerifyOptions::default()).unwrap().holds());
        let _ = store.survey();
        let _ = store.collect_garbage();
    }
}
