#!/usr/bin/env python3
"""Captures a transformer with plimsoll_capture, beside torch.save of every call as KernelForge's profiler does it.

usage: benches/peers/capture.py [--vocabulary 65536] [--width 512] [--layers 4] [--passes 5] [--work DIR]

Needs torch and blake3, and some GiB of disk in WORK. One process each, in sequence: the model alone; a capture into a
store; torch.save of each entry at once; and KernelForge's own order, which keeps every entry of a pass and then saves
it. Peak memory is the process's high-water mark after a first pass, including the import of the package; what counts is
the excess over the model's own. "Written" is what the process sent to the disk (/proc/self/io), and "stays" what
remains there afterwards.
"""
import argparse, os, shutil, subprocess, sys, tempfile, time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "harness" / "python"))
MIB = 2**20
MODES = {"model": "the model alone", "store": "plimsoll_capture", "save": "torch.save, entry by entry",
         "keep": "torch.save, pass by pass (KernelForge)"}


def model_of(options):
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(options.vocabulary, options.width)
            layer = torch.nn.TransformerEncoderLayer(options.width, 8, 4 * options.width, dropout=0.0, batch_first=True)
            self.layers = torch.nn.TransformerEncoder(layer, options.layers, enable_nested_tensor=False)
            self.head = torch.nn.Linear(options.width, options.vocabulary, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, tokens):
            return self.head(self.layers(self.embedding(tokens)))

    torch.manual_seed(0)
    return Model()


def child(options):
    """One contestant: prints seconds, peak, bytes written and entries."""
    import torch

    model, folder, kept, saved = model_of(options), Path(options.out), [], {}
    with torch.no_grad():
        model(torch.randint(0, options.vocabulary, (1, 32)))
    # From here on: the memory for building the model no longer counts.
    Path("/proc/self/clear_refs").write_text("5")
    if options.child != "model":
        from plimsoll_capture import Store, capture

    def passes():
        for _ in range(options.passes):
            model(torch.randint(0, options.vocabulary, (1, 32)))
            for entry, name in kept:
                put(entry, name)
            kept.clear()

    def put(entry, name):
        saved[name] = saved.get(name, -1) + 1
        (folder / name).mkdir(parents=True, exist_ok=True)
        torch.save(entry, folder / name / f"entry_{saved[name]:06d}.pt")

    start = time.perf_counter()
    with torch.no_grad():
        if options.child == "model":
            passes()
        else:
            if options.child != "store":
                # The same hooks and entries: only their handling differs.
                Store.save = lambda self, entry, name, sources=None: put(entry, name) if options.child == "save" else kept.append((entry, name))
            with capture(folder if options.child == "store" else folder / "unused", max_per_op=None) as captured:
                passes()
    os.sync()
    seconds = time.perf_counter() - start
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    written = dict(line.split(": ") for line in open("/proc/self/io"))["write_bytes"]
    entries = 0 if options.child == "model" else sum(captured.entries.values())
    print(seconds, int(status["VmHWM"].split()[0]) * 1024, int(written), entries)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vocabulary", type=int, default=65536)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--child", choices=MODES, help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options)
    print(f"vocabulary {options.vocabulary}, width {options.width}, {options.layers} layers, {options.passes} passes, "
          f"load {os.getloadavg()[0]:.1f}\n")
    print(f"  {'':40} {'wall':>9} {'peak over the model':>20} {'written':>12} {'stays':>12}  entries")
    work, own = Path(tempfile.mkdtemp(prefix="plimsoll-capture-", dir=options.work)), None
    try:
        for mode, name in MODES.items():
            out = work / mode
            output = subprocess.check_output([sys.executable, __file__, "--child", mode, "--out", out] + [
                part for key in ("vocabulary", "width", "layers", "passes") for part in (f"--{key}", str(getattr(options, key)))])
            seconds, peak, written, entries = map(float, output.split())
            own = peak if own is None else own
            stays = sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) if out.exists() else 0
            over = f"{(peak - own) / MIB:16.1f} MiB" if mode != "model" else f"({own / MIB:.1f} MiB)"
            print(f"  {name:40} {seconds:7.2f} s {over:>20} {written / MIB:8.1f} MiB {stays / MIB:8.1f} MiB  {entries:.0f}", flush=True)
            shutil.rmtree(out, ignore_errors=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
