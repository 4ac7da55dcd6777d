#!/usr/bin/env python3
"""Packs a capture beside restic and borg, unpacks beside cp, verifies beside b3sum, validates from store and folder.

usage: benches/peers/store.py [--divisor 8] [--capture DIR] [--work DIR] [--rounds 3]

All in one run on one capture; the ratios are what counts. Without --capture, `plimsoll generate` writes KernelForge
#76's capture at 1/divisor of its width into WORK (1/8: 6.5 GiB; WORK needs four times that), and it is deleted
afterwards. Peak memory is the largest resident set of a process (its high-water mark, from wait4; cache pages that it
mapped count). Bytes read are block input of the process tree, after dropping caches (needs root; otherwise left out).
Rounds alternate between all contestants, and each figure is the best of them, because noise only ever adds.
"""
import argparse, json, os, shutil, subprocess, sys, tempfile, time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PLIMSOLL = TARGET / "release" / "plimsoll"
MIB = 2**20
QUIET = {"RESTIC_PASSWORD": "p", "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes", "BORG_RELOCATED_REPO_ACCESS_IS_OK": "yes"}


class Measured:
    """The best wall time, and the largest memory and input of the rounds."""

    def __init__(self):
        self.seconds, self.peak, self.read = float("inf"), 0, 0

    def run(self, command, env=None, expect=0):
        command = [str(part) for part in command]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   env={**os.environ, **QUIET, **(env or {})})
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds = min(self.seconds, time.perf_counter() - start)
        self.peak = max(self.peak, usage.ru_maxrss * 1024)
        self.read = max(self.read, usage.ru_inblock * 512)
        if process.returncode != expect:
            sys.exit(f"{' '.join(command)}: {process.returncode}\n{errors.decode(errors='replace')}")


