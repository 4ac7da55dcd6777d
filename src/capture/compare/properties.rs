//! The comparison against a naive reference in f64, on elements of every dtype and kind.

use half::{bf16, f16};
use proptest::prelude::*;

use super::element::{Element, values_per_element};
use super::float::{BF16, F16, F32, F64, FloatBlock};
use super::integer::IntegerBlock;
use super::judge::Judge;
use super::rule::Limits;
use super::simd::{self, Scan};
use super::tests::compare;
use super::*;
use crate::{Dtype, DtypeKind, Layout, TensorView};
use plimsoll_statistics::random::SplitMix64;

/// The real parts that an element's bytes stand for: one, or two for a complex number and a byte of two float4.
fn parts(dtype: Dtype, bytes: &[u8]) -> Vec<f64> {
    let small = |code: u8, exponent: u32, mantissa: u32, bias: i32| {
        let sign = if code >> (exponent + mantissa) & 1 == 1 { -1.0 } else { 1.0 };
        let (e, m) = (i32::from(code >> mantissa) & ((1 << exponent) - 1), f64::from(code & ((1 << mantissa) - 1)));
        let fraction = m / f64::from(1 << mantissa);
        sign * if e == 0 { fraction * 2f64.powi(1 - bias) } else { (1.0 + fraction) * 2f64.powi(e - bias) }
    };
    let unsigned = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |n, &byte| n << 8 | u64::from(byte));
    let float = |bytes: &[u8]| match bytes.len() {
        2 => f16::from_bits(unsigned(bytes) as u16).to_f64(),
        4 => f32::from_bits(unsigned(bytes) as u32).into(),
        _ => f64::from_bits(unsigned(bytes)),
    };
    let byte = bytes[0];
    match dtype {
        Dtype::F64 | Dtype::F32 | Dtype::F16 => vec![float(bytes)],
        Dtype::BF16 => vec![bf16::from_bits(unsigned(bytes) as u16).to_f64()],
        Dtype::F8E4M3FN => vec![if byte & 0x7f == 0x7f { f64::NAN } else { small(byte, 4, 3, 7) }],
        Dtype::F8E5M2 => vec![f16::from_bits(u16::from(byte) << 8).to_f64()],
        Dtype::F8E4M3FNUZ => vec![if byte == 0x80 { f64::NAN } else { small(byte, 4, 3, 8) }],
        Dtype::F8E5M2FNUZ => vec![if byte == 0x80 { f64::NAN } else { small(byte, 5, 2, 16) }],
        Dtype::F8E8M0FNU => vec![if byte == 0xff { f64::NAN } else { 2f64.powi(i32::from(byte) - 127) }],
        Dtype::F4E2M1FNX2 => vec![small(byte & 0xf, 2, 1, 1), small(byte >> 4, 2, 1, 1)],
        Dtype::C32 | Dtype::C64 | Dtype::C128 => bytes.chunks(bytes.len() / 2).map(float).collect(),
        Dtype::Bool => vec![f64::from(u8::from(byte != 0))],
        _ if dtype.is_integer() => vec![whole(dtype, bytes) as f64],
        _ => vec![f64::NAN],
    }
}

/// An integer's value.
fn whole(dtype: Dtype, bytes: &[u8]) -> i128 {
    let unsigned = bytes.iter().rev().fold(0i128, |n, &byte| n << 8 | i128::from(byte));
    let modulus = 1 << (8 * bytes.len());
    if dtype.kind() == DtypeKind::Signed && unsigned >= modulus / 2 { unsigned - modulus } else { unsigned }
}

/// What the reference knows about one value.
struct Known {
    /// Whether the value matches; `None` so near the edge of the tolerance that rounding decides.
    matches: Option<bool>,
    error: Option<f64>,
    relative: Option<f64>,
}

