//! What is tested, and what is timed.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io;
use std::path::Path;

/// The size of the file that is summed.
pub const FILE: usize = 64 << 20;

/// The sum of a file's bytes. It was meant to read the file in pieces.
pub fn checksum(path: &Path) -> io::Result<u64> {
    let bytes = std::fs::read(path)?;
    Ok(bytes.iter().map(|&byte| u64::from(byte)).sum())
}

/// A file of [`FILE`] bytes.
pub fn file() -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("plimsoll-bench-testing-{}", std::process::id()));
    std::fs::write(&path, vec![1; FILE]).expect("a file can be written");
    path
}

/// A loop that does little but take memory: 10 times 64 MiB, touched and freed.
pub fn pages() {
    for _ in 0..10 {
        drop(black_box(vec![1u8; 64 << 20]));
    }
}

/// A loop that does little but allocate: tables of small texts.
pub fn blocks() {
    for _ in 0..12 {
        let table: BTreeMap<u32, String> = (0..50_000).map(|key| (key, key.to_string())).collect();
        black_box(&table);
    }
}

/// Does the work that the first argument names, within `measured`, and prints how many seconds it took.
pub fn timed(measured: impl FnOnce(fn())) {
    let work: fn() = match std::env::args().nth(1).as_deref() {
        Some("pages") => pages,
        Some("blocks") => blocks,
        other => panic!("pages or blocks, not {other:?}"),
    };
    let begun = std::time::Instant::now();
    measured(work);
    println!("{}", begun.elapsed().as_secs_f64());
}
