#!/usr/bin/env python3
"""Run programs that really run out of memory here, and write what they print into made/programs.txt.

    python3 tests/diagnose/make_corpus.py

A program that is not installed is left out and named. Limits are `ulimit -v` and the programs' own; nothing takes more
than 1 GiB. Run as root for Postgres' own user and control groups; both are left out otherwise.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent / "made"
HOST = "verdict: host-alloc-fail | host-single-huge-request\nside: host"

# Name, program it needs, limit of virtual memory in MiB (None: none), the truth, the shell command.
CASES = [
    ("python_bytearray", "python3", 400, f"{HOST}\nwho: python", "python3 -c 'b = bytearray(1 << 30)'"),
    ("python_list", "python3", 300, f"{HOST}\nwho: python", "python3 -c 'a = []\nwhile True: a.append(bytes(1 << 20))'"),
    ("python_fork", "python3", None, f"{HOST}\nwho: python",
     "python3 -c 'import os, errno; raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))'"),
    ("numpy", "python3", 2000, f"{HOST}\nwho: python\ntried: 8589934592",
     "OPENBLAS_NUM_THREADS=1 {python} -c 'import numpy; numpy.ones((1 << 30,), dtype=numpy.float64)'"),
    ("torch_cpu", "python3", None, f"{HOST}\nwho: pytorch", "{python} -c 'import torch; torch.empty(1 << 50, dtype=torch.uint8)'"),
    ("node_heap", "node", None, f"{HOST}\nwho: node",
     "node --max-old-space-size=64 -e 'const a = []; for (;;) a.push(new Array(1e5).fill({}))'"),
    ("node_buffer", "node", None, f"{HOST}\nwho: node",
     "node -e 'new ArrayBuffer(2 ** 45)'"),
    ("java_heap", "java", None, f"{HOST}\nwho: jvm",
     "cat > Full.java <<'J'\nimport java.util.*;\nclass Full { public static void main(String[] a) { List<byte[]> l = new ArrayList<>(); while (true) l.add(new byte[1 << 20]); } }\nJ\njava -Xmx32m Full.java"),
    ("java_direct", "java", None, f"{HOST}\nwho: jvm",
     "cat > Direct.java <<'J'\nimport java.nio.*;\nimport java.util.*;\nclass Direct { public static void main(String[] a) { List<Object> l = new ArrayList<>(); while (true) l.add(ByteBuffer.allocateDirect(1 << 20)); } }\nJ\njava -XX:MaxDirectMemorySize=8m Direct.java"),
    ("java_reserve", "java", 2000, f"{HOST}\nwho: jvm", "java -Xmx64g -version"),
    ("go", "go", None, f"{HOST}\nwho: go",
     "mkdir -p m && cd m && cat > main.go <<'G'\npackage main\n\nfunc main() {\n\tvar all [][]byte\n\tfor {\n\t\tall = append(all, make([]byte, 1<<27))\n\t\tall[len(all)-1][0] = 1\n\t}\n}\nG\nHOME=$PWD GOFLAGS=-mod=mod go build -o full main.go && (ulimit -v 900000; ./full)"),
    ("cpp_new", "g++", None, f"{HOST}\nwho: cpp",
     "printf '#include <vector>\\nint main() { std::vector<std::vector<char>> all; for (;;) all.emplace_back(1 << 24, 1); }' > a.cc && g++ a.cc -o a.out && (ulimit -v 200000; ./a.out)"),
    ("gcc", "g++", 60, f"{HOST}\nwho: compiler", "printf '#include <bits/stdc++.h>\\nint main() {}' > a.cc && g++ -c a.cc"),
    ("sanitizer", "g++", None, f"{HOST}\nwho: cpp",
     "printf '#include <cstdlib>\\n#include <cstdio>\\nint main(int n, char **) { void *p = malloc(1ull << 62); printf(\"%%p\", p); return n; }' > s.cc && g++ -fsanitize=address s.cc -o s.out && ASAN_OPTIONS=allocator_may_return_null=0 ./s.out"),
    ("rust", "rustc", None, f"{HOST}\nwho: rust",
     "printf 'fn main() { let v: Vec<u8> = Vec::with_capacity(1 << 45); println!(\"{}\", v.len()); let w = vec![1u8; 1 << 45]; println!(\"{}\", w[3]); }' > r.rs && rustc r.rs -o r.out && (ulimit -v 500000; ./r.out)"),
    ("php_limit", "php", None, f"{HOST}\nwho: php\nallowed: 33554432", "php -d memory_limit=32M -r '$a = []; while (true) { $a[] = str_repeat(\"x\", 1 << 20); }'"),
    ("php_system", "php", 400, f"{HOST}\nwho: php", "php -d memory_limit=-1 -r '$a = str_repeat(\"x\", 1 << 30);'"),
    ("perl", "perl", 200, f"{HOST}\nwho: perl", "perl -e '$a = \"x\" x (1 << 30); print length($a)'"),
    ("ruby", "ruby", 400, f"{HOST}\nwho: ruby", "ruby -e 'a = \"x\" * (1 << 30); puts a.size'"),
    ("lua", "lua5.4", 100, f"{HOST}\nwho: lua", "lua5.4 -e 'local s = string.rep(\"x\", 1 << 30) print(#s)'"),
    ("erlang", "erl", None, f"{HOST}\nwho: erlang",
     "(ulimit -v 3000000; erl -noshell -eval 'binary:copy(<<0>>, 1 bsl 36), halt().')"),
    ("mono", "mcs", None, f"{HOST}\nwho: dotnet",
     "printf 'class F { static void Main() { var a = new byte[8][]; for (int i = 0; i < 8; i++) a[i] = new byte[1 << 30]; System.Console.Write(a[7][3]); } }' > f.cs && mcs f.cs && (ulimit -v 1500000; mono f.exe)"),
    ("fortran", "gfortran", None, f"{HOST}\nwho: fortran",
     "printf 'program f\\nreal, allocatable :: a(:)\\nallocate(a(100000000000_8))\\na = 1\\nprint *, a(3)\\nend' > f.f90 && gfortran f.f90 -o f.out && (ulimit -v 500000; ./f.out)"),
    ("sort_tool", "sort", 30, f"{HOST}", "head -c 30000000 /dev/zero | sort"),
    ("git", "git", 200, f"{HOST}\nwho: git",
     "git init -q r && cd r && head -c 300000000 /dev/zero > big && git -c core.bigFileThreshold=1g hash-object -w big"),
    ("killed", "bash", None, "verdict: sigkill-unattributed\nside: host", "bash -c 'sleep 5 & p=$!; (sleep 0.2; command kill -s 9 $p) & wait $p; echo exit code $?'"),
    ("shm", "python3", None, "verdict: shm-exhausted\nside: host",
     "python3 -c 'import os\nfd = os.open(\"/dev/shm/plimsoll\", os.O_CREAT | os.O_RDWR)\nos.unlink(\"/dev/shm/plimsoll\")\ntry: os.posix_fallocate(fd, 0, 1 << 44)\nexcept OSError as e: raise OSError(e.errno, e.strerror, \"/dev/shm/plimsoll\")'"),
    ("sqlite", "python3", None, f"{HOST}",
     "python3 -c 'import sqlite3\nc = sqlite3.connect(\":memory:\")\nc.execute(\"pragma hard_heap_limit=4000000\")\nc.execute(\"create table t(a)\")\nfor _ in range(99): c.execute(\"insert into t values(zeroblob(1000000))\")'"),
    ("nothing_python", "python3", 4000, "verdict: not-oom\nside: none", "python3 -c 'print(len(bytearray(1 << 20)))'"),
    ("nothing_exit", "bash", None, "verdict: not-oom\nside: none", "bash -c 'echo done; exit 3'; echo exit code $?"),
    ("nothing_thread_limit", "bash", None, "verdict: report-only\nside: none",
     "python3 -c 'print(\"step 1 loss 0.25 memory 12.5 GB\")\nprint(\"step 2 loss 0.20 memory 12.5 GB\")'"),
]


def run(command, limit):
    """What the command prints, both streams, without what differs from run to run in its paths."""
    python = os.environ.get("PLIMSOLL_TORCH_PYTHON", sys.executable)
    command = command.replace("{python}", python)
    if limit:
        command = f"ulimit -v {limit << 10}; {command}"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["bash", "-c", command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=40)
        text = done.stdout.decode(errors="replace").replace(folder, "/tmp/work").replace(str(pathlib.Path(python).parent.parent), "/venv")
        text = re.sub(r"/tmp/bash\S*", "/tmp/job", text)
    lines = text.splitlines()
    if len(lines) > 60:
        lines = lines[:30] + ["..."] + lines[-30:]
    return "\n".join(line[:500] for line in lines)


def main():
    FOLDER.mkdir(exist_ok=True)
    written = []
    for name, needs, limit, truth, command in CASES:
        if shutil.which(needs) is None:
            print(f"{name}: {needs} is not installed")
            continue
        try:
            text = run(command, limit)
        except subprocess.TimeoutExpired:
            print(f"{name}: no end in 40 s")
            continue
        print(f"{name}: {(text.splitlines() or [''])[-1][:100]}")
        written.append(f"=== {name}\n{truth}\n---\n{text}\n")
    (FOLDER / "programs.txt").write_text("".join(written))


if __name__ == "__main__":
    main()
