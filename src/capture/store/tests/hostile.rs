//! Tests of stores that cannot be read in full, and of stores from a stranger.

use std::os::unix::fs::{PermissionsExt, chown, symlink};

use super::super::super::TorchFile;
use super::*;

/// Does `work` in a thread of its own, as a user to whom permissions apply.
fn unprivileged<T: Send>(dir: &Path, work: impl FnOnce() -> T + Send) -> T {
    const NOBODY: u32 = 65534;
    if !rustix::process::geteuid().is_root() {
        return work();
    }
    fn give(path: &Path) {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        if path.is_dir() {
            files(path).iter().for_each(|path| give(path));
        }
    }
    give(dir);
    std::thread::scope(|scope| {
        let lowered = scope.spawn(|| {
            let user = rustix::process::Uid::from_raw(NOBODY);
            // Only this thread changes its user, and it ends with the work.
            rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            work()
        });
        lowered.join().unwrap()
    })
}

#[test]
fn garbage_is_not_collected_while_a_capture_cannot_be_seen() {
    let (dir, folder, store) = scene(2);
    pack(&store, &folder, &PackOptions::default());
    let before = objects(&store);
    let capture = store.places.capture("embedding".as_ref());
    for mode in [0o644, 0o444, 0o000] {
        let allow = |mode| fs::set_permissions(&capture, fs::Permissions::from_mode(mode)).unwrap();
        allow(0o755);
        let found = unprivileged(dir.path(), || {
            allow(mode);
            let found = (store.collect_garbage(), store.survey(), store.verify(&VerifyOptions::default()));
            allow(0o755);
            found
        });
        for error in [found.0.map(drop).unwrap_err(), found.1.map(drop).unwrap_err()] {
            assert!(error.to_string().contains("captures/embedding"), "{mode:o}: {error}");
        }
        assert!(found.2.is_err() || found.2.is_ok_and(|report| !report.holds()), "{mode:o}");
        assert_eq!(objects(&store), before, "{mode:o}");
    }
}

#[test]
fn garbage_is_not_collected_while_entries_may_be_hidden() {
    let (_dir, folder, store) = scene(2);
    pack(&store, &folder, &PackOptions::default());
    let before = objects(&store);
    let capture = store.places.capture("embedding".as_ref());
    let (entry, deeper) = (capture.join("entry_000000.pt"), capture.join("deeper"));
    let refused = |hidden: &Path| {
        let found = store.collect_garbage();
        assert!(matches!(&found, Err(StoreError::Hidden { path }) if path == hidden), "{found:?} {}", hidden.display());
        assert_eq!(objects(&store), before);
    };
    fs::create_dir(&deeper).unwrap();
    fs::rename(&entry, deeper.join("entry_000000.pt")).unwrap();
    refused(&deeper);
    fs::rename(&deeper, &entry).unwrap();
    refused(&entry);
    fs::remove_dir_all(&entry).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &entry, 0o600.into()).unwrap();
    refused(&entry);
    fs::remove_file(&entry).unwrap();
    assert!(store.collect_garbage().unwrap().objects > 0, "an entry that was removed has garbage");
}

#[test]
fn a_store_that_cannot_be_looked_at_is_not_taken_for_none() {
    let (dir, _, store) = scene(1);
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let allow = |mode| fs::set_permissions(store.path(), fs::Permissions::from_mode(mode)).unwrap();
    let found = unprivileged(dir.path(), || {
        allow(0o600);
        let found = (Store::open(store.path()), Store::create(store.path()));
        allow(0o755);
        found
    });
    assert!(matches!(found.0, Err(StoreError::Io { .. })), "{:?}", found.0);
    assert!(matches!(found.1, Err(StoreError::Io { .. })), "{:?}", found.1);
}

/// Asserts that the store's commands refuse the link `link`, name it, and remove nothing.
fn refused(store: &Store, link: &Path) {
    let before = objects(store);
    let found: [Result<(), StoreError>; 4] = [
        store.collect_garbage().map(drop),
        store.survey().map(drop),
        store.verify(&VerifyOptions::default()).map(drop),
        store.entries().map(drop),
    ];
    for found in found {
        assert!(matches!(&found, Err(StoreError::Link { path }) if path == link), "{found:?} {}", link.display());
    }
    assert_eq!(objects(store), before);
    assert!(Capture::open(store.path()).is_err());
}

