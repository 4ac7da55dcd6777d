//! The meter against programs of known behaviour: what each is known to take must be read, and the label be honest.
//!
//! The programs are [`program`] in processes of this test binary, driven line by line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use plimsoll::ByteSize;
use plimsoll::bytes::MIB;
use plimsoll::ceiling::{CeilingStatus, judge};
use plimsoll::meter::{
    Meter, MeterOptions, Metric, PhaseReadings, ProcessId, ProcessMemory, ProcessPeak, Release, Source, SystemMemory,
    Watch, process_tree,
};
use rustix::mm::{MapFlags, ProtFlags};

/// Exact readings are within this of the truth.
const MARGIN: u64 = MIB;

/// A program under test, and the way to drive it.
struct Program {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "program", "--nocapture", "--test-threads=1"])
            .env("PLIMSOLL_TEST_PROGRAM", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut program = Self { child, input, output };
        program.tell("nothing");
        program
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Has it do `step`, and waits until that is done; what it answers.
    fn tell(&mut self, step: &str) -> String {
        writeln!(self.input, "{step}").unwrap();
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the program ended in `{step}`");
            // The harness of the tests writes lines of its own, and this may stand behind one.
            if let Some((_, answer)) = line.trim_end().split_once("done:") {
                return answer.to_owned();
            }
        }
    }

    /// A child of it that holds `mib` MiB; its id, and the `ru_maxrss` that it began with.
    fn child(&mut self, mib: u64) -> (u32, ByteSize) {
        let answer = self.tell(&format!("child {mib}"));
        let (pid, kib) = answer.split_once(' ').unwrap();
        (pid.parse().unwrap(), ByteSize::new(kib.parse::<u64>().unwrap() << 10))
    }

    fn meter(&self, interval: Duration) -> Meter {
        Meter::start(MeterOptions { root: self.pid(), interval, ..MeterOptions::default() }).unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn touch(bytes: &mut [u8]) {
    bytes.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
}

fn map(mib: usize, flags: MapFlags, file: Option<&std::fs::File>) -> &'static mut [u8] {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a fresh mapping at an address of the kernel's choice, of this length, that nobody else refers to.
    unsafe {
        let pointer = match file {
            Some(file) => rustix::mm::mmap(std::ptr::null_mut(), mib << 20, protection, flags, file, 0),
            None => rustix::mm::mmap_anonymous(std::ptr::null_mut(), mib << 20, protection, flags),
        };
        std::slice::from_raw_parts_mut(pointer.unwrap().cast(), mib << 20)
    }
}

fn unmap(bytes: &mut [u8]) {
    // SAFETY: the slice is a whole mapping of `map`, and is not used again.
    unsafe { rustix::mm::munmap(bytes.as_mut_ptr().cast(), bytes.len()).unwrap() }
}

