use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::*;
use crate::strategies::float_dtypes;
use crate::write::tests::records;
use crate::{Dtype, write::WriteError};
use plimsoll_memory::ByteSize;

fn listing(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_capture_of_kernelforge_76_has_its_shapes_and_size() {
    let plan = gemma4_e2b_gb10().plan().unwrap();
    assert_eq!(plan.entries().len(), 20);
    assert_eq!(plan.total().to_string(), "51.29 GiB");
    for (n, entry) in plan.entries().iter().enumerate() {
        assert_eq!(entry.file_name(), format!("entry_{n:06}.pt"));
        assert_eq!(entry.table(), [262_144, if n % 2 == 0 { 1536 } else { 8960 }]);
        assert_eq!(entry.seq(), 128 + 16 * (n as u64 / 2));
    }
}

/// Compares sizes with those that `torch.save` wrote for the same capture at a 64th of the width.
#[test]
fn files_are_as_large_as_those_of_torch() {
    let plan = gemma4_e2b_gb10().scale(1, 64).plan().unwrap();
    assert_eq!(plan.entries()[0].bytes().bytes(), 12_592_526);
    assert_eq!(plan.entries()[1].bytes().bytes(), 73_439_630);
}

#[test]
fn a_total_is_used_as_far_as_widths_allow() {
    let total = ByteSize::gib(4);
    let plan = gemma4_e2b_gb10().total(total).plan().unwrap();
    let columns = plan.entries()[1].table()[1];
    assert_eq!(plan.entries()[0].table()[1], columns * 1536 / 8960);
    assert!(plan.total() <= total);
    let wider = gemma4_e2b_gb10().scale(columns + 1, 8960).plan().unwrap();
    assert!(wider.total() > total);
    let whole = gemma4_e2b_gb10().plan().unwrap();
    assert_eq!(gemma4_e2b_gb10().total(ByteSize::gib(100)).plan().unwrap(), whole);
    assert!(matches!(gemma4_e2b_gb10().total(ByteSize::mib(1)).plan(), Err(SynthesizeError::Total { .. })));
}

#[test]
fn recipes_that_give_no_capture_are_refused() {
    let message = |preset: Preset| preset.plan().unwrap_err().to_string();
    assert_eq!(
        message(gemma4_e2b_gb10().scale(1, 2000)),
        "the scale 1/2000 gives no capture: choose one from 1/1536 to 1"
    );
    assert!(message(gemma4_e2b_gb10().scale(2, 1)).contains("the scale 2/1"));
    assert!(message(gemma4_e2b_gb10().scale(1, 0)).contains("the scale 1/0"));
    assert_eq!(message(embedding(0, 4, 1, Dtype::F32)), "vocab: must be at least 1");
    assert_eq!(message(gemma4_e2b_gb10().entries(0)), "entries: must be at least 1");
    assert!(message(embedding(4, 4, 1, Dtype::I64)).contains("cannot be of int64"));
    assert!(message(embedding(1 << 40, 1 << 30, 1, Dtype::F32)).contains("larger than any file"));
}

#[test]
fn a_capture_larger_than_the_disk_is_refused_before_anything_is_made() {
    let parent = tempfile::tempdir().unwrap();
    let plan = gemma4_e2b_gb10().entries(10_000).plan().unwrap();
    let error = plan.write(&parent.path().join("new/capture"), &Options::default()).unwrap_err();
    let SynthesizeError::TooLittleSpace { needed, available, .. } = &error else { panic!("{error}") };
    assert!(*needed > plan.total() && available < needed);
    assert!(error.to_string().contains(&format!("needs {needed}, and the disk has {available} free")));
    assert!(listing(parent.path()).is_empty());
}

#[test]
fn a_folder_that_holds_something_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine"), "mine").unwrap();
    let error = embedding(4, 4, 1, Dtype::F32).write(folder.path()).unwrap_err();
    assert!(error.to_string().ends_with("the folder is not empty (it holds \"mine\"): give a new or empty folder"));
    assert_eq!(listing(folder.path()), ["mine"]);
}

#[test]
fn a_path_that_can_be_no_folder_is_refused_before_anything_is_made() {
    let parent = tempfile::tempdir().unwrap();
    fs::write(parent.path().join("file"), "").unwrap();
    std::os::unix::fs::symlink("nowhere", parent.path().join("link")).unwrap();
    for name in ["file", "link", "absent/.."] {
        let error = embedding(4, 4, 1, Dtype::F32).write(&parent.path().join(name)).unwrap_err();
        assert!(matches!(error, SynthesizeError::Io { .. }), "{error}");
    }
    assert_eq!(listing(parent.path()), ["file", "link"]);
}

