//! Captures on a local server: streamed validation compared with a plain reader of ranges, and the bytes that a look-up
//! fetches.
//!
//! `cargo bench --features full,remote --bench remote` prints the table of `docs/remote.md`. `-- --dense-mib N` and `--
//! --scale N` (the embedding capture is 1/N, 8 by default) change the sizes. The server is a separate process that maps
//! the files; the plain reader takes the same ranges over as many connections, and drops them.

#[path = "../tests/remote/server.rs"]
mod server;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use plimsoll::capture::synthesize::{self, Computed, ComputedValue, OperatorCall};
use plimsoll::capture::write::Options as WriteOptions;
use plimsoll::capture::{Capture, Dtype, TensorSpec};
use plimsoll::kernel::{Call, Kernel, KernelError, KernelIdentity, OutputBuffer, builtin};
use plimsoll::run::{Launch, Validation};
use plimsoll::{ByteSize, elsewhere};

use server::Server;

/// The default of `plimsoll`.
const CONNECTIONS: usize = 16;
const PIECE: u64 = 8 << 20;

/// How often each side is timed; the table has the fastest, because the machine may be shared.
const ROUNDS: usize = 5;

/// The bytes of the input of an entry, and of its output.
const TENSOR: u64 = 64 << 20;

/// An elementwise kernel: it reads every byte of its input.
struct Negate;

impl Kernel for Negate {
    fn identity(&self) -> KernelIdentity {
        KernelIdentity::new("negate", None)
    }

    fn outputs(&self, call: &Call<'_>) -> Result<Vec<TensorSpec>, KernelError> {
        Ok(vec![call.tensor("input", 0)?.layout().spec()])
    }

    fn launch(&self, call: &Call<'_>, outputs: &mut [OutputBuffer<'_>]) -> Result<(), KernelError> {
        negate(call.tensor("input", 0)?.storage(), outputs[0].bytes_mut());
        Ok(())
    }
}

fn negate(input: &[u8], output: &mut [u8]) {
    output.iter_mut().zip(input).for_each(|(output, input)| *output = !input);
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let after = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1).and_then(|value| value.parse::<u64>().ok())
    };
    if let Some(at) = arguments.iter().position(|argument| argument == "--serve") {
        return serve(Path::new(&arguments[at + 1]));
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    dense(&folder.path().join("dense"), after("--dense-mib").unwrap_or(1024));
    embedding(&folder.path().join("embedding"), after("--scale").unwrap_or(8));
}

/// Serves the files of a folder, mapped, as objects below `/capture`; each line of standard input is answered with the
/// bytes sent since the last one.
fn serve(folder: &Path) {
    let server = Server::start();
    for item in std::fs::read_dir(folder).expect("the folder").flatten() {
        let file = std::fs::File::open(item.path()).expect("a file");
        // SAFETY: nothing writes to the files while the benchmark runs.
        let map = unsafe { memmap2::Mmap::map(&file) }.expect("a map");
        server.put_content(&format!("/capture/{}", item.file_name().to_string_lossy()), Arc::new(map));
    }
    println!("{}", server.url);
    for _ in std::io::stdin().lines() {
        let seen = server.take_seen();
        println!("{} {}", seen.iter().map(|seen| seen.sent).sum::<u64>(), seen.len());
    }
}

/// A server in a process of its own.
struct Serving {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
    url: String,
}

impl Serving {
    fn start(folder: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.arg("--serve").arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let mut answers = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut url = String::new();
        answers.read_line(&mut url).expect("its address");
        Self { child, answers, url: url.trim().to_owned() }
    }

    fn address(&self) -> PathBuf {
        PathBuf::from(format!("{}/capture", self.url))
    }

    /// The bytes sent and the requests answered since the last call.
    fn sent(&mut self) -> (u64, u64) {
        writeln!(self.child.stdin.as_mut().expect("it is piped")).expect("the server listens");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("an answer");
        let (bytes, requests) = line.trim().split_once(' ').expect("two numbers");
        (bytes.parse().expect("a number"), requests.parse().expect("a number"))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn bytes_of(folder: &Path) -> u64 {
    std::fs::read_dir(folder).expect("the folder").flatten().map(|item| item.metadata().expect("a file").len()).sum()
}

/// Reads every file of the folder from the server in ranges, over as many connections, and drops the bytes.
fn plain(serving: &Serving, folder: &Path) {
    let mut ranges = Vec::new();
    for item in std::fs::read_dir(folder).expect("the folder").flatten() {
        let (name, size) = (item.file_name().to_string_lossy().into_owned(), item.metadata().expect("a file").len());
        ranges.extend((0..size).step_by(PIECE as usize).map(|at| (name.clone(), at, (at + PIECE).min(size))));
    }
    ranges.sort();
    let (host, next) = (serving.url.strip_prefix("http://").expect("plain http"), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                let mut stream = TcpStream::connect(host).expect("the server");
                let mut reader = BufReader::with_capacity(64 << 10, stream.try_clone().expect("a socket"));
                let mut buffer = vec![0; 256 << 10];
                while let Some((name, start, end)) = ranges.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let last = end - 1;
                    let request =
                        format!("GET /capture/{name} HTTP/1.1\r\nHost: {host}\r\nRange: bytes={start}-{last}\r\n\r\n");
                    stream.write_all(request.as_bytes()).expect("it is sent");
                    let mut line = String::new();
                    while {
                        line.clear();
                        reader.read_line(&mut line).expect("a header");
                        line != "\r\n"
                    } {}
                    let mut left = end - start;
                    while left > 0 {
                        let most = (buffer.len() as u64).min(left) as usize;
                        left -= reader.read(&mut buffer[..most]).expect("bytes") as u64;
                    }
                }
            });
        }
    });
}