/// The programs: each line of the input is a step.
#[test]
#[ignore = "the program that the other tests start"]
fn program() {
    if std::env::var_os("PLIMSOLL_TEST_PROGRAM").is_none() {
        return;
    }
    let mut held: Vec<&'static mut [u8]> = Vec::new();
    let mut children: Vec<Program> = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let (step, size) = line.split_once(' ').unwrap_or((&line, "0"));
        let mut answer = String::new();
        match step {
            "nothing" => {}
            "allocate" => {
                let bytes = map(size.parse().unwrap(), MapFlags::PRIVATE, None);
                touch(bytes);
                held.push(bytes);
            }
            "spike" => {
                let bytes = map(size.parse().unwrap(), MapFlags::PRIVATE, None);
                touch(bytes);
                unmap(bytes);
            }
            "file" => {
                let file = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
                let mib: u64 = size.parse().unwrap();
                (0..mib * 16).for_each(|_| (&file).write_all(&[1; 1 << 16]).unwrap());
                let bytes = map(mib as usize, MapFlags::SHARED, Some(&file));
                assert_eq!(bytes.iter().step_by(4096).map(|&byte| u64::from(byte)).sum::<u64>(), mib * 256);
                held.push(bytes);
            }
            "shmem" => {
                let file = rustix::fs::memfd_create("plimsoll", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
                let mib: usize = size.parse().unwrap();
                rustix::fs::ftruncate(&file, (mib << 20) as u64).unwrap();
                let bytes = map(mib, MapFlags::SHARED, Some(&file.into()));
                touch(bytes);
                held.push(bytes);
            }
            "threads" => {
                for _ in 0..size.parse().unwrap() {
                    std::thread::spawn(std::thread::park);
                }
            }
            "child" => {
                let mut child = std::thread::spawn(Program::start).join().unwrap();
                let inherited = child.tell("maxrss");
                child.tell(&format!("allocate {size}"));
                answer = format!("{} {inherited}", child.pid());
                children.push(child);
            }
            "run" => assert!(Command::new("true").status().unwrap().success()),
            "meter" => {
                let meter = Meter::start(MeterOptions { interval: Duration::from_secs(60), ..MeterOptions::default() });
                let meter = meter.unwrap();
                for phase in ["spike", "quiet"] {
                    meter.phase(phase);
                    if phase == "spike" {
                        let bytes = map(64, MapFlags::PRIVATE, None);
                        touch(bytes);
                        unmap(bytes);
                    }
                }
                answer = serde_json::to_string(&meter.finish()).unwrap();
            }
            "maxrss" => {
                // SAFETY: `rusage` is plain integers, for which zeros are values, and getrusage fills it.
                let usage = unsafe {
                    let mut usage: libc::rusage = std::mem::zeroed();
                    libc::getrusage(libc::RUSAGE_SELF, &mut usage);
                    usage
                };
                answer = usage.ru_maxrss.to_string();
            }
            "fork" => {
                // SAFETY: the child only writes to memory that is its own and waits to be killed.
                let pid = unsafe { libc::fork() };
                if pid == 0 {
                    held.iter_mut().for_each(|bytes| touch(&mut bytes[..size.parse::<usize>().unwrap() << 20]));
                    // SAFETY: pause has no arguments.
                    unsafe {
                        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                        loop {
                            libc::pause();
                        }
                    }
                }
                answer = pid.to_string();
            }
            _ => panic!("no step `{step}`"),
        }
        println!("done:{answer}");
    }
    // The harness would write its summary to a pipe that nobody reads any more.
    std::process::exit(0);
}

fn close(read: ByteSize, truth: u64) -> bool {
    read.bytes().abs_diff(truth) <= MARGIN.max(truth / 100)
}

#[track_caller]
fn assert_close(what: &str, read: ByteSize, truth: u64) {
    assert!(close(read, truth), "{what}: {read}, and is {}", ByteSize::new(truth));
}

fn bytes(phase: &PhaseReadings, metric: Metric) -> ByteSize {
    phase.readings.get(&metric).unwrap_or_else(|| panic!("no {metric}: {:?}", phase.unavailable)).bytes
}

fn of(phase: &PhaseReadings, pid: u32) -> &ProcessPeak {
    phase.processes.iter().find(|process| process.pid == pid).unwrap()
}

fn base(memory: Option<ByteSize>) -> u64 {
    memory.unwrap().bytes()
}

