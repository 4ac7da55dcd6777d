//! The comparison against torch's results, and its promises one by one.

use super::judge::BLOCK;
use super::*;
use crate::{Dtype, Layout, TensorView};

/// The figures of two tensors of one dimension, after a check that the outcome agrees with them.
pub(super) fn compare(dtype: Dtype, expected: &[u8], actual: &[u8], rule: &Comparison) -> Elements {
    let layout = Layout::contiguous(dtype, &[expected.len() as u64 / dtype.size()]);
    let view = |bytes| TensorView::new(&layout, bytes).unwrap();
    let outcome = compare_tensors("", view(expected), view(actual), rule);
    let elements = outcome.elements.unwrap();
    assert_eq!(outcome.passed, elements.mismatches == 0);
    assert_eq!(elements.first_mismatch.is_some(), elements.mismatches > 0);
    elements
}

#[test]
fn pairs_are_close_where_torch_says_so() {
    for line in include_str!("../../../tests/golden/isclose.txt").lines() {
        let [dtype, rtol, atol, equal_nan, expected, actual, close] =
            line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let dtype: Dtype = dtype.parse().unwrap();
        let bytes = |hex: &str| -> Vec<u8> {
            (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
        };
        let (expected, actual) = (bytes(expected), bytes(actual));
        let rule = Comparison {
            equal_nan: Some(equal_nan == "true"),
            ..Comparison::tolerance(rtol.parse().unwrap(), atol.parse().unwrap())
        };
        let size = dtype.size() as usize;
        let pairs = || expected.chunks(size).zip(actual.chunks(size));
        let found: String =
            pairs().map(|(e, a)| if compare(dtype, e, a, &rule).mismatches == 0 { '1' } else { '0' }).collect();
        assert_eq!(found, close, "{dtype} {rule}");
        let mismatches = close.bytes().filter(|&digit| digit == b'0').count() as u64;
        assert_eq!(compare(dtype, &expected, &actual, &rule).mismatches, mismatches, "{dtype} {rule}");
    }
}

#[test]
fn nan_payloads_and_signed_zeros_differ_under_exact_alone() {
    let pair = |dtype, e: &[u8], a: &[u8], rule| compare(dtype, e, a, &rule).mismatches;
    let (quiet, payload) = (0x7fc0_0000u32.to_le_bytes(), 0x7fc0_0001u32.to_le_bytes());
    assert_eq!(pair(Dtype::F32, &quiet, &quiet, Comparison::exact()), 0);
    assert_eq!(pair(Dtype::F32, &quiet, &payload, Comparison::exact()), 1);
    assert_eq!(pair(Dtype::F32, &quiet, &quiet, Comparison::torch()), 1);
    let equal_nan = Comparison { equal_nan: Some(true), ..Comparison::torch() };
    assert_eq!(pair(Dtype::F32, &quiet, &payload, equal_nan), 0);
    let elements = compare(Dtype::F32, &quiet, &payload, &Comparison::exact());
    assert_eq!(elements.first_mismatch.unwrap().actual, "nan (0x7fc00001)");
    assert_eq!(pair(Dtype::F16, &[0, 0], &[0, 0x80], Comparison::exact()), 1);
    assert_eq!(pair(Dtype::F16, &[0, 0], &[0, 0x80], Comparison::torch()), 0);
    assert_eq!(pair(Dtype::Bool, &[1], &[2], Comparison::exact()), 1);
    assert_eq!(pair(Dtype::Bool, &[1], &[2], Comparison::torch()), 0);
}

#[test]
fn errors_beyond_the_range_of_f32_are_given() {
    let elements = compare(Dtype::F32, &f32::MAX.to_le_bytes(), &f32::MIN.to_le_bytes(), &Comparison::torch());
    assert_eq!(elements.max_abs_error, Some(2.0 * f64::from(f32::MAX)));
    assert_eq!(elements.max_rel_error, Some(2.0));
    let elements = compare(Dtype::F64, &f64::MAX.to_le_bytes(), &f64::MIN.to_le_bytes(), &Comparison::torch());
    assert_eq!((elements.max_abs_error, elements.max_rel_error), (Some(f64::MAX), Some(1.0)));
}

#[test]
fn a_difference_of_shape_or_dtype_is_a_problem() {
    let bytes = [0; 24];
    let outcome = |expected: &Layout, actual: &Layout| {
        let view = |layout| TensorView::new(layout, &bytes).unwrap();
        compare_tensors("[0]", view(expected), view(actual), &Comparison::kernelforge())
    };
    let layout = Layout::contiguous(Dtype::F32, &[2, 3]);
    let found = outcome(&layout, &Layout::contiguous(Dtype::F32, &[3, 2]));
    assert_eq!(found.problem.as_deref(), Some("expected a tensor float32 [2, 3], got float32 [3, 2]"));
    assert!(!found.passed && found.elements.is_none() && found.expected == Some(layout.spec()));
    assert!(outcome(&layout, &Layout::contiguous(Dtype::I32, &[2, 3])).problem.is_some());
    let empty = Layout::contiguous(Dtype::F32, &[0, 3]);
    assert!(outcome(&empty, &empty).passed);
    assert!(!outcome(&empty, &Layout::contiguous(Dtype::F32, &[3, 0])).passed);
}

#[test]
fn the_index_of_the_first_mismatch_counts_in_the_shape() {
    let expected = vec![0; 4 * 5 * 3000];
    let mut actual = expected.clone();
    actual[(3 * 5 + 2) * 3000 + 2999] = 1;
    actual[(3 * 5 + 3) * 3000] = 1;
    let index = |dtype, shape: &[u64]| {
        let layout = Layout::contiguous(dtype, shape);
        let view = |bytes| TensorView::new(&layout, bytes).unwrap();
        let elements = compare_tensors("", view(&expected), view(&actual), &Comparison::exact()).elements.unwrap();
        assert_eq!(elements.mismatches, 2);
        elements.first_mismatch.unwrap().index
    };
    assert_eq!(index(Dtype::U8, &[4, 5, 3000]), [3, 2, 2999]);
    assert_eq!(index(Dtype::F4E2M1FNX2, &[4, 5, 3000]), [3, 2, 5998]);
    assert_eq!(index(Dtype::F32, &[20, 750]), [17, 749]);
}

#[test]
fn conjugated_and_negated_views_are_read_as_such() {
    let complex = |re: f32, im: f32| [re.to_le_bytes(), im.to_le_bytes()].concat();
    let plain = Layout::contiguous(Dtype::C64, &[1]);
    for (conj, neg, re, im) in [(true, false, 1.0, -2.0), (false, true, -1.0, -2.0), (true, true, -1.0, 2.0)] {
        let flagged = Layout { conj, neg, ..plain.clone() };
        let (expected, actual) = (complex(1.0, 2.0), complex(re, im));
        let expected = TensorView::new(&flagged, &expected).unwrap();
        let actual = TensorView::new(&plain, &actual).unwrap();
        assert!(compare_tensors("", expected, actual, &Comparison::exact()).passed, "{conj} {neg}");
    }
}

#[test]
fn progress_covers_every_byte_once_in_order() {
    let bytes = vec![0; 1 << 20 | 12];
    let layout = Layout::contiguous(Dtype::F32, &[bytes.len() as u64 / 4]);
    let view = TensorView::new(&layout, &bytes).unwrap();
    type Progress<'a> = &'a mut dyn FnMut(std::ops::Range<u64>);
    let ranges = |run: &dyn Fn(Progress<'_>)| {
        let mut ranges = Vec::new();
        run(&mut |range| ranges.push(range));
        assert!(ranges.iter().all(|range| range.end - range.start <= 1 << 20));
        assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
        (ranges[0].start, ranges.last().unwrap().end)
    };
    let rule = Comparison::torch();
    let all = (0, bytes.len() as u64);
    assert_eq!(ranges(&|progress| assert!(compare_tensors_with("", view, view, &rule, progress).passed)), all);
    assert_eq!(ranges(&|progress| assert!(blindness_with(view, None, &rule, progress).zeros)), all);
}

#[test]
fn blindness_reads_no_further_than_it_must() {
    let mut bytes = vec![0; 8 << 20];
    bytes[BLOCK] = 1;
    let layout = Layout::contiguous(Dtype::U8, &[bytes.len() as u64]);
    let mut read = 0;
    let view = TensorView::new(&layout, &bytes).unwrap();
    let blind = blindness_with(view, None, &Comparison::exact(), &mut |range| read = range.end);
    assert!(!blind.any() && read < 1 << 20, "{read}");
}

#[test]
fn a_previous_output_of_another_shape_is_as_none() {
    let bytes = [1; 6];
    let (a, b) = (Layout::contiguous(Dtype::U8, &[2, 3]), Layout::contiguous(Dtype::U8, &[6]));
    let view = |layout| TensorView::new(layout, &bytes).unwrap();
    assert_eq!(blindness(view(&a), Some(view(&b)), &Comparison::exact()).previous, None);
    assert_eq!(blindness(view(&a), Some(view(&a)), &Comparison::exact()).previous, Some(true));
}