/// The fastest of some rounds, in seconds.
fn fastest(mut work: impl FnMut()) -> f64 {
    let times = (0..ROUNDS).map(|_| {
        let started = Instant::now();
        work();
        started.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Validates the capture at the address; returns this process's peak memory meanwhile, including its files, in bytes.
fn validate(address: &Path, kernel: impl Launch) -> u64 {
    // Resets the kernel's high-water mark if that is allowed.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let local = elsewhere::Local::open(address, &elsewhere::Keep::default()).expect("the capture");
    let capture = Capture::open(local.path()).expect("the capture");
    let report = Validation::of(&capture).run(kernel).expect("a report");
    assert!(report.passed(), "{}", report.summary());
    let status = std::fs::read_to_string("/proc/self/status").expect("the status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

fn dense(folder: &Path, mib: u64) {
    let mut call = OperatorCall::named("bitwise_not");
    call.set(&format!("input=int32[{}]<1000000", TENSOR / 4)).expect("an argument");
    let mut compute = |entry: &plimsoll::capture::Entry| {
        let mapped = entry.map().map_err(|error| error.to_string())?;
        let input = mapped.storage(0).map_err(|error| error.to_string())?;
        let mut output = vec![0; input.len()];
        negate(input, &mut output);
        let spec = TensorSpec { dtype: Dtype::I32, shape: vec![TENSOR / 4] };
        Ok(vec![Computed { path: String::new(), value: ComputedValue::Tensor(spec, output) }])
    };
    let entries = (mib << 20).div_ceil(2 * TENSOR);
    call.write(folder, entries, 0, &WriteOptions::default(), &mut compute).expect("a capture");
    let (total, serving) = (bytes_of(folder), Serving::start(folder));
    let rate = |seconds: f64| total as f64 / 1e9 / seconds;
    let plain_rate = rate(fastest(|| plain(&serving, folder)));
    let mut peak = 0;
    let streamed = rate(fastest(|| peak = validate(&serving.address(), Negate)));
    let copied = rate(fastest(|| {
        let local = elsewhere::Local::open(&serving.address(), &elsewhere::Keep::default()).expect("the capture");
        drop(local);
        assert!(Validation::of(&Capture::open(folder).expect("it")).run(Negate).expect("a report").passed());
    }));
    println!(
        "dense capture of {entries} entries, {}, {CONNECTIONS} connections, pieces of {}",
        ByteSize::new(total),
        ByteSize::new(PIECE)
    );
    println!("| reader | GB/s | of the plain reader |");
    println!("|---|---|---|");
    println!("| plain reader of ranges, bytes dropped | {plain_rate:.2} | 100 % |");
    println!(
        "| streamed validation (peak {}) | {streamed:.2} | {:.0} % |",
        ByteSize::new(peak),
        100.0 * streamed / plain_rate
    );
    println!("| the same validation of local files | {copied:.2} | {:.0} % |", 100.0 * copied / plain_rate);
}

fn embedding(folder: &Path, scale: u64) {
    synthesize::gemma4_e2b_gb10().scale(1, scale).write(folder).expect("a capture");
    let (total, mut serving) = (bytes_of(folder), Serving::start(folder));
    let started = Instant::now();
    let peak = validate(&serving.address(), builtin::embedding());
    let seconds = started.elapsed().as_secs_f64();
    let (sent, requests) = serving.sent();
    println!(
        "\nembedding capture 1/{scale}, {}: builtin:embedding fetched {} ({:.2} %) in {requests} requests and {seconds:.1} s, peak {}",
        ByteSize::new(total),
        ByteSize::new(sent),
        100.0 * sent as f64 / total as f64,
        ByteSize::new(peak)
    );
}