#[test]
fn memory_of_each_kind_is_told_apart() {
    let mut program = Program::start();
    let meter = program.meter(Duration::from_millis(2));
    let before = ProcessMemory::read(program.pid()).unwrap();
    for step in ["allocate 96", "shmem 64", "file 48"] {
        meter.phase(step);
        program.tell(step);
    }
    let phases = meter.finish();
    let [anon, shmem, file] = &phases[..] else { panic!("{phases:?}") };
    assert_close("anonymous", bytes(anon, Metric::PeakAnon), base(before.anon) + 96 * MIB);
    assert_close("shared", bytes(shmem, Metric::PeakShmem), base(before.shmem) + 64 * MIB);
    assert_close("file-backed", bytes(file, Metric::PeakFile), base(before.file) + 48 * MIB);
    assert!(
        matches!(anon.readings[&Metric::PeakAnon].source, Source::Sampled { interval_ns } if interval_ns >= 2_000_000)
    );
    let mut truth = before.rss.bytes();
    for (phase, mib) in [(anon, 96), (shmem, 64), (file, 48)] {
        truth += mib * MIB;
        let peak = &phase.readings[&Metric::PeakRss];
        assert_close(&phase.phase, peak.bytes, truth);
        assert_eq!((peak.source, peak.counter.as_str()), (Source::Exact, "VmHWM"));
        // What a single process shares with nobody but the tests is its own.
        let pss = bytes(phase, Metric::PeakPss);
        assert!(pss <= peak.bytes && pss.bytes() + 8 * MIB > truth, "{pss} of {}", peak.bytes);
        assert_eq!(bytes(phase, Metric::PeakSwap), ByteSize::ZERO);
        assert!(bytes(phase, Metric::AvailableFloor) < SystemMemory::read().unwrap().total);
        assert!(phase.readings.contains_key(&Metric::SwapGrowth) && phase.unavailable.is_empty());
        assert!(phase.timeline.len() >= 2 && phase.timeline.is_sorted_by_key(|point| point.at_ns));
        assert!(phase.timeline.iter().any(|point| close(point.rss, truth)));
    }
}

#[test]
fn a_spike_between_two_samples_is_in_the_exact_peak_and_in_no_other() {
    let mut program = Program::start();
    let before = ProcessMemory::read(program.pid()).unwrap();
    let meter = program.meter(Duration::from_secs(60));
    meter.phase("spike");
    program.tell("spike 64");
    meter.phase("quiet");
    program.tell("nothing");
    let phases = meter.finish();
    let [spike, quiet] = &phases[..] else { panic!("{phases:?}") };
    assert_close("peak", bytes(spike, Metric::PeakRss), before.rss.bytes() + 64 * MIB);
    assert_eq!(spike.readings[&Metric::PeakRss].source, Source::Exact);
    assert_close("sampled", bytes(spike, Metric::PeakAnon), base(before.anon));
    // The mark of a foreign process still holds the spike of the phase before, which must not be taken for this one's.
    assert_close("quiet", bytes(quiet, Metric::PeakRss), before.rss.bytes());
    assert_eq!(quiet.readings[&Metric::PeakRss].source, Source::Sampled { interval_ns: 60_000_000_000 });
}

#[test]
fn the_own_peak_is_exact_in_every_phase() {
    let mut program = Program::start();
    let before = ProcessMemory::read(program.pid()).unwrap();
    let phases: Vec<PhaseReadings> = serde_json::from_str(&program.tell("meter")).unwrap();
    for (phase, mib) in phases.iter().zip([64, 0]) {
        let peak = &phase.readings[&Metric::PeakRss];
        assert_close(&phase.phase, peak.bytes, before.rss.bytes() + mib * MIB);
        assert_eq!(peak.source, Source::Exact, "{}", phase.phase);
    }
}

#[test]
fn a_child_of_a_large_parent_is_not_taken_for_large() {
    let mut program = Program::start();
    program.tell("allocate 200");
    let meter = program.meter(Duration::from_millis(1));
    meter.phase("spawn");
    let (pid, maxrss) = program.child(8);
    let truth = ProcessMemory::read(pid).unwrap();
    let parent = ProcessMemory::read(program.pid()).unwrap();
    let phase = meter.finish().remove(0);
    let child = of(&phase, pid);
    assert_close("child", child.peak_rss.bytes, base(truth.peak_rss));
    assert_eq!(child.peak_rss.source, Source::Exact);
    assert!(child.peak_rss.bytes < ByteSize::mib(40), "{child:?}");
    assert!(maxrss > ByteSize::mib(200), "the fact that this test stands on: ru_maxrss is inherited; it is {maxrss}");
    assert_close("tree", bytes(&phase, Metric::PeakRss), parent.rss.bytes() + truth.rss.bytes());
}

