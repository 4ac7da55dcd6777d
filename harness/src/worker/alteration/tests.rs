use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;

use super::*;

/// A call of these tensors, one storage each; their bytes are in `file` one after the other.
fn call(file: &Path, tensors: &[(Layout, u64)]) -> CallMessage {
    let (mut offset, mut storages, mut args) = (0, Vec::new(), Vec::new());
    for (storage, (layout, bytes)) in tensors.iter().enumerate() {
        storages.push(StorageRange { path: file.to_owned(), offset, bytes: *bytes });
        args.push(Argument::Tensor(TensorRef { layout: layout.clone(), storage }));
        offset += bytes;
    }
    let params = (0..args.len()).map(|i| format!("arg{i}")).collect();
    CallMessage { params, args, storages, outputs: Vec::new() }
}

fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    file
}

fn numbers(count: u32) -> Vec<u8> {
    (0..count).flat_map(|n| (n as f32).to_le_bytes()).collect()
}

fn drawn(call: &CallMessage, seed: u64) -> Alteration {
    Alteration::drawn(call, &mut SplitMix64::new(seed)).unwrap()
}

#[test]
fn a_small_tensor_is_altered_everywhere_with_values_of_its_own() {
    let bytes = numbers(1000);
    let file = file(&bytes);
    let call = call(file.path(), &[(Layout::contiguous(Dtype::F32, &[10, 100]), 4000)]);
    let alteration = drawn(&call, 1);
    let [altered] = &alteration.0[..] else { panic!("one run") };
    assert_eq!((altered.storage, altered.at, altered.bytes.len()), (0, 0, 4000));
    let same = altered.bytes.chunks(4).zip(bytes.chunks(4)).filter(|(one, other)| one == other).count();
    assert!(same < 20, "{same}");
    assert!(altered.bytes.chunks(4).all(|value| bytes.chunks(4).any(|captured| captured == value)));
}

#[test]
fn integers_and_what_overlaps_them_stay() {
    let bytes = numbers(64);
    let file = file(&bytes);
    let ints = |dtype| (Layout::contiguous(dtype, &[16]), 64);
    let mut call =
        call(file.path(), &[ints(Dtype::I32), ints(Dtype::Bool), (Layout::contiguous(Dtype::F16, &[32]), 64)]);
    assert_eq!(drawn(&call, 1).iter().map(|altered| altered.storage).collect::<Vec<_>>(), [2]);
    // The same bytes of the file, under another name.
    call.storages[2].offset = 0;
    assert!(drawn(&call, 1).is_empty());
}

#[test]
fn of_a_table_the_rows_that_are_looked_up_are_altered_on_few_pages() {
    let (rows, columns) = (4096u64, 256u64);
    let mut bytes = numbers((rows * columns) as u32);
    let named = [7i64, 4000, -1, 1 << 40];
    bytes.extend(named.iter().flat_map(|row| row.to_le_bytes()));
    let file = file(&bytes);
    let table = (Layout::contiguous(Dtype::F32, &[rows, columns]), rows * columns * 4);
    let call = call(file.path(), &[table, (Layout::contiguous(Dtype::I64, &[4]), 32)]);
    let alteration = drawn(&call, 1);
    let mut pages = BTreeMap::new();
    for Altered { storage, at, bytes } in alteration.iter() {
        assert_eq!(*storage, 0);
        let touched = at / 4096..=(at + bytes.len() as u64 - 1) / 4096;
        touched.for_each(|page| *pages.entry(page).or_insert(0) += bytes.len());
    }
    let row = columns * 4;
    for named in [7, 4000] {
        assert!(alteration.iter().any(|altered| altered.at / row == named), "row {named} is altered");
    }
    assert!((100..=PLACES).contains(&pages.len()), "{} pages", pages.len());
}

proptest! {
    #[test]
    fn what_is_altered_lies_in_the_tensor_whatever_its_layout(
        shape in prop::collection::vec(1u64..40, 0..4),
        gaps in prop::collection::vec(0u64..3000, 4),
        offset in 0u64..9,
        dtype in prop::sample::select(vec![Dtype::F64, Dtype::BF16, Dtype::F8E5M2, Dtype::C64, Dtype::C128]),
        seed: u64,
    ) {
        let strides = gaps[..shape.len()].to_vec();
        let layout = Layout { offset, strides, ..Layout::contiguous(dtype, &shape) };
        let reach = layout.reach().unwrap();
        let bytes: Vec<u8> = (0..reach.end + 5).map(|n| (n % 251) as u8).collect();
        let file = file(&bytes);
        let call = call(file.path(), &[(layout, bytes.len() as u64)]);
        let mut pages = BTreeSet::new();
        let mut end = 0;
        for Altered { at, bytes, .. } in drawn(&call, seed).iter() {
            let last = at + bytes.len() as u64;
            prop_assert!(*at >= end && reach.start <= *at && last <= reach.end && !bytes.is_empty());
            prop_assert_eq!((at % dtype.size(), bytes.len() as u64 % dtype.size()), (0, 0));
            let page = page_size() as u64;
            pages.extend(at / page..=(last - 1) / page);
            end = last;
        }
        prop_assert!(!pages.is_empty() && pages.len() <= PLACES + 1, "{} pages", pages.len());
    }
}
