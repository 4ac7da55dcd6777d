"""KernelForge's verifier and profiler through Plimsoll: the same calls and results, measured in Plimsoll's workers.

    from plimsoll import kernelforge

    kernelforge.validate_kernel(code, paths)      # (bool, log), as src/optimizer/backends/cuda/verifier.py
    kernelforge.profile_kernel(paths)             # (stats, None), as src/optimizer/backends/cuda/profiler.py

`paths` has `tmp_dir`, the folder of the kernel, and `io_dir`, the folder of `entry_*.pt`; its `entry_files` selects
entries. The device is that of `KFORGE_TARGET_DEVICE`, as in KernelForge. `docs/kernelforge.md` shows the change in
KernelForge's repository.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

from plimsoll._program import NoProgram, program

__all__ = ["Failed", "NoProgram", "profile_kernel", "validate_kernel"]

WARMUP, LAUNCHES = 25, 100
# Timed launches of an audit are held to the same comparison as the validation.
COMPARED = ("--compare", "kernelforge")
# Error texts for a kernel that cannot be built: from torch, and for code without the function.
UNBUILT = ("RuntimeError: Error building extension", "RuntimeError: Error compiling", "has no function `")


class Failed(RuntimeError):
    """A kernel that could not be measured, or only on some entries. `record` is Plimsoll's record, if there is one."""

    def __init__(self, message, record=None):
        super().__init__(message)
        self.record = record


def validate_kernel(code, paths, *, extension=".cu", options=()):
    """Writes `code` as the kernel of `tmp_dir` and launches it on every entry; returns whether all outputs match, and
    what was wrong.

    `options` are flags of `plimsoll validate`, such as `["--timeout", "30s", "--peak-rss", "8 GiB"]`.
    """
    folder = os.fspath(paths["tmp_dir"])
    with open(os.path.join(folder, "kernel" + extension), "w", encoding="utf-8") as file:
        file.write(code)
    try:
        record = _run("validate", paths, [*COMPARED, *options])
    except Failed as error:
        return False, f"[System Error] {error}"
    entries = record["results"]["entries"]
    errors = [entry["validation"].get("error") for entry in entries]
    if errors and all(error and any(words in error["message"] for words in UNBUILT) for error in errors):
        return False, f"[Compilation Failed]\n{errors[0]['message']}"
    if errors and all(error and error == errors[0] for error in errors):
        if _while_loading(errors[0]):
            return False, f"[Import/Compilation Failed]\n{_failure(entries[0]['validation'])}"
        # One worker hung before it launched anything: each has its number.
        if errors[0]["kind"] == "timeout":
            return False, f"[Timeout Error]\n{_failure(entries[0]['validation'])}"
    # Only entries that were launched and match are right: a run that was stopped has others.
    wrong = [_described(entry) for entry in entries if entry["validation"]["status"] != "passed"]
    wrong += [f"[{verdict['subject']}] {verdict['message']}" for verdict in record["verdicts"]
              if verdict["status"] != "pass" and verdict["subject"] != "validation"]
    if wrong or not entries:
        return False, "\n\n".join(wrong) or f"[Error] No entry files found in {os.fspath(paths['io_dir'])}"
    return True, f"[Success] All {len(entries)} tests passed"


def profile_kernel(paths, *, baseline=False, device_index=0, previous_stats=None, options=()):
    """Times the kernel of `tmp_dir` on every entry, with 25 warm-up launches and the mean of 100. Returns KernelForge's
    figures, and None in place of its profiler. `options` are flags of `plimsoll profile`.

    Raises Failed if no entry could be timed. Entries that could not be timed are in `errors`.
    """
    record = _run("profile", paths, [*COMPARED, "--warmup", str(WARMUP), "--launches", str(LAUNCHES), *options], device_index)
    results, errors = [], []
    for entry in record["results"]["entries"]:
        figures = entry["profile"].get("statistics")
        if figures and not entry["profile"].get("error"):
            results.append({"entry_file": entry["name"], "latency_ms": figures["mean_ns"] / 1e6})
        else:
            errors.append({"entry_file": entry["name"], "error": _failure(entry["profile"])})
    broken = [verdict["message"] for verdict in record["verdicts"]
              if verdict["status"] != "pass" and verdict["subject"] not in ("profile", "validation")]
    if broken:
        raise Failed("; ".join(broken), record)
    if not results:
        raise Failed(errors[0]["error"] if errors else "there is no entry to time", record)
    latencies = [result["latency_ms"] for result in results]
    stats = {
        "device": _device(device_index).partition(":")[0], "warmup_runs": WARMUP, "timed_runs": LAUNCHES,
        "entry_count": len(results), "entry_files": [result["entry_file"] for result in results],
        "entry_latencies_ms": latencies, "entry_results": results, "errors": errors,
        "median_time_ms": float(statistics.median(latencies)), "mean_time_ms": math.fsum(latencies) / len(latencies),
        "std_time_ms": float(statistics.pstdev(latencies)), "min_time_ms": min(latencies), "max_time_ms": max(latencies),
    }
    previous = previous_stats or {}
    before = previous.get("median_time_ms") or previous.get("mean_time_ms")
    if before and stats["median_time_ms"]:
        print(f"Speedup: {before / stats['median_time_ms']:.2f}x")
    return stats, None