#[test]
fn a_tree_is_summed_at_one_instant() {
    let mut program = Program::start();
    program.tell("threads 20");
    let meter = program.meter(Duration::from_millis(5));
    meter.phase("tree");
    let pids: Vec<u32> = [32, 48].map(|mib| program.child(mib).0).into();
    meter.name_process(pids[0], "worker 1");
    let truth: u64 =
        pids.iter().chain([&program.pid()]).map(|&pid| ProcessMemory::read(pid).unwrap().rss.bytes()).sum();
    let tree: Vec<u32> = process_tree(program.pid()).unwrap().iter().map(|id| id.pid).collect();
    assert_eq!(tree[0], program.pid());
    assert!(tree.len() == 3 && pids.iter().all(|pid| tree.contains(pid)), "{tree:?}");
    let phase = meter.finish().remove(0);
    assert_close("tree", bytes(&phase, Metric::PeakRss), truth);
    assert!(matches!(phase.readings[&Metric::PeakRss].source, Source::Sampled { .. }));
    assert_eq!(of(&phase, pids[0]).name, "worker 1");
    assert_eq!(phase.processes[0].pid, pids[1], "the largest is first");
    assert!(bytes(&phase, Metric::PeakPss) < bytes(&phase, Metric::PeakRss));
}

#[test]
fn a_process_that_ends_is_exact_only_where_it_was_observed() {
    for observed in [true, false] {
        let mut program = Program::start();
        let pid = program.pid();
        let meter =
            Meter::start(MeterOptions { interval: Duration::from_millis(2), ..MeterOptions::default() }).unwrap();
        meter.phase("worker");
        program.tell("allocate 40");
        program.tell("spike 40");
        let truth = ProcessMemory::read(pid).unwrap().peak_rss.unwrap();
        if observed {
            meter.observe_exit(pid);
        } else {
            std::thread::sleep(Duration::from_millis(50));
        }
        drop(program);
        std::thread::sleep(Duration::from_millis(50));
        let phase = meter.finish().remove(0);
        let worker = &of(&phase, pid).peak_rss;
        let source = if observed { Source::Exact } else { Source::LowerBound };
        assert_close("worker", worker.bytes, truth.bytes());
        assert_eq!(worker.source, source);
    }
}

#[test]
fn a_forked_child_shares_what_it_does_not_write() {
    let mut program = Program::start();
    program.tell("allocate 64");
    let meter = program.meter(Duration::from_millis(5));
    meter.phase("fork");
    let pid: u32 = program.tell("fork 16").parse().unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while ProcessMemory::read(pid).unwrap().rss < ByteSize::mib(64) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(200));
    let phase = meter.finish().remove(0);
    // Both hold the 64 MiB, but only the 16 that the child wrote exist twice.
    let (rss, pss) = (bytes(&phase, Metric::PeakRss).bytes(), bytes(&phase, Metric::PeakPss).bytes());
    assert!((128 * MIB..152 * MIB).contains(&rss), "{}", ByteSize::new(rss));
    assert!((80 * MIB..92 * MIB).contains(&pss), "{}", ByteSize::new(pss));
}

#[test]
fn a_tree_with_a_child_too_short_to_see_is_not_called_exact() {
    let mut program = Program::start();
    let meter = program.meter(Duration::from_secs(60));
    meter.phase("alone");
    program.tell("nothing");
    program.tell("allocate 2");
    meter.phase("not alone");
    program.tell("run");
    program.tell("allocate 2");
    let phases = meter.finish();
    assert_eq!(phases[0].readings[&Metric::PeakRss].source, Source::Exact);
    assert_ne!(phases[1].readings[&Metric::PeakRss].source, Source::Exact);
}

