"""`log_memory`: prints one line with the memory of this process and its devices, which `plimsoll` can parse."""

import os
import sys

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def log_memory(label="", step=None, file=None):
    """Prints the current memory of host and devices, and returns it as a list of dictionaries, one per device.

    A line is `plimsoll memory label="after forward" step=3 rank=0 pid=71 device=0 allocated=.. max_allocated=..
    reserved=.. max_reserved=.. device_used=.. device_total=.. rss=.. peak_rss=..`, in bytes. Values that cannot be read
    are left out. torch is asked only if the program has imported it, and only about devices that it uses. The line goes
    to standard output, or to `file`.
    """
    common = {}
    if step is not None:
        common["step"] = int(step)
    if os.environ.get("RANK", "").isdigit():
        common["rank"] = int(os.environ["RANK"])
    common["pid"] = os.getpid()
    host = _host()
    rows = [{**common, **device, **host} for device in _devices()] or [{**common, **host}]
    text = " ".join(str(label).split()).replace('"', "'")[:200]
    for row in rows:
        fields = " ".join(f"{name}={value}" for name, value in row.items())
        # A single write, so that lines of several processes do not mix.
        stream = file or sys.stdout
        stream.write(f'plimsoll memory label="{text}" {fields}\n')
        stream.flush()
    return rows


def _host():
    found = {}
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            found["rss"] = int(statm.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        pass
    try:
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        found["peak_rss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    except (ImportError, OSError):
        pass
    if "rss" in found and found.get("peak_rss", 0) < found["rss"]:
        found["peak_rss"] = found["rss"]
    return found


def _devices():
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    # A context that does not exist yet is not created for this.
    if cuda is None or not cuda.is_available() or not cuda.is_initialized():
        return []
    rows = []
    for device in range(cuda.device_count()):
        row = {
            "device": device,
            "allocated": cuda.memory_allocated(device),
            "max_allocated": cuda.max_memory_allocated(device),
            "reserved": cuda.memory_reserved(device),
            "max_reserved": cuda.max_memory_reserved(device),
        }
        if not row["max_reserved"]:
            continue
        try:
            free, total = cuda.mem_get_info(device)
            row.update(device_used=total - free, device_total=total)
        except RuntimeError:
            pass
        rows.append(row)
    return rows
