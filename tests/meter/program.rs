//! Programs of known behaviour, in processes of this test binary, driven line by line.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use plimsoll::ByteSize;
use plimsoll::meter::{Cgroup, Meter, MeterOptions, ProcessMemory};
use rustix::mm::{MapFlags, ProtFlags};

use crate::support::resident;

/// A program under test, and how to drive it.
pub struct Program {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Program {
    pub fn start() -> Self {
        Self::spawn(&mut Self::command())
    }

    /// Starts one that is in `group` before it executes anything.
    pub fn start_in(group: &Cgroup) -> Self {
        let join = group.join_fd().unwrap();
        let mut command = Self::command();
        // SAFETY: between fork and exec it makes one system call on a descriptor that outlives it, and allocates nothing.
        unsafe {
            command.pre_exec(move || {
                rustix::io::write(&join, b"0")?;
                Ok(())
            });
        }
        Self::spawn(&mut command)
    }

    /// Its command, which reads steps from standard input.
    pub fn command() -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--ignored", "--exact", "program::program", "--nocapture", "--test-threads=1"])
            .env("PLIMSOLL_TEST_PROGRAM", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut program = Self { child, input, output };
        program.order("nothing");
        program
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Makes it do a `step` that it does not survive; returns how it ended.
    pub fn dies_of(&mut self, step: &str) -> std::process::ExitStatus {
        // The program may be gone by now.
        let _ = writeln!(self.input, "{step}");
        std::io::copy(&mut self.output, &mut std::io::sink()).unwrap();
        self.child.wait().unwrap()
    }

    /// Makes it do `step` and waits until that is done; returns its answer.
    pub fn order(&mut self, step: &str) -> String {
        writeln!(self.input, "{step}").unwrap();
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the program ended in `{step}`");
            // The test harness writes lines of its own, and the answer may follow one.
            if let Some((_, answer)) = line.trim_end().split_once("done:") {
                return answer.to_owned();
            }
        }
    }

    /// A child that holds `mib` MiB; returns its id, and its initial `ru_maxrss`.
    pub fn child(&mut self, mib: u64) -> (u32, ByteSize) {
        let answer = self.order(&format!("child {mib}"));
        let (pid, kib) = answer.split_once(' ').unwrap();
        (pid.parse().unwrap(), ByteSize::new(kib.parse::<u64>().unwrap() << 10))
    }

    pub fn meter(&self, interval: Duration) -> Meter {
        self.meter_with(MeterOptions { sample_interval: interval, ..MeterOptions::default() })
    }

