//! Captures on a local server: streamed validation compared with a plain reader of ranges, and the bytes that a look-up
//! fetches.
//!
//! `cargo bench --features full,remote --bench remote` prints the table of `docs/remote.md`. `-- --dense-mib N` and `--
//! --scale N` (the embedding capture is 1/N, 8 by default) change the sizes, `-- --network N` measures one network alone.
//! The server is a separate process that maps the files; the plain reader takes the same ranges over as many connections,
//! and drops them or writes them to files.

#[path = "../tests/remote/server.rs"]
mod server;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
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
use plimsoll_statistics::median;

use server::Server;

/// The default of `plimsoll`.
const CONNECTIONS: usize = 16;
const PIECE: u64 = 8 << 20;

/// How often each side is timed, unless said otherwise; the table has the medians.
const ROUNDS: u64 = 5;

/// The networks that the server stands behind, in Gbit/s; 0 is none.
const NETWORKS: [u32; 4] = [1, 4, 10, 0];

/// The most bytes of files that are held beside each other: five of the dense entries.
const HELD: ByteSize = ByteSize::mib(640);

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
    let rounds = after("--rounds").unwrap_or(ROUNDS);
    let networks = after("--network").map_or(NETWORKS.to_vec(), |only| vec![only as u32]);
    dense(folder.path(), after("--dense-mib").unwrap_or(1024), rounds, &networks);
    embedding(&folder.path().join("embedding"), after("--scale").unwrap_or(8));
}

/// Serves the files of a folder, mapped, as objects below `/capture`. Each line of standard input is a speed in Gbit/s from
/// then on (0 is any), and is answered with the bytes sent and the requests since the last one.
fn serve(folder: &Path) {
    let server = Server::start();
    for item in std::fs::read_dir(folder).expect("the folder").flatten() {
        let file = std::fs::File::open(item.path()).expect("a file");
        // SAFETY: nothing writes to the files while the benchmark runs.
        let map = unsafe { memmap2::Mmap::map(&file) }.expect("a map");
        server.put_content(&format!("/capture/{}", item.file_name().to_string_lossy()), Arc::new(map));
    }
    println!("{}", server.url);
    for line in std::io::stdin().lines() {
        let gigabits: f64 = line.expect("a line").trim().parse().expect("a speed");
        server.pace((gigabits > 0.0).then_some(gigabits * 1e9 / 8.0));
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

    /// The time of processors that it took so far, in seconds.
    fn processors(&self) -> f64 {
        processors(&self.child.id().to_string())
    }

    fn address(&self) -> PathBuf {
        PathBuf::from(format!("{}/capture", self.url))
    }

    /// Limits the rate to this many Gbit/s from now on (0 is unlimited); returns the bytes sent and the requests answered
    /// since the last call.
    fn pace(&mut self, gigabits: u32) -> (u64, u64) {
        writeln!(self.child.stdin.as_mut().expect("it is piped"), "{gigabits}").expect("the server listens");
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

/// Reads every file of the folder from the server in ranges, over as many connections, and writes the bytes to new files
/// in `into`, or drops them.
fn plain(serving: &Serving, folder: &Path, into: Option<&Path>) {
    let mut ranges = Vec::new();
    for item in std::fs::read_dir(folder).expect("the folder").flatten() {
        let (name, size) = (item.file_name().to_string_lossy().into_owned(), item.metadata().expect("a file").len());
        let file = into.map(|into| {
            let file = File::create(into.join(&name)).expect("a new file");
            file.set_len(size).expect("its size");
            Arc::new(file)
        });
        ranges.extend(
            (0..size).step_by(PIECE as usize).map(|at| (name.clone(), at, (at + PIECE).min(size), file.clone())),
        );
    }
    ranges.sort_by(|one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
    let (host, next) = (serving.url.strip_prefix("http://").expect("plain http"), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                let mut stream = TcpStream::connect(host).expect("the server");
                let mut reader = BufReader::with_capacity(64 << 10, stream.try_clone().expect("a socket"));
                let mut buffer = vec![0; 256 << 10];
                while let Some((name, start, end, file)) = ranges.get(next.fetch_add(1, Ordering::Relaxed)) {
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
                        let count = reader.read(&mut buffer[..most]).expect("bytes");
                        if let Some(file) = file {
                            file.write_all_at(&buffer[..count], end - left).expect("it is written");
                        }
                        left -= count as u64;
                    }
                }
            });
        }
    });
}

/// What a side took, in seconds.
#[derive(Clone, Copy, Default)]
struct Took {
    wall: f64,
    /// The time of processors of this process.
    processors: f64,
    /// The time of processors of the server.
    server: f64,
}

