//! The library's use of a GPU on an emulated driver (`tests/emulation`), which the loader must find when the process
//! starts: each test runs itself again with it.

#[path = "../emulation/mod.rs"]
mod emulation;

use std::io;
use std::process::Command;

use criterion::measurement::Measurement as _;
use plimsoll::ByteSize;
use plimsoll::criterion::CudaTime;
use plimsoll::gpu::{CudaCache, CudaClock, Gpu, GpuError, Ring, Stream, TransferError, same};
use plimsoll::timing::{Cache as _, Clock as _};

const INSIDE: &str = "PLIMSOLL_TEST_ON_EMULATION";

/// Runs `body` in a process that finds the emulation, by running the test `name` again.
fn on_emulation(name: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--nocapture"]).env(INSIDE, "1");
    let output = command.env("LD_LIBRARY_PATH", emulation::libraries()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

fn bytes(count: u64) -> Vec<u8> {
    (0..count).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

#[test]
fn a_ring_carries_what_is_larger_than_it_in_both_directions() {
    on_emulation("a_ring_carries_what_is_larger_than_it_in_both_directions", || {
        let gpu = Gpu::open(0).unwrap();
        let mut ring = Ring::new(&gpu, 3, ByteSize::new(4096)).unwrap();
        for count in [0, 1, 4095, 4096, 4097, 3 * 4096, 100_000] {
            let content = bytes(count);
            let read = |at: u64, into: &mut [u8]| -> io::Result<()> {
                into.copy_from_slice(&content[at as usize..at as usize + into.len()]);
                Ok(())
            };
            let memory = gpu.allocate(count + 512).unwrap();
            ring.upload(&read, count, &memory, 256).unwrap();
            let mut back = Vec::new();
            ring.download(&memory, 256, count, &mut |at, part| {
                assert_eq!(at, back.len() as u64, "parts come in order");
                assert!(part.len() <= 4096 && same(&read, at, part).unwrap());
                back.extend_from_slice(part);
                Ok::<_, GpuError>(())
            })
            .unwrap();
            assert!(back == content, "{count} bytes");
            if count > 0 {
                back[count as usize / 2] ^= 1;
                assert!(!same(&read, 0, &back).unwrap());
            }
        }
        // Buffers of several pieces that threads fill, and no more of them than are filled at a time.
        let (content, count) = (bytes(11 << 20), 11 << 20);
        let read = |at: u64, into: &mut [u8]| -> io::Result<()> {
            into.copy_from_slice(&content[at as usize..at as usize + into.len()]);
            Ok(())
        };
        let mut pieces = Ring::new(&gpu, 2, ByteSize::new((5 << 19) + 17)).unwrap();
        let memory = gpu.allocate(count).unwrap();
        pieces.upload(&read, count, &memory, 0).unwrap();
        let mut whole = true;
        pieces
            .download(&memory, 0, count, &mut |at, part| {
                whole &= same(&read, at, part).unwrap();
                Ok::<_, GpuError>(())
            })
            .unwrap();
        assert!(whole);
        let fails = |at: u64, _: &mut [u8]| if at < 8192 { Ok(()) } else { Err(io::Error::other("cut short")) };
        let memory = gpu.allocate(1 << 20).unwrap();
        let error = ring.upload(&fails, 1 << 20, &memory, 0).unwrap_err();
        assert!(matches!(&error, TransferError::Read(error) if error.to_string() == "cut short"), "{error}");
        ring.upload(&|_, _| Ok(()), 1 << 20, &memory, 0).unwrap();
    });
}

#[test]
fn memory_is_counted_and_its_lack_is_typed() {
    on_emulation("memory_is_counted_and_its_lack_is_typed", || {
        let gpu = Gpu::open(0).unwrap();
        let memory = gpu.allocate(3 << 20).unwrap();
        assert_eq!(gpu.memory().unwrap().used(), ByteSize::mib(3));
        assert_eq!(
            gpu.allocate(1 << 30).unwrap_err(),
            GpuError::OutOfMemory { bytes: ByteSize::gib(1), free: ByteSize::mib(1021), total: ByteSize::gib(1) }
        );
        drop(memory);
        assert_eq!(gpu.memory().unwrap().used(), ByteSize::ZERO);
        assert!(matches!(Gpu::open(1), Err(GpuError::NoSuchDevice { index: 1, count: 1 })));
    });
}

#[test]
fn a_clock_of_events_tells_the_time_between_marks() {
    on_emulation("a_clock_of_events_tells_the_time_between_marks", || {
        let gpu = Gpu::open(0).unwrap();
        let stream = Stream::default_of(&gpu);
        let memory = gpu.allocate(8 << 20).unwrap();
        let (mut clock, mut cache) = (CudaClock::new(&stream).unwrap(), CudaCache::new(&stream));
        assert_eq!(cache.prepare().unwrap().written, ByteSize::mib(256), "the emulated L2 is small");
        for _ in 0..2 {
            clock.start(3).unwrap();
            clock.mark();
            stream.fill(&memory, 0, 8 << 20, 1).unwrap();
            clock.mark();
            clock.mark();
            let times = clock.resolve().unwrap();
            assert_eq!(times.len(), 2);
            assert!(times[0] > 0.0 && times[1] == 0.0, "{times:?}");
            assert_eq!(clock.late(), None);
        }
        cache.flush();
        cache.intact().unwrap();
    });
}

#[test]
fn criterion_measures_on_the_device() {
    on_emulation("criterion_measures_on_the_device", || {
        let time = CudaTime::new(0).unwrap();
        let stream = Stream::default_of(time.gpu());
        let memory = time.gpu().allocate(8 << 20).unwrap();
        let start = time.start();
        stream.fill(&memory, 0, 8 << 20, 1).unwrap();
        let once = time.end(start);
        assert!(once > 0.0);
        assert_eq!(time.to_f64(&time.add(&once, &time.zero())), once);
    });
}

#[test]
fn without_a_driver_criterion_is_told_so() {
    if let Err(error) = CudaTime::new(0) {
        assert!(error.is_absence(), "{error}");
    }
}
