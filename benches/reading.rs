//! Reading captures, compared with the physical limits in the same run.
//!
//! `open` is the cost of an entry before anything of it is loaded, for entries of 1 MiB and 256 MiB. `crc` and `blake3`
//! read every byte of a 256 MiB entry: `limit` is the hash alone, over the same bytes in memory (crc32fast on one
//! thread; BLAKE3 over a plain map of the file, on every thread), `file` is `inspect --verify` and the full digest.
//!
//!     cargo bench --features full --bench reading

use std::fs::File;
use std::hint::black_box;
use std::path::{Path, PathBuf};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use plimsoll::capture::{Digest, Dtype, Entry, synthesize};
use plimsoll::inspect::{Options, inspect};

/// An entry whose table takes `mib` MiB.
fn entry(dir: &Path, mib: u64) -> PathBuf {
    let folder = dir.join(mib.to_string());
    synthesize::embedding(mib << 10, 512, 128, Dtype::BF16).write(&folder).expect("the disk has room");
    folder.join("entry_000000.pt")
}

fn reading(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut group = c.benchmark_group("open");
    for mib in [1, 256] {
        let path = entry(dir.path(), mib);
        group.bench_function(BenchmarkId::from_parameter(format!("{mib} MiB")), |b| {
            b.iter(|| Entry::open(black_box(&path)).unwrap());
        });
    }
    group.finish();

    let path = dir.path().join("256/entry_000000.pt");
    let bytes = std::fs::read(&path).expect("written above");
    let mut group = c.benchmark_group("crc");
    group.throughput(Throughput::Bytes(bytes.len() as u64)).sample_size(20);
    group.bench_function("limit", |b| b.iter(|| crc32fast::hash(black_box(&bytes))));
    group.bench_function("file", |b| {
        let verify = Options { verify: true, ..Options::default() };
        b.iter(|| inspect(black_box(&path), verify));
    });
    group.finish();

    let mut group = c.benchmark_group("blake3");
    group.throughput(Throughput::Bytes(bytes.len() as u64)).sample_size(20);
    group.bench_function("limit", |b| {
        let file = File::open(&path).unwrap();
        b.iter(|| {
            // SAFETY: nothing changes the file while the benchmark runs.
            let map = unsafe { memmap2::Mmap::map(&file) }.unwrap();
            blake3::Hasher::new().update_rayon(&map).finalize()
        });
    });
    group.bench_function("file", |b| {
        b.iter(|| Entry::open(black_box(&path)).unwrap().identity(Digest::Full).unwrap());
    });
    group.finish();
}

criterion_group!(benches, reading);
criterion_main!(benches);