def size(folder):
    """The bytes of the files of a folder, each once."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def on_disk(folder):
    return int(subprocess.check_output(["du", "-s", "--block-size=1", folder]).split()[0])


def drop_caches():
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3")
        return True
    except OSError:
        return False


def warm(folder):
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb", buffering=0) as file:
                while file.read(4 * MIB):
                    pass


def remove(path):
    shutil.rmtree(path, ignore_errors=True)


def row(name, measured, bytes=None, note=""):
    rate = f"{bytes / measured.seconds / 2**30:8.2f}" if bytes else " " * 8
    print(f"  {name:42} {measured.seconds:8.2f} s {rate} GiB/s {measured.peak / MIB:8.1f} MiB  {note}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--divisor", type=int, default=8)
    parser.add_argument("--capture", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    missing = [tool for tool in ("restic", "borg", "cp", "b3sum") if not shutil.which(tool)]
    if missing:
        sys.exit(f"not on the path: {', '.join(missing)} (apt-get install restic borgbackup; cargo install b3sum)")
    subprocess.run(["cargo", "build", "--release", "-q", "-p", "plimsoll-harness"], cwd=ROOT, check=True)
    work = Path(tempfile.mkdtemp(prefix="plimsoll-store-", dir=options.work))
    try:
        compare(options, work)
    finally:
        remove(work)


def compare(options, work):
    capture = options.capture
    if capture is None:
        capture = work / "embedding"
        Measured().run([PLIMSOLL, "generate", capture, "--preset", "gemma4-e2b-gb10", "--scale", f"1/{options.divisor}"])
    store, out, restic, borg = (work / name for name in ("store", "out", "restic", "borg"))
    bytes = size(capture)
    warm(capture)
    print(f"{capture}: {len(list(capture.iterdir()))} entries, {bytes / 2**30:.2f} GiB, load {os.getloadavg()[0]:.1f}\n")

    pack, restic_backup, borg_create, again = Measured(), Measured(), Measured(), Measured()
    for _ in range(options.rounds):
        for folder in (store, restic, borg):
            remove(folder)
        os.sync()
        pack.run([PLIMSOLL, "pack", capture, "--out", store])
        again.run([PLIMSOLL, "pack", capture, "--out", store])
        Measured().run(["restic", "init", "-q", "-r", restic])
        restic_backup.run(["restic", "backup", "-q", "--no-cache", "-r", restic, capture])
        Measured().run(["borg", "init", "-e", "none", borg])
        borg_create.run(["borg", "create", f"{borg}::a", capture])
    objects = [path for path in (store / "objects").rglob("*") if path.is_file()]
    payloads = unique_bytes(store)
    print(f"  {'pack':42} {'wall':>10} {'rate':>14} {'peak RSS':>12}")
    row("plimsoll pack", pack, bytes, f"{size(store) / payloads - 1:+.4%} over the unique {payloads / MIB:.1f} MiB "
        f"({len(objects)} objects; {on_disk(store) / payloads - 1:+.4%} in blocks)")
    row("plimsoll pack, again", again, bytes)
    row("restic backup", restic_backup, bytes, f"{size(restic) / payloads - 1:+.4%}")
    row("borg create", borg_create, bytes, f"{size(borg) / payloads - 1:+.4%}")
    faster = min(restic_backup.seconds, borg_create.seconds)
    print(f"  -> {faster / pack.seconds:.2f} x the faster of restic and borg\n")
    remove(restic)
    remove(borg)

    unpack, copy = Measured(), Measured()
    for _ in range(options.rounds):
        for command, measured in (([PLIMSOLL, "unpack", store, "--out", out], unpack), (["cp", "-r", capture, out], copy)):
            remove(out)
            os.sync()
            measured.run(command)
    remove(out)
    row("plimsoll unpack", unpack, bytes)
    row("cp -r", copy, bytes)
    print(f"  -> {copy.seconds / unpack.seconds:.0%} of cp\n")

    verify, quick, hashed = Measured(), Measured(), Measured()
    files = sorted(capture.iterdir())
    for _ in range(options.rounds):
        verify.run([PLIMSOLL, "verify", store])
        hashed.run(["b3sum", *files])
        quick.run(["b3sum", *objects])
    row("plimsoll verify (objects and files)", verify, bytes)
    row("b3sum of the files", hashed, bytes)
    row("b3sum of the objects", quick, payloads)
    print(f"  -> {hashed.seconds / verify.seconds:.0%} of b3sum\n")

    check = ["--kernel", "builtin:embedding", "--no-record"]
    contestants = {
        "folder, by headers": [capture],
        "store, verified never": [store, "--verify", "never"],
        "store, verified once": [store, "--verify", "once"],
        "folder, every byte hashed": [capture, "--digest", "full"],
        "store, every byte hashed, verified once": [store, "--digest", "full"],
    }
    warmed = {name: Measured() for name in contestants}
    cold = {name: Measured() for name in contestants}
    for _ in range(options.rounds):
        for name, arguments in contestants.items():
            warmed[name].run([PLIMSOLL, "validate", *arguments, *check])
    dropped = drop_caches()
    for name, arguments in contestants.items() if dropped else ():
        drop_caches()
        cold[name].run([PLIMSOLL, "validate", *arguments, *check])
    print("  validate")
    for name in contestants:
        seen = f"cold {cold[name].seconds:.2f} s, {cold[name].read / MIB:.1f} MiB read" if dropped else ""
        row(name, warmed[name], None, seen)
    if dropped:
        print(f"  -> by headers: {warmed['folder, by headers'].seconds / warmed['store, verified once'].seconds:.2f} x the folder's speed warm")
        full, packed = "folder, every byte hashed", "store, every byte hashed, verified once"
        print(f"  -> every byte: {warmed[full].seconds / warmed[packed].seconds:.2f} x warm, "
              f"{cold[full].seconds / cold[packed].seconds:.2f} x cold, {cold[full].read / cold[packed].read:.1f} x fewer bytes read")


def unique_bytes(store):
    """The bytes of the storages of a store, each once."""
    sizes = {}
    for reference in (store / "captures").rglob("entry_*.pt"):
        recipe = reference.read_text().split()[1]
        recipe = json.loads((store / "objects" / recipe[:2] / recipe).read_text())
        for payload in recipe["payloads"]:
            sizes[payload["object"], payload["at"]] = payload["bytes"]
    return sum(sizes.values())


if __name__ == "__main__":
    main()
