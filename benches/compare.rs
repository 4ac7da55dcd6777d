//! Comparison of two tensors on one thread, relative to the memory's limits.
//!
//! Bytes of both operands count. `read both` sums them and `bytes equal` compares them as bytes, which shows the
//! machine's limits in the same run. `equal` has equal bytes on both sides, `near` differs at every element by a unit
//! in the last place. `benches/peers/allclose.py` measures torch.allclose on the same tensors.
//!
//!     cargo bench --features full --bench compare

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use half::{bf16, f16};
use plimsoll::capture::{Dtype, Layout, TensorView};
use plimsoll::compare::{Comparison, compare_tensors};
use std::hint::black_box;
use std::time::Duration;

/// Elements between -2 and 2, and the same with the lowest bit of each flipped.
fn sides(dtype: Dtype, bytes: usize) -> (Vec<u8>, Vec<u8>) {
    let mut state = 1u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 22) as f32 - 2.0
    };
    let encode = |x: f32| match dtype {
        Dtype::F16 => f16::from_f32(x).to_le_bytes().to_vec(),
        Dtype::BF16 => bf16::from_f32(x).to_le_bytes().to_vec(),
        Dtype::F32 => x.to_le_bytes().to_vec(),
        other => unreachable!("{other} is not measured"),
    };
    // A run of numbers far longer than the branch predictor's memory, repeated.
    let run: Vec<u8> = (0..1 << 18).flat_map(|_| encode(random())).collect();
    let expected: Vec<u8> = run.iter().copied().cycle().take(bytes).collect();
    let mut near = expected.clone();
    near.iter_mut().step_by(dtype.size() as usize).for_each(|byte| *byte ^= 1);
    (expected, near)
}

fn compare(c: &mut Criterion) {
    let rule = Comparison::torch();
    for mib in [64, 256] {
        let bytes = mib << 20;
        let mut group = c.benchmark_group(format!("compare {mib} MiB"));
        group.throughput(Throughput::Bytes(2 * bytes as u64));
        group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
        for dtype in [Dtype::F16, Dtype::BF16, Dtype::F32] {
            let (expected, near) = sides(dtype, bytes);
            let equal = expected.clone();
            let layout = Layout::contiguous(dtype, &[bytes as u64 / dtype.size()]);
            let view = |bytes| TensorView::new(&layout, bytes).unwrap();
            if dtype == Dtype::F16 {
                group.bench_function("read both", |b| {
                    let sum = |side: &[u8]| {
                        let words = side.as_chunks().0.iter().copied().map(u64::from_le_bytes);
                        words.fold(0u64, u64::wrapping_add)
                    };
                    b.iter(|| sum(black_box(&expected)).wrapping_add(sum(black_box(&near))));
                });
                group.bench_function("bytes equal", |b| b.iter(|| black_box(&expected) == black_box(&equal)));
            }
            for (name, actual) in [("equal", &equal), ("near", &near)] {
                group.bench_function(BenchmarkId::new(dtype.name(), name), |b| {
                    b.iter(|| {
                        let outcome = compare_tensors("", view(black_box(&expected)), view(black_box(actual)), &rule);
                        assert!(outcome.passed, "{outcome:?}");
                    });
                });
            }
        }
        group.finish();
    }
}

criterion_group!(benches, compare);
criterion_main!(benches);