#[test]
fn links_as_captures_or_entries_stop_everything() {
    let (dir, folder, store) = scene(2);
    pack(&store, &folder, &PackOptions::default());
    let capture = store.places.capture("embedding".as_ref());
    let away = dir.path().join("another-disk");
    for target in [dir.path().join("not-mounted"), away.clone()] {
        fs::rename(&capture, &away).unwrap();
        symlink(&target, &capture).unwrap();
        refused(&store, &capture);
        fs::remove_file(&capture).unwrap();
        fs::rename(&away, &capture).unwrap();
    }
    let entry = capture.join("entry_000000.pt");
    for target in [dir.path().join("not-mounted"), folder.join("entry_000000.pt")] {
        fs::remove_file(&entry).unwrap();
        symlink(&target, &entry).unwrap();
        refused(&store, &entry);
    }
}

#[test]
fn a_link_in_the_place_of_a_folder_leads_nothing_out_of_the_store() {
    for part in ["tmp", "objects", "captures"] {
        let (dir, folder, store) = scene(1);
        pack(&store, &folder, &PackOptions::default());
        fs::remove_file(store.path().join("captures/embedding/entry_000000.pt")).unwrap();
        let victim = dir.path().join("victim");
        fs::create_dir_all(victim.join("deep/embedding")).unwrap();
        fs::write(victim.join("deep/mine"), "mine").unwrap();
        let link = store.path().join(part);
        fs::rename(&link, dir.path().join("away")).unwrap();
        symlink(&victim, &link).unwrap();
        let is_link = |found: Result<(), StoreError>| {
            assert!(matches!(&found, Err(StoreError::Link { path }) if *path == link), "{part} {found:?}");
        };
        is_link(store.collect_garbage().map(drop));
        is_link(store.pack(&folder, &PackOptions::default()).map(drop));
        assert_eq!(files(&victim), [victim.join("deep")]);
        assert_eq!(files(&victim.join("deep")), [victim.join("deep/embedding"), victim.join("deep/mine")]);
    }
}

#[test]
fn a_move_of_what_lies_in_the_store_is_refused_however_it_is_named() {
    let (dir, folder, store) = scene(2);
    pack(&store, &folder, &PackOptions::default());
    let capture = store.places.capture("embedding".as_ref());
    let below = capture.join("below");
    fs::create_dir(&below).unwrap();
    fs::copy(folder.join("entry_000000.pt"), below.join("entry_000000.pt")).unwrap();
    let link = dir.path().join("link");
    symlink(&capture, &link).unwrap();
    let root = dir.path().join("root");
    symlink(store.path(), &root).unwrap();
    let other = Store::open(&root).unwrap();
    let spelled = store.path().join("objects/../captures/./embedding");
    let mut ways = vec![capture.clone(), link, root.join("captures/embedding"), spelled, below];
    // The test needs the right to mount, in a namespace of its own, which ends with its thread.
    let mounted = dir.path().join("mounted");
    fs::create_dir(&mounted).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
            // SAFETY: the namespaces of files and mounts are this thread's own from here on, and no other thread uses them.
            let apart = unsafe {
                rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::FS | rustix::thread::UnshareFlags::NEWNS)
            };
            let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
            if apart.is_ok() && mount_change("/", private).is_ok() && mount_bind(&capture, &mounted).is_ok() {
                ways.push(mounted.clone());
            }
            for way in &ways {
                for store in [&store, &other] {
                    for name in [None, Some("again".into())] {
                        let options = PackOptions { remove_originals: true, name, ..PackOptions::default() };
                        let found = store.pack(way, &options);
                        assert!(matches!(found, Err(StoreError::OfStore { .. })), "{found:?} {}", way.display());
                    }
                }
            }
        });
    });
    assert_eq!(store.entries().unwrap().len(), 2);
    // A copy under another name removes nothing, and entries of another store may be moved.
    pack(&store, &capture, &PackOptions { name: Some("again".into()), ..PackOptions::default() });
    let another = Store::create(&dir.path().join("another")).unwrap();
    pack(&another, &capture, &PackOptions { remove_originals: true, ..PackOptions::default() });
    assert!(another.verify(&VerifyOptions { against: Some(&folder), ..VerifyOptions::default() }).unwrap().holds());
}