fn verdict(rule: &Limits, dtype: Dtype, [e, a]: [&[f64]; 2], [e_bits, a_bits]: [&[u8]; 2]) -> Known {
    let bits_equal = e_bits == a_bits;
    let modulus = |x: &[f64]| if x.len() == 1 { x[0].abs() } else { x[0].hypot(x[1]) };
    let difference: Vec<f64> = if dtype.is_integer() {
        vec![(whole(dtype, a_bits) - whole(dtype, e_bits)) as f64]
    } else {
        e.iter().zip(a).map(|(e, a)| a - e).collect()
    };
    let finite = |x: &[f64]| x.iter().all(|x| x.is_finite());
    let both = finite(e) && finite(a) && dtype.kind() != DtypeKind::Opaque;
    let error = both.then(|| modulus(&difference).min(f64::MAX));
    let relative = error.filter(|_| modulus(e) != 0.0).map(|error| (error / modulus(e)).min(f64::MAX));
    let nan = |x: &[f64]| x.iter().any(|x| x.is_nan());
    let matches = if rule.bitwise || dtype.kind() == DtypeKind::Opaque {
        Some(bits_equal)
    } else if nan(e) || nan(a) {
        Some(nan(e) && nan(a) && rule.equal_nan)
    } else if e == a && (bits_equal || !dtype.is_integer()) {
        Some(true)
    } else if !both {
        Some(false)
    } else {
        let (error, tolerance) = (modulus(&difference), rule.atol + rule.rtol * modulus(e));
        let in_f32 = dtype.is_float() && dtype != Dtype::F64;
        let in_range = |x: f64| x < if in_f32 { 3.0e38 } else { 1.0e308 };
        let rounding = 1e-6 * tolerance + if in_f32 { 1e-44 } else { 0.0 };
        if tolerance == 0.0 {
            Some(false)
        } else {
            let sure = in_range(error) && in_range(tolerance) && (error - tolerance).abs() > rounding;
            sure.then_some(error < tolerance)
        }
    };
    Known { matches, error, relative }
}

fn close(found: Option<f64>, wanted: Option<f64>) -> bool {
    match (found, wanted) {
        (Some(found), Some(wanted)) => (found - wanted).abs() <= 1e-6 * wanted.abs() + 1e-44,
        (found, wanted) => found == wanted,
    }
}

fn check(dtype: Dtype, expected: &[u8], actual: &[u8], rule: &Comparison) {
    let limits = rule.limits(dtype);
    let found = compare(dtype, expected, actual, rule);
    let size = dtype.size() as usize;
    let values = |bytes: &[u8]| -> Vec<Vec<f64>> {
        let all = bytes.chunks(size).map(|element| parts(dtype, element));
        if dtype == Dtype::F4E2M1FNX2 { all.flatten().map(|x| vec![x]).collect() } else { all.collect() }
    };
    let bits = |bytes: &[u8], i: usize| match dtype {
        Dtype::F4E2M1FNX2 => vec![bytes[i / 2] >> (4 * (i % 2)) & 0xf],
        _ => bytes[i * size..][..size].to_vec(),
    };
    let (e, a) = (values(expected), values(actual));
    let verdicts: Vec<Known> =
        (0..e.len()).map(|i| verdict(&limits, dtype, [&e[i], &a[i]], [&bits(expected, i), &bits(actual, i)])).collect();
    assert_eq!(found.count, e.len() as u64);
    let surely = verdicts.iter().filter(|v| v.matches == Some(false)).count() as u64;
    let perhaps = verdicts.iter().filter(|v| v.matches.is_none()).count() as u64;
    assert!((surely..=surely + perhaps).contains(&found.mismatches), "{surely} + {perhaps}, {}", found.mismatches);
    if let Some(first) = &found.first_mismatch {
        let at = first.index[0] as usize;
        assert_ne!(verdicts[at].matches, Some(true), "{first:?}");
        assert!(verdicts[..at].iter().all(|v| v.matches != Some(false)), "{first:?}");
        assert!(first.expected != first.actual || first.expected.contains("nan"), "{first:?}");
    }
    let largest = |of: fn(&Known) -> Option<f64>| verdicts.iter().filter_map(of).reduce(f64::max);
    assert!(close(found.max_abs_error, largest(|v| v.error)), "{found:?} {:?}", largest(|v| v.error));
    assert!(close(found.max_rel_error, largest(|v| v.relative)), "{found:?} {:?}", largest(|v| v.relative));
    for (side, values) in [(found.expected, &e), (found.actual, &a)] {
        let opaque = dtype.kind() == DtypeKind::Opaque;
        let nan = values.iter().filter(|v| v.iter().any(|x| x.is_nan())).count();
        let special = values.iter().filter(|v| v.iter().any(|x| !x.is_finite())).count();
        assert_eq!((side.nan, side.inf), if opaque { (0, 0) } else { (nan as u64, (special - nan) as u64) });
        let finite = values.iter().filter(|v| v.iter().all(|x| x.is_finite()));
        let real = |v: &Vec<f64>| if v.len() == 1 { v[0] } else { v[0].hypot(v[1]).min(f64::MAX) };
        let range = finite.map(real).map(|x| Range { min: x, max: x });
        let range = range.reduce(|a, b| Range { min: a.min.min(b.min), max: a.max.max(b.max) });
        if dtype.is_complex() {
            // Moduli are rounded in more than one way.
            assert!(close(side.range.map(|r| r.min), range.map(|r| r.min)), "{side:?} {range:?}");
            assert!(close(side.range.map(|r| r.max), range.map(|r| r.max)), "{side:?} {range:?}");
        } else {
            assert_eq!(side.range, range);
        }
    }
}

