//! Memory and time of the same work in one bench file, through criterion.
//!
//! Each function below is a benchmark over any measurement: the groups at the end run it for wall time, for growth of
//! the resident set and for the heap. `plimsoll bench-gate` then judges all of them against a baseline:
//!
//!     cargo bench --bench memory --features criterion -- --save-baseline main
//!     cargo bench --bench memory --features criterion -- --baseline main
//!     plimsoll bench-gate --baseline main --limit '5% | 1 MiB' --limit '*peak_heap*=0%'

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use plimsoll::alloc::Tracking;
use plimsoll::capture::{Dtype, Entry, Layout, TensorView, synthesize};
use plimsoll::compare::{Comparison, compare_tensors};
use plimsoll::criterion::{IterEach, Measured, PeakHeap, PeakRssGrowth, group};

#[global_allocator]
static ALLOCATOR: Tracking = Tracking::new();

/// Opening an entry reads only its headers: the figures of both sizes are equal.
fn opening<M: Measured>(c: &mut Criterion<M>) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut group = group(c, "open an entry");
    for mib in [1, 64] {
        let folder = dir.path().join(mib.to_string());
        synthesize::embedding(mib << 10, 512, 128, Dtype::BF16).write(&folder).expect("the disk has room");
        let path = folder.join("entry_000000.pt");
        group.bench_function(BenchmarkId::from_parameter(format!("{mib} MiB")), |b| {
            b.iter_each(|| Entry::open(black_box(&path)).unwrap());
        });
    }
    group.finish();
}

/// Comparing creates no temporary: nothing is added to the two tensors, whatever their size.
fn comparing<M: Measured>(c: &mut Criterion<M>) {
    let rule = Comparison::torch();
    let mut group = group(c, "compare float32");
    for mib in [1u64, 16] {
        let bytes = vec![0u8; (mib << 20) as usize];
        let layout = Layout::contiguous(Dtype::F32, &[(mib << 20) / Dtype::F32.size()]);
        let view = TensorView::new(&layout, &bytes).unwrap();
        group.throughput(Throughput::Bytes(2 * (mib << 20)));
        group.bench_function(BenchmarkId::from_parameter(format!("{mib} MiB")), |b| {
            b.iter_each(|| compare_tensors("", black_box(view), black_box(view), &rule).passed);
        });
    }
    group.finish();
}

/// The cost of copying a tensor out of its file, for scale: its bytes.
fn copying<M: Measured>(c: &mut Criterion<M>) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    synthesize::embedding(16 << 10, 512, 128, Dtype::BF16).write(dir.path()).expect("the disk has room");
    let path = dir.path().join("entry_000000.pt");
    let mut group = group(c, "copy an entry");
    group.throughput(Throughput::Bytes(std::fs::metadata(&path).expect("written above").len()));
    group.bench_function("16 MiB", |b| b.iter_each(|| std::fs::read(black_box(&path)).unwrap()));
    group.finish();
}

/// Brief, because memory figures hardly vary.
fn short<M: criterion::measurement::Measurement + 'static>(measurement: M) -> Criterion<M> {
    let short = Criterion::default().warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
    short.sample_size(20).with_measurement(measurement)
}

criterion_group! { name = time; config = short(WallTime); targets = opening, comparing, copying }
criterion_group! { name = resident; config = short(PeakRssGrowth); targets = opening, comparing, copying }
criterion_group! { name = heap; config = short(PeakHeap); targets = opening, comparing, copying }
criterion_main!(time, resident, heap);
