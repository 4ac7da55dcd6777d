#!/usr/bin/env python3
"""The cost of building a test dependency: packages and seconds, for Plimsoll and its peers.

usage: benches/peers/testing/build.py [--rounds 5] [--only plimsoll,dhat] [--json FILE]

For each, an empty crate in a temporary folder has it as its only dev-dependency (Plimsoll by path, default features)
and a test that uses it. `cargo test --no-run` builds it into its own folder, initially empty. Packages are those that
were compiled, including build scripts and procedural macros but not the crate itself; seconds are the median of the
rounds, each of which builds all of them, in reverse order every other time. Sources are fetched in advance. Exits with
1 if Plimsoll compiles more than 45 packages, or takes more than 1.5 times dhat's median. Run nothing else meanwhile.
"""
import argparse, json, os, shutil, statistics, subprocess, sys, tempfile, time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MOST_PACKAGES, MOST_RATIO = 45, 1.5

# The dependency as in Cargo.toml, and src/lib.rs or benches/own.rs with a typical first test.
PEERS = {
    "insta": ('insta = "1.49"',
    """
        #[test]
        fn own() {
            insta::assert_snapshot!(1 + 1, @"2");
        }
    """),
    "divan": ('divan = "0.1"',
    """
        #[divan::bench]
        fn own() -> Vec<u8> {
            vec![1; divan::black_box(1 << 10)]
        }

        #[test]
        fn runs() {
            divan::Divan::default().test_benches();
        }
    """),
    "proptest": ('proptest = "1.12"',
    """
        proptest::proptest! {
            #[test]
            fn own(n in 0u32..100) {
                proptest::prop_assert!(n < 100);
            }
        }
    """),
    "dhat": ('dhat = "0.3"',
    """
        #[global_allocator]
        static ALLOCATOR: dhat::Alloc = dhat::Alloc;

        #[test]
        fn own() {
            let _profiler = dhat::Profiler::builder().testing().build();
            drop(vec![1u8; 1 << 20]);
            let stats = dhat::HeapStats::get();
            dhat::assert!(stats.max_bytes <= 1 << 21);
        }
    """),
    "criterion": ('criterion = "0.8"',
    """
        #[test]
        fn own() {
            let mut criterion = criterion::Criterion::default().sample_size(10);
            criterion.bench_function("own", |bench| bench.iter(|| vec![1u8; std::hint::black_box(1 << 10)]));
        }
    """),
    "plimsoll": (f"plimsoll = {{ path = {json.dumps(str(ROOT))} }}",
    """
        #[global_allocator]
        static ALLOCATOR: plimsoll::alloc::Tracking = plimsoll::alloc::Tracking::new();

        #[plimsoll::test(peak_rss = "256 MiB")]
        fn own() {
            plimsoll::phase("load");
            let block = plimsoll::assert_memory!(peak_heap <= "2 MiB", { vec![1u8; 1 << 20] });
            assert_eq!(block.len(), 1 << 20);
        }
    """),
}


def make(folder, name):
    """The crate with `name` as its only dependency, with its sources fetched."""
    dependency, test = PEERS[name]
    crate = folder / name
    (crate / "src").mkdir(parents=True)
    (crate / "src/lib.rs").write_text("")
    (crate / "tests").mkdir()
    (crate / "tests/own.rs").write_text(test)
    (crate / "Cargo.toml").write_text(
        f'[package]\nname = "probe"\nversion = "0.0.0"\nedition = "2024"\n\n[dev-dependencies]\n{dependency}\n\n[workspace]\n')
    # The compiler and the versions are those of the project, where it names them.
    shutil.copy(ROOT / "rust-toolchain.toml", crate)
    if name == "plimsoll":
        shutil.copy(ROOT / "Cargo.lock", crate)
    subprocess.run(["cargo", "fetch", "--quiet"], cwd=crate, check=True)
    return crate


def build(crate):
    """Builds its tests into an empty folder; returns the packages that were compiled, and the seconds."""
    target = crate / "target"
    shutil.rmtree(target, ignore_errors=True)
    unwanted = ("CARGO_", "RUSTC", "RUSTFLAGS", "RUSTDOCFLAGS")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(unwanted) or name == "CARGO_HOME"}
    environment |= {"CARGO_TARGET_DIR": str(target), "CARGO_NET_OFFLINE": "true"}
    begun = time.perf_counter()
    command = ["cargo", "test", "--no-run", "--message-format=json"]
    ran = subprocess.run(command, cwd=crate, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - begun
    if ran.returncode:
        sys.exit(f"{crate.name} does not build:\n{ran.stdout[-3000:]}{ran.stderr}")
    messages = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    compiled = {message["package_id"] for message in messages if message["reason"] == "compiler-artifact" and not message["fresh"]}
    own = {package for package in compiled if package.startswith(f"path+file://{crate}")}
    tests = [message["executable"] for message in messages if message.get("executable") and "own-" in message["executable"]]
    return compiled - own, seconds, tests


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(PEERS), help="names, with commas between them")
    parser.add_argument("--json", type=Path, help="where to write packages and seconds")
    args = parser.parse_args()
    names = args.only.split(",")
    if unknown := [name for name in names if name not in PEERS]:
        parser.error(f"{', '.join(unknown)}: there are {', '.join(PEERS)}")
    if args.rounds < 1:
        parser.error("--rounds: at least one")

    figures = {name: {"packages": 0, "seconds": []} for name in names}
    with tempfile.TemporaryDirectory() as folder:
        crates = {name: make(Path(folder).resolve(), name) for name in names}
        for round in range(args.rounds):
            for name in names if round % 2 == 0 else reversed(names):
                packages, seconds, tests = build(crates[name])
                figures[name]["packages"] = len(packages)
                figures[name]["seconds"].append(seconds)
                print(f"round {round + 1} of {args.rounds}: {name}, {len(packages)} packages, {seconds:.1f} s", file=sys.stderr)
                # The build must work, or it measures nothing.
                if round == 0:
                    for test in tests:
                        subprocess.run([test, "--quiet"], cwd=crates[name], stdout=sys.stderr, check=True)
    median = {name: statistics.median(figure["seconds"]) for name, figure in figures.items()}
    print("| dev-dependency | packages | seconds | of dhat's |\n|---|---:|---:|---:|")
    for name in sorted(names, key=median.get):
        ratio = f"{median[name] / median['dhat']:.2f}" if "dhat" in median else ""
        print(f"| {name} | {figures[name]['packages']} | {median[name]:.1f} | {ratio} |")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")

    wrong = []
    if "plimsoll" in names:
        if (packages := figures["plimsoll"]["packages"]) > MOST_PACKAGES:
            wrong.append(f"plimsoll compiles {packages} packages, more than {MOST_PACKAGES}")
        if "dhat" in median and (ratio := median["plimsoll"] / median["dhat"]) > MOST_RATIO:
            wrong.append(f"plimsoll takes {ratio:.2f} times dhat's time, more than {MOST_RATIO}")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