/// Bytes generated from a seed.
fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(seed);
    std::iter::repeat_with(|| random.word()).flat_map(u64::to_le_bytes).take(length).collect()
}

/// Two sides of `elements` elements. `kind` 0: unrelated bits, with every special value; 1: the same bits except for a
/// few elements; 2: numbers near 1 that differ by small errors; 3: as 2, with some special elements; 4: the same bits.
fn sides(dtype: Dtype, elements: usize, kind: u8, seed: u64) -> (Vec<u8>, Vec<u8>) {
    let size = dtype.size() as usize;
    let part = if dtype.is_complex() { size / 2 } else { size };
    let mut expected = bytes(seed, elements * size);
    let noise = bytes(!seed, elements * size);
    if kind >= 2 && dtype.kind() != DtypeKind::Opaque {
        for (i, part) in expected.chunks_mut(part).enumerate() {
            // The exponent of numbers between 0.5 and 4, under a random sign and mantissa.
            match dtype {
                Dtype::F64 | Dtype::C128 => part[6] = part[6] & 0x0f | 0xf0,
                Dtype::F32 | Dtype::BF16 | Dtype::C64 => *part.last_mut().unwrap() = part[part.len() - 1] & 0x80 | 0x3f,
                Dtype::F16 | Dtype::C32 => part[1] = part[1] & 0x83 | 0x3c,
                _ => {}
            }
            if matches!(dtype, Dtype::F64 | Dtype::C128) {
                part[7] = part[7] & 0x80 | 0x3f;
            }
            if kind == 3 && i % 37 == 0 {
                part.fill(0xff);
            }
        }
    }
    let mut actual = expected.clone();
    match kind {
        0 => actual.copy_from_slice(&noise),
        1 => actual.iter_mut().zip(&noise).filter(|(_, noise)| **noise == 7).for_each(|(a, noise)| *a ^= noise),
        2 | 3 => {
            for (i, (part, noise)) in actual.chunks_mut(part).zip(noise.chunks(part)).enumerate() {
                part[0] ^= noise[0] & 0x1f;
                if kind == 3 && i % 41 == 0 {
                    part.copy_from_slice(noise);
                }
            }
        }
        _ => {}
    }
    (expected, actual)
}

fn rules() -> impl Strategy<Value = Comparison> {
    let given = |s: BoxedStrategy<f64>| proptest::option::of(s.prop_map(|x| Tolerance::new(x).unwrap()));
    let tolerances = || prop_oneof![Just(0.0), Just(1e-2), Just(1e300), 1e-9..1.0f64].boxed();
    let preset = prop_oneof![Just(Preset::Exact), Just(Preset::KernelForge), Just(Preset::Torch)];
    (preset, given(tolerances()), given(tolerances()), any::<Option<bool>>())
        .prop_map(|(preset, rtol, atol, equal_nan)| Comparison { preset, rtol, atol, equal_nan })
}