#[test]
fn a_store_within_the_folder_that_is_packed_outlives_the_move() {
    let (dir, folder, _) = scene(2);
    let copy = dir.path().join("copy");
    pack(&Store::create(&copy).unwrap(), &folder, &PackOptions::default());
    let within = Store::create(&folder.join("entry_store.pt")).unwrap();
    pack(&within, &folder, &PackOptions { remove_originals: true, ..PackOptions::default() });
    assert_eq!(files(&folder), [within.path()]);
    let out = dir.path().join("out");
    Store::open(&copy).unwrap().unpack(&out, &UnpackOptions::default()).unwrap();
    assert!(within.verify(&VerifyOptions { against: Some(&out), ..VerifyOptions::default() }).unwrap().holds());
}

#[test]
fn garbage_that_is_a_link_is_removed_and_not_followed() {
    let (dir, _, store) = scene(1);
    fs::write(dir.path().join("mine"), "mine").unwrap();
    let left = store.places.incoming().join("capture-left");
    fs::create_dir(&left).unwrap();
    symlink(dir.path(), left.join("up")).unwrap();
    symlink(dir.path(), store.places.incoming().join("up")).unwrap();
    assert_eq!(store.collect_garbage().unwrap().unfinished, 2);
    assert!(files(&store.places.incoming()).is_empty() && dir.path().join("mine").exists());
}

#[test]
fn nothing_is_written_through_a_link_that_has_the_name_of_a_capture_or_of_objects() {
    let (dir, folder, store) = scene(1);
    let victim = dir.path().join("victim");
    fs::create_dir(&victim).unwrap();
    let capture = store.places.capture("embedding".as_ref());
    symlink(&victim, &capture).unwrap();
    let found = store.pack(&folder, &PackOptions::default());
    assert!(matches!(&found, Err(StoreError::Link { path }) if *path == capture), "{found:?}");
    fs::remove_file(&capture).unwrap();
    store.collect_garbage().unwrap();
    for fan in 0..=255u8 {
        let fan = store.places.objects().join(format!("{fan:02x}"));
        let _ = fs::remove_dir(&fan);
        symlink(&victim, fan).unwrap();
    }
    let found = store.pack(&folder, &PackOptions::default());
    assert!(found.is_err(), "{found:?}");
    assert!(files(&victim).is_empty());
}

#[test]
fn objects_locks_and_markers_that_are_links_are_not_read() {
    let (dir, folder, store) = scene(1);
    pack(&store, &folder, &PackOptions::default());
    let reference = store.reference(&store.entries().unwrap()[0]);
    let table = objects(&store).into_iter().max_by_key(|path| path.metadata().unwrap().len()).unwrap();
    let away = dir.path().join("away");
    fs::rename(&table, &away).unwrap();
    symlink(&away, &table).unwrap();
    let error = TorchFile::open(&reference).map(drop).unwrap_err().to_string();
    assert!(error.contains("symbolic link"), "{error}");
    assert!(matches!(store.collect_garbage(), Err(StoreError::Link { path }) if path == table));
    assert!(store.unpack(&dir.path().join("out"), &UnpackOptions::default()).is_ok_and(|out| out.files.is_empty()));

    let made = dir.path().join("made");
    fs::remove_file(store.places.lock()).unwrap();
    symlink(&made, store.places.lock()).unwrap();
    assert!(matches!(store.collect_garbage(), Err(StoreError::Link { path }) if path == store.places.lock()));
    assert!(!made.exists());

    fs::rename(store.places.marker(), &away).unwrap();
    symlink(&away, store.places.marker()).unwrap();
    assert!(matches!(Store::open(store.path()), Err(StoreError::Link { .. })));
}