#[test]
fn new_and_empty_folders_are_filled_alike() {
    let parent = tempfile::tempdir().unwrap();
    let (new, empty) = (parent.path().join("a/b/new"), parent.path().join("empty"));
    fs::create_dir(&empty).unwrap();
    let preset = embedding(50, 3, 5, Dtype::F16).entries(3);
    preset.write(&new).unwrap();
    preset.write(&empty).unwrap();
    assert_eq!(listing(&new), ["entry_000000.pt", "entry_000001.pt", "entry_000002.pt"]);
    assert_eq!(listing(&empty), listing(&new));
    assert_eq!(listing(parent.path()), ["a", "empty"]);
    for name in listing(&new) {
        assert_eq!(fs::read(new.join(&name)).unwrap(), fs::read(empty.join(&name)).unwrap());
    }
}

#[test]
fn cancelling_removes_everything_made() {
    let parent = tempfile::tempdir().unwrap();
    let empty = parent.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let plan = embedding(1000, 1000, 9, Dtype::F32).entries(3).plan().unwrap();
    for target in [parent.path().join("a/b/new"), empty.clone()] {
        let (cancel, files) = (AtomicBool::new(false), std::sync::atomic::AtomicU64::new(0));
        let progress = |bytes: ByteSize| {
            // Cancels in the middle of the second file.
            let written = files.fetch_add(bytes.bytes(), Ordering::Relaxed) + bytes.bytes();
            cancel.store(written > plan.total().bytes() / 2, Ordering::Relaxed);
        };
        let options = Options { cancel: &cancel, progress: &progress, ..Options::default() };
        let error = plan.write(&target, &options).unwrap_err();
        let SynthesizeError::Write(WriteError::Cancelled { path }) = error else { panic!("{error}") };
        assert_eq!(path, target.join("entry_000001.pt"));
    }
    assert_eq!(listing(parent.path()), ["empty"]);
    assert!(listing(&empty).is_empty());
}

#[test]
fn tables_repeat_and_indices_are_fresh() {
    let folder = tempfile::tempdir().unwrap();
    gemma4_e2b_gb10().scale(1, 1536).entries(4).write(folder.path()).unwrap();
    let entries: Vec<_> = listing(folder.path()).iter().map(|name| records(&folder.path().join(name))).collect();
    let storage = |n: usize, key: u32| &entries[n][&format!("entry_{n:06}/data/{key}")];
    assert_eq!(storage(0, 1), storage(2, 1));
    assert_eq!(storage(1, 1), storage(3, 1));
    assert_ne!(storage(0, 1)[..], storage(1, 1)[..storage(0, 1).len()]);
    // A call looks up the same indices in both tables, and another call looks up others.
    assert_eq!(storage(0, 0), storage(1, 0));
    assert_ne!(storage(0, 0)[..], storage(2, 0)[..storage(0, 0).len()]);
}

#[test]
fn a_stream_keeps_one_entry_at_a_time() {
    let plan = embedding(10, 10, 3, Dtype::BF16).entries(3).plan().unwrap();
    let mut stream = plan.stream().unwrap();
    let first = stream.next().unwrap().unwrap();
    let folder = first.parent().unwrap().to_owned();
    assert_eq!(listing(&folder), ["entry_000000.pt"]);
    for n in 1..3 {
        assert_eq!(stream.next().unwrap().unwrap(), folder.join(format!("entry_{n:06}.pt")));
        assert_eq!(listing(&folder), [format!("entry_{n:06}.pt")]);
    }
    assert!(stream.next().is_none());
    drop(stream);
    assert!(!folder.exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn outputs_are_the_rows_looked_up(
        dtype in float_dtypes(), vocab in 1u64..200, dim in 1u64..40, seq in 1u64..70, seed: u64, threads in 1usize..4,
    ) {
        let plan = embedding(vocab, dim, seq, dtype).seed(seed).plan()?;
        let parent = tempfile::tempdir()?;
        let folder = parent.path().join("capture");
        plan.write(&folder, &Options { threads: NonZeroUsize::new(threads), ..Options::default() })?;
        let path = folder.join("entry_000000.pt");
        prop_assert_eq!(fs::metadata(&path)?.len(), plan.total().bytes());
        let records = records(&path);
        let storage = |key: u32| &records[&format!("entry_000000/data/{key}")];
        let row = (dim * dtype.size()) as usize;
        let rows: Vec<u8> = storage(0)
            .chunks_exact(8)
            .map(|index| u64::from_le_bytes(index.try_into().unwrap()) as usize)
            .flat_map(|index| storage(1)[index * row..][..row].to_vec())
            .collect();
        prop_assert_eq!(&rows, storage(2));
        prop_assert_eq!(storage(0).len() as u64, 8 * seq);
    }
}

#[test]
fn what_a_generate_that_was_killed_left_is_removed_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let (absent, empty) = (dir.path().join("absent"), dir.path().join("empty"));
    fs::create_dir_all(dir.path().join(".absent.plimsoll-Ab12xY")).unwrap();
    fs::write(dir.path().join(".absent.plimsoll-Ab12xY/entry_000000.pt"), "half").unwrap();
    fs::create_dir_all(empty.join(".capture.plimsoll-Ab12xY")).unwrap();
    for target in [&absent, &empty] {
        embedding(10, 10, 3, Dtype::BF16).entries(3).write(target).unwrap();
        assert_eq!(fs::read_dir(target).unwrap().count(), 3);
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}