proptest! {
    #[test]
    fn figures_are_those_of_the_naive_reference(
        dtype in proptest::sample::select(Dtype::ALL), elements in prop_oneof![0..70usize, 0..9000usize], kind in 0..5u8,
        seed: u64, rule in rules(), preset_alone: bool,
    ) {
        let (expected, actual) = sides(dtype, elements, kind, seed);
        check(dtype, &expected, &actual, &if preset_alone { rule.preset.into() } else { rule });
    }

    #[test]
    fn a_block_has_the_figures_of_its_elements(
        dtype in proptest::sample::select(Dtype::ALL), elements in 0..300usize, kind in 0..5u8, seed: u64, rule in rules(),
    ) {
        // If rounding decides, the vector code and the element-wise meaning decide alike.
        let judge = Judge { dtype, limits: rule.limits(dtype) };
        let (expected, actual) = sides(dtype, elements, kind, seed);
        let matches = |i| Element::at(dtype, &actual, i).matches(&Element::at(dtype, &expected, i), &judge.limits);
        let values = expected.len() / dtype.size() as usize * values_per_element(dtype) as usize;
        let mismatches = (0..values).filter(|&i| !matches(i)).count() as u64;
        prop_assert_eq!(judge.block(&expected, &actual).mismatches, mismatches);
    }

    #[test]
    fn every_instruction_set_gives_the_same_figures(elements in 0..5000usize, kind in 0..5u8, seed: u64, rule in rules()) {
        fn same<S: Scan<Output: std::fmt::Debug + PartialEq>>(scan: impl Fn() -> S) {
            assert_eq!(simd::run(scan()), scan().run());
        }
        macro_rules! same {
            ($($dtype:ident: $block:ident<$lane:ty>),*) => {
                $(let limits = rule.limits(Dtype::$dtype);
                let (expected, actual) = sides(Dtype::$dtype, elements, kind, seed);
                same(|| $block::<$lane>::new(&expected, &actual, &limits));)*
            };
        }
        same!(F16: FloatBlock<F16>, BF16: FloatBlock<BF16>, F32: FloatBlock<F32>, F64: FloatBlock<F64>);
        same!(I8: IntegerBlock<i8>, U16: IntegerBlock<u16>, I32: IntegerBlock<i32>, I64: IntegerBlock<i64>);
    }

    #[test]
    fn layout_and_alignment_do_not_matter(
        dtype in proptest::sample::select(Dtype::ALL), rows in 1..60u64, columns in 1..200u64, kind in 0..5u8, seed: u64,
        shift in 0..3usize, rule in rules(),
    ) {
        let size = dtype.size();
        let (expected, actual) = sides(dtype, (rows * columns) as usize, kind, seed);
        let plain = Layout::contiguous(dtype, &[rows, columns]);
        // The same elements column by column, after two others.
        let transposed = Layout { strides: vec![1, rows], offset: 2, ..plain.clone() };
        let mut columnwise = vec![0; ((rows * columns + 2) * size) as usize];
        for (i, element) in actual.chunks(size as usize).enumerate() {
            let at = 2 + i as u64 / columns + i as u64 % columns * rows;
            columnwise[(at * size) as usize..][..size as usize].copy_from_slice(element);
        }
        let shifted = [vec![0; shift], expected.clone()].concat();
        let view = |layout, bytes| TensorView::new(layout, bytes).unwrap();
        let wanted = compare_tensors("x", view(&plain, &expected), view(&plain, &actual), &rule);
        let found = compare_tensors("x", view(&plain, &shifted[shift..]), view(&transposed, &columnwise), &rule);
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn blindness_is_what_a_comparison_would_say(
        dtype in proptest::sample::select(Dtype::ALL), elements in prop_oneof![0..5usize, 0..9000usize], seed: u64,
        rule in rules(), fill in prop_oneof![Just(None), any::<u8>().prop_map(Some)], scattered: bool,
    ) {
        let (mut expected, mut previous) = sides(dtype, elements, 1, seed);
        if let Some(fill) = fill {
            expected.fill(fill);
            previous.fill(fill);
            if let (true, Some(last)) = (scattered, expected.last_mut()) {
                *last ^= 1;
            }
        }
        let layout = Layout::contiguous(dtype, &[elements as u64]);
        let view = |bytes| TensorView::new(&layout, bytes).unwrap();
        let passes = |actual: &[u8]| compare(dtype, &expected, actual, &rule).mismatches == 0;
        let nan = expected.first_chunk::<1>().is_none_or(|_| {
            let first = &expected[..dtype.size() as usize];
            parts(dtype, first).iter().any(|x| x.is_nan()) && dtype.kind() != DtypeKind::Opaque && passes(&first.repeat(elements))
        });
        let wanted = Blindness { zeros: passes(&vec![0; expected.len()]), nan, previous: Some(passes(&previous)), ..Blindness::default() };
        prop_assert_eq!(blindness(view(&expected), Some(view(&previous)), &rule), wanted);
    }
}