    /// Meters it according to `options`.
    pub fn meter_with(&self, options: MeterOptions) -> Meter {
        Meter::start_with(MeterOptions { root: self.pid(), ..options }).unwrap()
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

/// Touches this many blocks of 64 KiB of this thread's stack.
#[inline(never)]
/// Recurses until the stack reaches `bytes` below `top`: the compiler decides the length of a frame.
fn deeper(top: usize, bytes: usize) -> u8 {
    let block = std::hint::black_box([1u8; 1 << 12]);
    let reached = top - block.as_ptr() as usize >= bytes;
    if reached { block[7] } else { deeper(top, bytes).wrapping_add(block[9]) }
}

fn advise(bytes: &mut [u8], advice: rustix::mm::Advice) {
    // SAFETY: the slice is a whole mapping of `map`; none of the pieces of advice used here changes what it holds.
    unsafe { rustix::mm::madvise(bytes.as_mut_ptr().cast(), bytes.len(), advice).unwrap() }
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
    let mut blocks_held: Vec<Vec<u8>> = Vec::new();
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
            "faults" => {
                let bytes = map(size.parse().unwrap(), MapFlags::PRIVATE, None);
                advise(bytes, rustix::mm::Advice::LinuxNoHugepage);
                touch(bytes);
                held.push(bytes);
            }
            "pageout" => {
                let bytes = map(size.parse().unwrap(), MapFlags::PRIVATE, None);
                advise(bytes, rustix::mm::Advice::LinuxNoHugepage);
                touch(bytes);
                // The kernel is asked again for what it could not write out at once.
                let in_swap = || ProcessMemory::read(std::process::id()).unwrap().swap.unwrap().bytes();
                let whole = bytes.len() as u64;
                for _ in 0..100 {
                    advise(bytes, rustix::mm::Advice::LinuxPageOut);
                    if in_swap() >= whole {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(10));
                }
                answer = in_swap().to_string();
                held.push(bytes);
            }
            "heap" => {
                let blocks: usize = size.parse::<usize>().unwrap() * 16;
                blocks_held.extend((0..blocks).map(|_| vec![1u8; 1 << 16]));
            }
            "stacks" => {
                let (threads, mib) = size.split_once(' ').unwrap();
                let bytes = mib.parse::<usize>().unwrap() << 20;
                for _ in 0..threads.parse().unwrap() {
                    let (done, wait) = std::sync::mpsc::channel();
                    let run = move || {
                        let top = &raw const done as usize;
                        done.send(deeper(top, bytes)).unwrap();
                        std::thread::park();
                    };
                    std::thread::Builder::new().stack_size(64 << 20).spawn(run).unwrap();
                    wait.recv().unwrap();
                }
            }
            "tmpfs" => {
                let file = tempfile::tempfile_in("/dev/shm").unwrap();
                let mib: usize = size.parse().unwrap();
                rustix::fs::ftruncate(&file, (mib << 20) as u64).unwrap();
                let bytes = map(mib, MapFlags::SHARED, Some(&file));
                touch(bytes);
                held.push(bytes);
            }
            "short" => {
                // Touched, held and freed within some milliseconds, however long touching takes.
                let bytes = map(size.parse().unwrap(), MapFlags::PRIVATE, None);
                touch(bytes);
                std::thread::sleep(Duration::from_millis(5));
                unmap(bytes);
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
            "spread" => {
                let (threads, mib) = size.split_once(' ').unwrap();
                let (threads, mib) = (threads.parse::<usize>().unwrap(), mib.parse().unwrap());
                let touched = Arc::new(Barrier::new(threads + 1));
                let freed = Arc::new(Barrier::new(threads + 1));
                for _ in 0..threads {
                    let (touched, freed) = (Arc::clone(&touched), Arc::clone(&freed));
                    std::thread::spawn(move || {
                        let bytes = map(mib, MapFlags::PRIVATE, None);
                        advise(bytes, rustix::mm::Advice::LinuxNoHugepage);
                        touch(bytes);
                        touched.wait();
                        touched.wait();
                        unmap(bytes);
                        freed.wait();
                        std::thread::park();
                    });
                }
                touched.wait();
                answer = resident(std::process::id()).0.to_string();
                touched.wait();
                freed.wait();
            }
            "child" => {
                let mut child = std::thread::spawn(Program::start).join().unwrap();
                let inherited = child.order("maxrss");
                child.order(&format!("allocate {size}"));
                answer = format!("{} {inherited}", child.pid());
                children.push(child);
            }
            "run" => {
                for _ in 0..size.parse().unwrap() {
                    assert!(Command::new("true").status().unwrap().success());
                }
            }
            "meter" => {
                let options = MeterOptions { sample_interval: Duration::from_secs(60), ..MeterOptions::default() };
                let meter = Meter::start_with(options.clone()).unwrap();
                let other = Meter::start_with(options).unwrap();
                for phase in ["spike", "quiet"] {
                    meter.phase(phase);
                    if phase == "spike" {
                        let bytes = map(64, MapFlags::PRIVATE, None);
                        touch(bytes);
                        unmap(bytes);
                    }
                }
                if size == "2" {
                    other.phase("of the other");
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
                // SAFETY: the child only writes to its own memory, and stops until it is killed.
                let pid = unsafe { libc::fork() };
                if pid == 0 {
                    held.iter_mut().for_each(|bytes| touch(&mut bytes[..size.parse::<usize>().unwrap() << 20]));
                    // SAFETY: neither takes a pointer.
                    unsafe {
                        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                        loop {
                            libc::raise(libc::SIGSTOP);
                        }
                    }
                }
                // SAFETY: no status is requested; the call returns once the child has stopped.
                assert_eq!(unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WUNTRACED) }, pid);
            }
            _ => panic!("no step `{step}`"),
        }
        println!("done:{answer}");
    }
    // The harness would write its summary to a pipe that nobody reads any more.
    std::process::exit(0);
}