def _run(part, paths, flags, device_index=0):
    """The record of one part of a check."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
        command = [
            program(), part, _entries(paths, folder), "--kernel", f"kernelforge:{os.fspath(paths['tmp_dir'])}",
            "--device", _device(device_index), "--python", sys.executable, "--json", *map(str, flags)]
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        return json.loads(ended.stdout)
    except ValueError:
        said = ended.stderr.strip() or f"{command[0]} ended with {ended.returncode}"
        raise Failed(said.removeprefix("error: ")) from None


def _entries(paths, folder):
    """The capture: the folder of entries, or a folder of links to the selected ones."""
    selected = paths.get("entry_files")
    if not selected:
        return os.fspath(paths["io_dir"])
    for path in selected:
        path = os.path.abspath(path)
        os.symlink(path, os.path.join(folder, os.path.basename(path)))
    return folder


def _device(index):
    """The device on which kernels are launched, chosen as in KernelForge."""
    named = os.environ.get("KFORGE_TARGET_DEVICE", "").strip().lower()
    if named in ("cpu", ""):
        if named == "":
            import torch

            if torch.cuda.is_available():
                return f"cuda:{index}"
        return "cpu"
    if named in ("gpu", "cuda"):
        return f"cuda:{index}"
    raise Failed(f"KFORGE_TARGET_DEVICE is {named}: Plimsoll launches kernels on cpu and cuda")


def _described(entry):
    """What is wrong with an entry, in the words of KernelForge's verifier."""
    found, name = entry["validation"], entry["name"]
    if found.get("error"):
        kinds = {"timeout": "Timeout Error", "signal": "Process Error", "exit": "Process Error", "oom-kill": "Process Error"}
        return f"[{kinds.get(found['error']['kind'], 'Runtime Error')} {name}]\n{_failure(found)}"
    if found["status"] != "mismatch":
        return f"[System Error] {name} was not launched: {found.get('not_run') or 'the run ended before it'}"
    lines = [f"[Output Mismatch {name}]"]
    for leaf in found.get("leaves", []):
        if leaf["passed"]:
            continue
        where = f" {leaf['path']}" if leaf["path"] else ""
        expected, elements = leaf.get("expected"), leaf.get("elements")
        if expected:
            described = f"dtype={expected['dtype']}, shape={expected['shape']}"
            # Elements are compared only if the output is of the expected kind.
            lines += [f"Output{where}: {described}"] if elements else []
            lines.append(f"Expected{where}: {described}")
        lines += [f"Output{where}: {leaf['problem']}"] if leaf.get("problem") else []
        lines += _elements(elements) if elements else []
    return "\n".join(lines)


def _elements(elements):
    """How the elements of an output differ."""
    actual, expected = elements["actual"], elements["expected"]
    lines = [f"{elements['mismatches']} of {elements['count']} elements differ"]
    for what, title in (("inf", "Inf"), ("nan", "NaN")):
        if actual[what] > expected[what]:
            lines.append(f"WARNING: {actual[what]} {title} values in output, {expected[what]} expected")
    if elements.get("max_abs_error") is not None:
        lines.append(f"Max diff: {elements['max_abs_error']:.6f}")
    first = elements.get("first_mismatch")
    if first:
        lines.append(f"First at {first['index']}: expected {first['expected']}, got {first['actual']}")
    for title, side in (("Output", actual), ("Expected", expected)):
        if side.get("range"):
            lines.append(f"{title} range: [{side['range']['min']:.4g}, {side['range']['max']:.4g}]")
    return lines


def _while_loading(error):
    """Whether the traceback of an exception begins in the body of the kernel's file, not in one of its functions."""
    frames = [line for line in (error.get("detail") or "").splitlines() if line.startswith("  File ")]
    return error["kind"] == "exception" and bool(frames) and (", in " not in frames[0] or frames[0].endswith(", in <module>"))


def _failure(part):
    """The message of a failure, with the kernel's traceback."""
    error = part.get("error") or {"message": f"it was {part.get('status', 'not reached')}"}
    return "\n".join(text for text in (error["message"], error.get("detail") or error.get("stderr")) if text)
