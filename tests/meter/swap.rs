//! Memory that is really swapped out, to the test's own swap file.

use std::ffi::CString;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use plimsoll::ByteSize;
use plimsoll::bytes::MIB;
use plimsoll::meter::{Cgroup, MeterOptions, Metric, Source, SwapScope};

use crate::possible::{cgroup, possible};
use crate::program::Program;
use crate::support::{MARGIN, assert_close, bytes};

/// One swap file at a time.
static ONE: Mutex<()> = Mutex::new(());

/// A swap file in use, disabled on drop.
struct SwapFile {
    path: PathBuf,
    _one: MutexGuard<'static, ()>,
}

impl SwapFile {
    /// The reason if this machine does not let a test swap.
    fn new(mib: u64) -> Result<Self, String> {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        if !rustix::process::geteuid().is_root() {
            return Err("only root may add a swap file".to_owned());
        }
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("swap-{}", std::process::id()));
        let file = Self { path, _one: one };
        file.write(mib).map_err(|error| format!("{}: {error}", file.path.display()))?;
        let name = CString::new(file.path.as_os_str().as_bytes()).unwrap();
        // SAFETY: the path is a string with its end, which the call only reads.
        if unsafe { libc::swapon(name.as_ptr(), 0) } != 0 {
            return Err(format!("swapon: {}", std::io::Error::last_os_error()));
        }
        Ok(file)
    }

    /// The output of mkswap: a first page with version, last page and a mark at its end (`union swap_header` of the
    /// kernel), and no holes after it.
    fn write(&self, mib: u64) -> std::io::Result<()> {
        use std::os::unix::fs::OpenOptionsExt as _;
        let page = rustix::param::page_size();
        let mut file =
            std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&self.path)?;
        let mut header = vec![0u8; page];
        let last_page = u32::try_from((mib << 20) / page as u64 - 1).unwrap();
        header[1024..1028].copy_from_slice(&1u32.to_ne_bytes());
        header[1028..1032].copy_from_slice(&last_page.to_ne_bytes());
        header[page - 10..].copy_from_slice(b"SWAPSPACE2");
        file.write_all(&header)?;
        let block = vec![0u8; page];
        (0..last_page).try_for_each(|_| file.write_all(&block))?;
        file.sync_all()
    }
}

impl Drop for SwapFile {
    fn drop(&mut self) {
        if let Ok(name) = CString::new(self.path.as_os_str().as_bytes()) {
            // SAFETY: the path is a terminated string that the call only reads. It fails if the file is not in use.
            unsafe { libc::swapoff(name.as_ptr()) };
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A swap file for one test; `None` if the machine cannot have one.
fn swap_file(mib: u64) -> Option<SwapFile> {
    let file = SwapFile::new(mib);
    possible("swap", file.as_ref().map(|_| ()).map_err(String::clone)).then(|| file.ok()).flatten()
}

#[test]
fn memory_that_was_swapped_out_is_of_the_tree_and_of_the_system() {
    let Some(_swap) = swap_file(160) else { return };
    for swap in [SwapScope::Tree, SwapScope::System] {
        let mut program = Program::start();
        let meter = program.meter_with(MeterOptions { swap, ..MeterOptions::default() });
        meter.phase("swap");
        let truth: u64 = program.order("pageout 64").parse().unwrap();
        let phase = meter.finish().remove(0);
        assert_close("written out", ByteSize::new(truth), 64 * MIB);
        assert_close("of the tree", bytes(&phase, Metric::PeakSwap), truth);
        let growth = &phase.readings[&Metric::SwapGrowth];
        match swap {
            SwapScope::Tree => assert_close("growth of the tree", growth.bytes, truth),
            // Others may swap too.
            SwapScope::System => assert!(growth.bytes.bytes() + MARGIN >= truth, "{growth:?}"),
        }
        assert!(matches!(growth.source, Source::Sampled { .. }), "{growth:?}");
        assert!(growth.counter.contains(if swap == SwapScope::Tree { "VmSwap" } else { "SwapFree" }), "{growth:?}");
        assert_close("at the end", phase.at_end.unwrap().swap.unwrap(), truth);
    }
}

#[test]
fn a_neighbour_that_swaps_is_not_counted_for_the_tree() {
    let Some(_swap) = swap_file(160) else { return };
    let (mut program, mut neighbour) = (Program::start(), Program::start());
    let meter = program.meter_with(MeterOptions { swap: SwapScope::Tree, ..MeterOptions::default() });
    meter.phase("quiet");
    neighbour.order("pageout 64");
    program.order("nothing");
    let phase = meter.finish().remove(0);
    assert_eq!(bytes(&phase, Metric::SwapGrowth), ByteSize::ZERO);
}

#[test]
fn what_a_group_has_no_room_for_is_swapped() {
    if !possible("cgroup", cgroup()) {
        return;
    }
    let Some(_swap) = swap_file(256) else { return };
    let group = Cgroup::create("swap").unwrap();
    group.limit_memory(ByteSize::mib(64)).unwrap();
    let mut program = Program::start_in(&group);
    let meter = program.meter_with(MeterOptions { cgroup: Some(group.clone()), ..MeterOptions::default() });
    meter.phase("beyond");
    program.order("allocate 160");
    let in_group = group.swap().unwrap();
    let phase = meter.finish().remove(0);
    let swapped = bytes(&phase, Metric::PeakSwap);
    let keeps_a_mark = group.path().join("memory.swap.peak").exists();
    assert_eq!(phase.readings[&Metric::PeakSwap].source == Source::Exact, keeps_a_mark, "{:?}", phase.readings);
    assert!(swapped >= ByteSize::mib(96) && swapped <= ByteSize::mib(176), "{swapped}");
    assert!(in_group >= ByteSize::mib(96), "{in_group}");
    assert_close("peak", bytes(&phase, Metric::PeakCgroup), 64 * MIB);
    let end = phase.at_end.unwrap();
    assert_close(
        "all of it",
        end.anon.unwrap() + end.swap.unwrap(),
        phase.at_start.unwrap().anon.unwrap().bytes() + 160 * MIB,
    );
    assert!(phase.activity.major_faults.is_some());
}
