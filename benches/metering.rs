//! The cost of the meter: a memory-intensive loop, bare and metered, in turns in one run.
//!
//! The loop allocates blocks, touches every page of them and frees them, over a buffer that stays and is read, so that
//! the resident set moves all the time and the meter reads as much as possible. Runs alternate, so that other load on
//! the machine affects all equally; the median ratio of neighbours is the cost. Criterion reports the time of a single
//! sample.
//!
//!     cargo bench --bench metering

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group};
use plimsoll::meter::{Meter, MeterOptions, ProcessMemory, SystemMemory};
use rustix::time::{ClockId, clock_gettime};

const STAYS: usize = 256 << 20;
const BLOCK: usize = 48 << 20;
const BLOCKS: usize = 40;
const RUNS: usize = 11;

/// One run of the loop over the permanent buffer.
fn churn(stays: &[u8]) -> u64 {
    (0..BLOCKS)
        .map(|n| {
            let block = vec![n as u8 + 1; BLOCK];
            let half = &stays[(n % 2) * STAYS / 2..][..STAYS / 2];
            let words = half.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
            words.fold(u64::from(block[n]), u64::wrapping_add)
        })
        .fold(0, u64::wrapping_add)
}

/// Wall time, and processor time of the whole process including the meter's thread, which does not grow with other load
/// on the machine.
fn timed(stays: &[u8], options: Option<&MeterOptions>) -> [f64; 2] {
    let cpu = || clock_gettime(ClockId::ProcessCPUTime);
    let (began, before) = (Instant::now(), cpu());
    let meter = options.map(|options| {
        let meter = Meter::start_with(options.clone()).expect("/proc can be read");
        meter.phase("churn");
        meter
    });
    black_box(churn(black_box(stays)));
    if let Some(meter) = meter {
        assert_eq!(meter.finish().len(), 1);
    }
    let after = cpu();
    let cpu = (after.tv_sec - before.tv_sec) as f64 + (after.tv_nsec - before.tv_nsec) as f64 / 1e9;
    [began.elapsed().as_secs_f64(), cpu]
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Bare, then metered each way, repeatedly.
fn by_turns() {
    let stays = vec![1u8; STAYS];
    let options = MeterOptions::default;
    let ways = [
        ("metered, every 10 ms, with PSS", Some(options())),
        ("metered, every 10 ms, with PSS and mappings", Some(MeterOptions { mappings: true, ..options() })),
        (
            "metered, every 1 ms, without PSS",
            Some(MeterOptions { pss: false, sample_interval: Duration::from_millis(1), ..options() }),
        ),
        ("bare again: the noise of this machine", None),
    ];
    timed(&stays, None);
    let mut ratios = [vec![Vec::new(); ways.len()], vec![Vec::new(); ways.len()]];
    let mut bare = Vec::new();
    for _ in 0..RUNS {
        let before = timed(&stays, None);
        bare.push(before[0]);
        for (at, (_, options)) in ways.iter().enumerate() {
            let now = timed(&stays, options.as_ref());
            (0..2).for_each(|clock| ratios[clock][at].push(now[clock] / before[clock]));
        }
    }
    println!("bare: median {:.1} ms of {RUNS} runs", median(bare) * 1e3);
    let [wall, cpu] = ratios;
    for (((name, _), wall), cpu) in ways.iter().zip(wall).zip(cpu) {
        let percent = |ratios| (median(ratios) - 1.0) * 100.0;
        println!("{name}: wall {:+.2} %, processor {:+.2} %", percent(wall), percent(cpu));
    }
}

fn samples(c: &mut Criterion) {
    let mut group = c.benchmark_group("one sample");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    let own = std::process::id();
    group.bench_function("status of a process", |b| b.iter(|| ProcessMemory::read(black_box(own)).unwrap()));
    group.bench_function("meminfo", |b| b.iter(|| SystemMemory::read().unwrap()));
    group.bench_function("a meter, one phase", |b| {
        b.iter(|| {
            let meter = Meter::start_with(MeterOptions { pss: false, ..MeterOptions::default() }).unwrap();
            meter.phase("nothing");
            meter.finish()
        });
    });
    group.finish();
}

criterion_group!(benches, samples);

fn main() {
    benches();
    by_turns();
    Criterion::default().configure_from_args().final_summary();
}