/// What each of these took in the middle of some rounds, in turns.
fn medians<const N: usize>(rounds: u64, server: Option<&Serving>, mut sides: [&mut dyn FnMut(); N]) -> [Took; N] {
    let of_server = || server.map_or(0.0, Serving::processors);
    let mut took = [(); N].map(|()| Vec::new());
    for _ in 0..rounds {
        for (side, took) in sides.iter_mut().zip(&mut took) {
            let (started, own, of_it) = (Instant::now(), processors("self"), of_server());
            side();
            let (wall, processors) = (started.elapsed().as_secs_f64(), processors("self") - own);
            took.push(Took { wall, processors, server: of_server() - of_it });
        }
    }
    let middle = |took: &[Took], of: fn(&Took) -> f64| median(took.iter().map(of).collect()).expect("rounds");
    took.map(|took| Took {
        wall: middle(&took, |took| took.wall),
        processors: middle(&took, |took| took.processors),
        server: middle(&took, |took| took.server),
    })
}

/// The time of processors that a process took so far, in seconds.
fn processors(process: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("the state of the process");
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let ticks: u64 = fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().expect("ticks")).sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// Validates the capture at the address; the peak of this process's memory meanwhile, mapped files included, in bytes.
fn validate(address: &Path, kernel: impl Launch) -> u64 {
    let keep = elsewhere::Keep { held_bytes: HELD, ..elsewhere::Keep::default() };
    let local = elsewhere::Local::open(address, &keep).expect("the capture");
    let capture = Capture::open(local.path()).expect("the capture");
    let report = Validation::of(&capture).run(kernel).expect("a report");
    assert!(report.passed(), "{}", report.summary());
    // The server is a process below this one.
    let processes = report.record().phases.iter().flat_map(|phase| &phase.processes);
    let own = processes.filter(|process| process.pid == std::process::id());
    own.map(|process| process.peak_rss.bytes.bytes()).max().expect("a phase that was metered")
}

fn dense(scratch: &Path, mib: u64, rounds: u64, networks: &[u32]) {
    let (folder, copy) = (&scratch.join("dense"), &scratch.join("copy"));
    std::fs::create_dir(copy).expect("a folder");
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
    let (total, mut serving) = (bytes_of(folder), Serving::start(folder));
    let gigabytes = total as f64 / 1e9;
    let here = || assert!(Validation::of(&Capture::open(folder).expect("it")).run(Negate).expect("a report").passed());
    here();
    let [here] = medians(rounds, None, [&mut || here()]);
    println!(
        "dense capture of {entries} entries, {}, {CONNECTIONS} connections, pieces of {}, {HELD} held at most; validation of \
         the local files: {:.2} GB/s, {:.2} s of processors a GB",
        ByteSize::new(total),
        ByteSize::new(PIECE),
        gigabytes / here.wall,
        here.processors / gigabytes
    );
    println!(
        "| network | plain reader | plain reader to files | streamed validation | of the plain reader | peak RSS |"
    );
    println!("|---|---|---|---|---|---|");
    for &network in networks {
        serving.pace(network);
        let mut peak = 0;
        let address = serving.address();
        let sides = medians(
            rounds,
            Some(&serving),
            [&mut || plain(&serving, folder, None), &mut || plain(&serving, folder, Some(copy)), &mut || {
                peak = peak.max(validate(&address, Negate))
            }],
        );
        let name = if network > 0 { format!("{network} Gbit/s") } else { "loopback".to_owned() };
        let shown = sides.map(|side| {
            let [wall, own, server] = [side.wall, side.processors, side.server].map(|seconds| seconds / gigabytes);
            format!("{:.2} GB/s, {own:.2} + {server:.2} s", 1.0 / wall)
        });
        let ratio = 100.0 * sides[0].wall / sides[2].wall;
        println!("| {name} | {} | {ratio:.0} % | {} |", shown.join(" | "), ByteSize::new(peak));
    }
}

fn embedding(folder: &Path, scale: u64) {
    synthesize::gemma4_e2b_gb10().scale(1, scale).write(folder).expect("a capture");
    let (total, mut serving) = (bytes_of(folder), Serving::start(folder));
    let started = Instant::now();
    let peak = validate(&serving.address(), builtin::embedding());
    let seconds = started.elapsed().as_secs_f64();
    let (sent, requests) = serving.pace(0);
    println!(
        "\nembedding capture 1/{scale}, {}: builtin:embedding fetched {} ({:.2} %) in {requests} requests and {seconds:.1} s, peak {}",
        ByteSize::new(total),
        ByteSize::new(sent),
        100.0 * sent as f64 / total as f64,
        ByteSize::new(peak)
    );
}