#[test]
fn a_runaway_process_is_told_at_once() {
    let mut program = Program::start();
    let limit = ByteSize::mib(100);
    let watches =
        vec![Watch { metric: Metric::PeakAnon, limit }, Watch { metric: Metric::PeakRss, limit: ByteSize::gib(900) }];
    let root = program.pid();
    let meter = Meter::start(MeterOptions { root, watches, ..MeterOptions::default() }).unwrap();
    meter.name_process(root, "worker 1");
    meter.phase("validate");
    program.tell("allocate 50");
    assert_eq!(meter.breach(), None);
    program.tell("allocate 60");
    let mut poll = [rustix::event::PollFd::from_borrowed_fd(meter.breach_fd(), rustix::event::PollFlags::IN)];
    let timeout = rustix::event::Timespec { tv_sec: 10, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut poll, Some(&timeout)).unwrap(), 1);
    let breach = meter.breach().unwrap();
    assert_eq!((breach.metric, breach.limit, breach.phase.as_str()), (Metric::PeakAnon, limit, "validate"));
    assert!(breach.reading.bytes > limit && breach.reading.bytes < ByteSize::mib(120));
    let holder = breach.process.unwrap();
    assert_eq!((holder.pid, holder.name.as_str()), (root, "worker 1"));
    // It is told once, not in every sample.
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(meter.breach(), None);
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut poll, Some(&now)).unwrap(), 0);
}

#[test]
fn a_root_that_ends_ends_no_meter() {
    let mut program = Program::start();
    let meter = program.meter(Duration::from_millis(1));
    meter.phase("alive");
    program.tell("allocate 40");
    std::thread::sleep(Duration::from_millis(50));
    drop(program);
    std::thread::sleep(Duration::from_millis(20));
    meter.phase("gone");
    let phases = meter.finish();
    assert_ne!(phases[0].readings[&Metric::PeakRss].source, Source::Exact);
    assert_eq!(phases[0].processes[0].peak_rss.source, Source::LowerBound);
    assert!(!phases[1].readings.contains_key(&Metric::PeakRss), "nothing is no reading of 0: {:?}", phases[1].readings);
    assert!(phases[1].unavailable[&Metric::PeakRss].contains("no process"));
}

#[test]
fn a_meter_of_no_process_is_refused() {
    let error = Meter::start(MeterOptions { root: u32::MAX, ..MeterOptions::default() }).unwrap_err();
    assert!(error.to_string().contains("/proc/4294967295/stat"), "{error}");
}

#[test]
fn the_memory_of_a_worker_that_is_gone_is_back() {
    let available_before = SystemMemory::read().unwrap().available;
    let mut program = Program::start();
    program.tell("allocate 300");
    let release = Release::begin(ProcessId::of(program.pid()).unwrap(), available_before);
    drop(program);
    // Others take memory on this machine too, so that no more can be said of what is available.
    let proof = release.wait(ByteSize::mib(1024), Duration::from_secs(20));
    assert!(proof.holds(), "{proof:?}");
    assert!(proof.worker_peak_rss >= proof.worker_rss_at_end && proof.worker_rss_at_end > Some(ByteSize::mib(300)));
}

#[test]
fn a_ceiling_names_the_process_that_broke_it() {
    let mut program = Program::start();
    let meter = program.meter(Duration::from_millis(10));
    meter.name_process(program.pid(), "worker 1");
    meter.phase("validate");
    program.tell("allocate 80");
    let verdicts =
        judge(&meter.finish(), &"peak_rss = 64 MiB, peak_anon = 1 GiB, swap_growth = 1 GiB".parse().unwrap());
    let status: Vec<CeilingStatus> = verdicts.iter().map(|verdict| verdict.status).collect();
    assert_eq!(status, [CeilingStatus::Broken, CeilingStatus::Holds, CeilingStatus::Holds], "{verdicts:#?}");
    assert!(verdicts[0].message.contains("phase `validate`") && verdicts[0].message.contains("worker 1"));
    assert_eq!(verdicts[0].reading.as_ref().unwrap().source, Source::Exact);
}
