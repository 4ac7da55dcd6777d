//! The cost of counting: the system's allocator alone, wrapped by `Tracking`, and wrapped by dhat's in testing mode.
//!
//! Each is called as an allocator, so that all of them fit in one program. `small` is a block of 64 bytes that is
//! allocated and freed at once; `list` is a thousand blocks of 16 to 271 bytes, each grown once and freed in another
//! order.
//!
//!     cargo bench --bench allocator

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use plimsoll::alloc::{Scope, Tracking};

/// This is also the program's own allocator, because a scope needs one that counts.
#[global_allocator]
static TRACKING: Tracking = Tracking::new();
static DHAT: dhat::Alloc = dhat::Alloc;

/// The blocks of `list`.
const BLOCKS: usize = 1000;

fn small(allocator: &dyn GlobalAlloc) {
    let layout = Layout::new::<[u8; 64]>();
    // SAFETY: the layout is not empty, and blocks are freed with the layout of their allocation.
    unsafe {
        let block = black_box(allocator.alloc(layout));
        allocator.dealloc(block, layout);
    }
}

fn list(allocator: &dyn GlobalAlloc) {
    let layout = |at: usize| Layout::from_size_align(16 + at % 256, 8).unwrap();
    let mut blocks = [std::ptr::null_mut::<u8>(); BLOCKS];
    // SAFETY: no layout is empty; each block is grown and freed with its latest size.
    unsafe {
        for (at, block) in blocks.iter_mut().enumerate() {
            *block = black_box(allocator.alloc(layout(at)));
        }
        for (at, block) in blocks.iter_mut().enumerate() {
            *block = black_box(allocator.realloc(*block, layout(at), layout(at).size() + 40));
        }
        // 7 and 1000 are coprime, so every block is used once.
        for at in (0..BLOCKS).map(|n| n * 7 % BLOCKS) {
            let grown = Layout::from_size_align(layout(at).size() + 40, 8).unwrap();
            allocator.dealloc(blocks[at], grown);
        }
    }
}

/// Calls of an allocator.
type Work = fn(&dyn GlobalAlloc);

/// Opens a scope, or none.
type Open = fn() -> Option<Scope>;

fn allocator(c: &mut Criterion) {
    let works: [(&str, Work, u64); 2] = [("small", small, 2), ("list", list, 3 * BLOCKS as u64)];
    for (name, work, calls) in works {
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Elements(calls));
        group.bench_function("System", |b| b.iter(|| work(black_box(&System))));
        let opens: [(&str, Open); 3] = [
            ("Tracking, no scope", || None),
            ("Tracking, scope over the thread", || Some(Scope::thread().unwrap())),
            ("Tracking, scope over the process", || Some(Scope::process().unwrap())),
        ];
        for (state, open) in opens {
            let scope = open();
            group.bench_function(state, |b| b.iter(|| work(black_box(&TRACKING))));
            drop(scope);
        }
        let profiler = dhat::Profiler::builder().testing().build();
        group.bench_function("dhat, testing", |b| b.iter(|| work(black_box(&DHAT))));
        drop(profiler);
        group.finish();
    }
}

criterion_group!(benches, allocator);
criterion_main!(benches);
