//! Criterion's files for programs whose memory is known.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use criterion::measurement::{Measurement, WallTime};
use criterion::{Bencher, Criterion};
use memmap2::MmapMut;
use plimsoll::alloc::Tracking;
use plimsoll::criterion::{CpuTime, IterEach, Measured, PeakAnonGrowth, PeakHeap, PeakRss, PeakRssGrowth, group};
use serde_json::Value;

#[global_allocator]
static ALLOCATOR: Tracking = Tracking::new();

const MIB: usize = 1 << 20;

/// Memory belongs to the whole process, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs one benchmark and returns the figure per iteration of each sample.
fn figures<M: Measured + 'static>(measurement: M, routine: impl FnMut(&mut Bencher<'_, M>)) -> Vec<f64> {
    let dir = tempfile::tempdir().unwrap();
    let mut criterion = quick(dir.path()).with_measurement(measurement);
    let mut group = group(&mut criterion, "known");
    group.bench_function("program", routine);
    group.finish();
    let folder = if M::NAME == "wall_time" { "known".to_owned() } else { format!("known {}", M::NAME) };
    let sample =
        fs::read(dir.path().join(folder).join("program/new/sample.json")).expect("criterion keeps its samples");
    let sample: Value = serde_json::from_slice(&sample).unwrap();
    let of = |name: &str| sample[name].as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect::<Vec<_>>();
    of("times").iter().zip(of("iters")).map(|(total, iterations)| total / iterations).collect()
}

fn quick(dir: &Path) -> Criterion<WallTime> {
    Criterion::default()
        .output_directory(dir)
        .without_plots()
        .warm_up_time(Duration::from_millis(5))
        .measurement_time(Duration::from_millis(50))
        .sample_size(10)
        .nresamples(100)
}

/// Takes `mib` MiB from the system and touches every page; an allocator would keep freed pages.
fn take(mib: usize) -> MmapMut {
    let mut block = MmapMut::map_anon(mib * MIB).unwrap();
    black_box(&mut block[..]).fill(1);
    block
}

/// Asserts that every figure is `truth`, plus at most what the test harness's threads allocated meanwhile.
fn assert_heap(figures: &[f64], truth: usize) {
    let noise = 16 << 10;
    assert!(figures.iter().all(|&figure| (truth..truth + noise).contains(&(figure as usize))), "{truth}: {figures:?}");
    let exact = |figure: f64| (figure / truth as f64 - 1.0).abs() < 1e-12;
    assert!(figures.iter().copied().any(exact), "{truth}: {figures:?}");
    assert!(figures.windows(2).any(|pair| pair[0] != pair[1]), "criterion's plots panic on figures that do not differ");
}

#[test]
fn the_resident_set_of_each_iteration_is_read_whatever_their_number() {
    let _alone = alone();
    for mib in [8, 64] {
        let figures = figures(PeakRssGrowth, |b| b.iter_each(|| take(mib)));
        let truth = (mib * MIB) as f64;
        assert!(figures.iter().all(|figure| (figure - truth).abs() <= MIB as f64), "{mib} MiB: {figures:?}");
    }
}

#[test]
fn what_is_freed_within_an_iteration_belongs_to_its_peak() {
    let _alone = alone();
    let figures = figures(PeakRssGrowth, |b| b.iter_each(|| drop(take(32))));
    assert!(figures.iter().all(|figure| (figure - 32.0 * MIB as f64).abs() <= MIB as f64), "{figures:?}");
}

#[test]
fn the_whole_process_holds_more_than_an_iteration_adds() {
    let _alone = alone();
    let standing = take(48);
    let figures = figures(PeakRss, |b| b.iter_each(|| take(16)));
    assert!(figures.iter().all(|&figure| figure >= 64.0 * MIB as f64), "{figures:?}");
    drop(standing);
}

#[test]
fn an_input_is_no_part_of_what_is_measured() {
    let _alone = alone();
    let resident = figures(PeakRssGrowth, |b| b.iter_each_with(|| take(64), |input| input.len()));
    assert!(resident.iter().all(|&figure| figure < MIB as f64), "{resident:?}");
    let grow = |mut input: Vec<u8>| {
        input.push(1);
        input
    };
    let heap = figures(PeakHeap, |b| b.iter_each_with(|| vec![0u8; 4 * MIB], grow));
    // A vector that is full grows to twice its size.
    assert_heap(&heap, 4 * MIB);
}

#[test]
fn the_heap_is_exact_threads_included() {
    let _alone = alone();
    let heap = figures(PeakHeap, |b| b.iter_each(|| (vec![0u8; 1000], drop(vec![0u8; 234]))));
    assert_heap(&heap, 1234);
    let threads = figures(PeakHeap, |b| {
        b.iter_each(|| std::thread::scope(|scope| drop(scope.spawn(|| black_box(vec![0u8; 3 * MIB])).join().unwrap())));
    });
    assert!(threads.iter().all(|&figure| (3 * MIB..3 * MIB + 4096).contains(&(figure as usize))), "{threads:?}");
}

#[test]
fn anonymous_memory_is_sampled_and_page_cache_is_no_part_of_it() {
    let _alone = alone();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), &take(32)[..]).unwrap();
    let work = || {
        // SAFETY: nothing changes the file while the test runs.
        let map = unsafe { memmap2::Mmap::map(file.as_file()) }.unwrap();
        let touched = map.iter().step_by(4096).map(|&byte| u64::from(byte)).sum::<u64>();
        let block = take(16);
        std::thread::sleep(Duration::from_millis(3));
        (touched, block)
    };
    let anonymous = figures(PeakAnonGrowth, |b| b.iter_each(work));
    assert!(anonymous.iter().all(|figure| (figure - 16.0 * MIB as f64).abs() <= MIB as f64), "{anonymous:?}");
    let resident = figures(PeakRssGrowth, |b| b.iter_each(work));
    assert!(resident.iter().all(|figure| (figure - 48.0 * MIB as f64).abs() <= MIB as f64), "{resident:?}");
}

#[test]
fn what_takes_nothing_is_kept_as_next_to_nothing() {
    let _alone = alone();
    let figures = figures(PeakHeap, |b| b.iter_each(|| black_box(1) + 1));
    assert!(figures.iter().all(|&figure| figure > 0.0 && figure < 1e-6), "{figures:?}");
}

#[test]
fn times_are_criterion_s_own() {
    let _alone = alone();
    let spin = || (0..1000u64).fold(0, |sum, n| black_box(sum + n));
    assert!(figures(WallTime, |b| b.iter_each(spin)).iter().all(|&ns| ns > 0.0));
    assert!(figures(CpuTime, |b| b.iter_each_with(|| (), |()| spin())).iter().all(|&ns| ns > 0.0));
}

#[test]
#[should_panic(expected = "peak_rss_growth is read at each iteration: call `iter_each` or `iter_each_with`")]
fn criterion_s_own_loops_are_refused_for_peaks() {
    let _alone = alone();
    figures(PeakRssGrowth, |b| b.iter(|| take(1)));
}

#[test]
#[should_panic(expected = "peak_heap is read at each iteration")]
fn batches_are_refused_for_peaks() {
    let _alone = alone();
    figures(PeakHeap, |b| b.iter_batched(|| (), |()| take(1), criterion::BatchSize::SmallInput));
}

#[test]
fn machines_are_told_the_unit() {
    assert_eq!(PeakHeap.formatter().scale_for_machines(&mut [1.0]), "B");
    assert_eq!(CpuTime.formatter().scale_for_machines(&mut [1.0]), "ns");
}
