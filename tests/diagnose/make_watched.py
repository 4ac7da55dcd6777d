#!/usr/bin/env python3
"""Watch a program that keeps memory, and one that does not, with the tools that people use, and write what these print.

    python3 tests/diagnose/make_watched.py [NAME..]

Both programs do the same work in each step. Without names, watched/tools.txt is written anew; what named tools print is
only shown. A tool that is not installed is left out and named. Those in Python (psrecord, memory_profiler, objgraph, pympler,
glances) are run by PLIMSOLL_TOOLS_PYTHON. Where a tool watches the whole machine, the program that keeps nothing proves
nothing: others run as well.
"""

import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parent / "watched"
PYTHON = os.environ.get("PLIMSOLL_TOOLS_PYTHON", sys.executable)

TARGET = """
import sys, time
keep, kept = sys.argv[1] == 'keeps', []
time.sleep(0.3)
begun, step = time.monotonic(), 0
while time.monotonic() - begun < 60:
    part = bytearray(b'x') * (int(float(sys.argv[2]) * (1 << 20)))
    if keep: kept.append(part)
    del part
    step += 1
    time.sleep(max(0, begun + step * 0.1 - time.monotonic()))
"""

# Name, the program it needs, MiB kept in each tenth of a second, the shell command; $P is the process.
WATCH = [
    ("ps_loop", "ps", 12, "for i in 1 2 3 4 5 6 7 8 9 10; do date +%T; ps -o pid,rss,vsz,comm -p $P; sleep 0.5; done"),
    ("ps_bare", "ps", 12, "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $(date '+%F %T') $(ps -o rss= -p $P); sleep 0.4; done"),
    ("ps_aux", "ps", 12, "for i in 1 2 3 4 5 6 7 8; do ps aux | grep '[s]tep = 0' | grep python; sleep 0.6; done"),
    ("ps_etime", "ps", 12, "for i in 1 2 3 4 5 6 7 8; do ps -p $P -o etimes,rss,pmem,args --no-headers | cut -c1-60; sleep 1; done"),
    ("top_batch", "top", 12, "top -b -d 0.5 -n 8 -p $P"),
    ("top_grep", "top", 12, "top -b -d 0.5 -n 10 -p $P | grep $P"),
    ("pidstat", "pidstat", 12, "pidstat -r -p $P 1 8"),
    ("pidstat_h", "pidstat", 12, "pidstat -h -r -u -p $P 1 8"),
    ("sar_r", "sar", 60, "sar -r 1 8"),
    ("free_m", "free", 60, "free -m -s 1 -c 8"),
    ("free_h", "free", 60, "for i in 1 2 3 4 5 6 7; do date; free -h; sleep 1; done"),
    ("pmap_total", "pmap", 12, "for i in 1 2 3 4 5 6 7 8; do pmap -x $P | tail -1; sleep 0.5; done"),
    ("status_rss", "grep", 12, "for i in 1 2 3 4 5 6 7 8 9 10; do grep VmRSS /proc/$P/status; sleep 0.4; done"),
    ("status_all", "grep", 12, "for i in 1 2 3 4 5 6; do grep -E '^(VmPeak|VmSize|VmHWM|VmRSS|RssAnon|RssFile|Threads)' /proc/$P/status; echo; sleep 0.7; done"),
    ("statm", "cat", 12, "while [ $((i+=1)) -le 10 ]; do cat /proc/$P/statm; sleep 0.4; done"),
    ("smaps_rollup", "cat", 12, "while [ $((i+=1)) -le 6 ]; do date +%H:%M:%S; cat /proc/$P/smaps_rollup; sleep 0.7; done"),
    ("meminfo", "grep", 60, "while [ $((i+=1)) -le 8 ]; do date +%T; grep -E 'MemTotal|MemFree|MemAvailable|^Cached|AnonPages' /proc/meminfo; sleep 0.7; done"),
    ("atop_raw", "atop", 12, "atop -P PRM 1 7 | grep -E \"SEP|RESET| $P \""),
    ("atop", "atop", 60, "atop -m 2 4 | grep -E 'ATOP|MEM|  PID|python' | cut -c1-110"),
    ("dstat", "dstat", 60, "dstat -tm --nocolor 1 8"),
    ("collectl", "collectl", 60, "collectl -sm -i1 -c 8 -oT"),
    ("collectl_proc", "collectl", 12, "collectl -sZ -i1:1 -c 6 --procfilt p$P --procopts m"),
    ("psrecord", "psrecord", 12, "psrecord $P --interval 0.5 --duration 6 --log log.txt --include-children >/dev/null; cat log.txt"),
    ("mprof", "mprof", 12, "timeout 6 mprof attach -T 0.5 $P >/dev/null 2>&1; cat mprofile_*.dat"),
    ("glances", "glances", 60, "timeout 14 glances --stdout mem.used,mem.percent -t 1"),
    ("glances_csv", "glances", 60, "timeout 14 glances --stdout-csv now,mem.used,mem.available -t 1"),
    ("node_exporter", "prometheus-node-exporter", 60,
     "prometheus-node-exporter --web.listen-address=127.0.0.1:9177 >/dev/null 2>&1 & sleep 1; while [ $((i+=1)) -le 7 ]; do date +%T; "
     "curl -s 127.0.0.1:9177/metrics | grep -E '^node_memory_(MemAvailable|MemFree|AnonPages)_bytes'; sleep 0.7; done; kill %1"),
    ("cgroup", "cat", 12,
     "g=/sys/fs/cgroup/memory/trends$P; mkdir $g && echo $P > $g/cgroup.procs; while [ $((i+=1)) -le 9 ]; do "
     "echo $(date +%T) $(cat $g/memory.usage_in_bytes); sleep 0.5; done; echo $P > /sys/fs/cgroup/memory/cgroup.procs; rmdir $g"),
    ("nmon", "nmon", 60, "nmon -s 1 -c 8 -t -F n.csv; sleep 10; grep -E '^(MEM,|ZZZZ|TOP,.*python)' n.csv"),
    ("watch_sort", "ps", 60, "while [ $((i+=1)) -le 6 ]; do date; ps -eo pid,rss,comm --sort=-rss | head -3; sleep 0.7; done"),
    ("psutil_json", "psrecord", 12,
     "{python} -c \"import psutil, time, json\np = psutil.Process($P)\nfor i in range(10):\n m = p.memory_info()\n "
     "print(json.dumps(dict(ts=round(time.time(), 2), pid=p.pid, **m._asdict())))\n time.sleep(0.4)\""),
]

LOOP = "const kept = []; let n = 0; setInterval(() => { const a = new Array(2e5).fill(0).map((_, i) => ({i})); if (KEEP) kept.push(a); " \
       "if (++n == 24) process.exit(); }, 60)"
JAVA = "import java.util.*; class Work { static List<byte[]> kept = new ArrayList<>(); public static void main(String[] a) throws Exception { " \
       "for (int i = 0; i < N; i++) { for (int j = 0; j < 20; j++) { byte[] b = new byte[1 << 20]; if (KEEP) { if (j == 0) kept.add(b); } } Thread.sleep(100); } } }"
GO = "package main\n\nimport (\n\t\"runtime\"\n\t\"time\"\n)\n\nvar kept [][]byte\n\nfunc main() {\n\tfor i := 0; i < 120; i++ {\n\t\tb := make([]byte, 1<<22)\n" \
     "\t\tb[i] = 1\n\t\tif KEEP {\n\t\t\tkept = append(kept, b)\n\t\t}\n\t\ttime.Sleep(20 * time.Millisecond)\n\t}\n\truntime.KeepAlive(kept)\n}\n"
C = "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\nint main() { for (int i = 0; i < 60; i++) { void *p = malloc(1 << 24); memset(p, 1, 1 << 24); " \
    "if (!KEEP) free(p); usleep(20000); } return 0; }\n"
SMALL = "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\nint main() { for (int i = 0; i < 40; i++) { for (int j = 0; j < 20000; j++) { void *p = malloc(1 << 10); " \
        "memset(p, 1, 1 << 10); if (!KEEP) free(p); } usleep(10000); } return 0; }\n"


def java(steps, command):
    return f"cat > Work.java <<'J'\n{JAVA.replace('N;', f'{steps};')}\nJ\njavac Work.java && {command}"


def c(source, command):
    return f"cat > a.c <<'C'\n{source}C\ncc {command}"


# Name, the program it needs, the shell command; KEEP is replaced by a truth value of its language.
OWN = [
    ("node_trace_gc", "node", f"cat > a.js <<'J'\n{LOOP}\nJ\nnode --trace-gc a.js"),
    ("node_usage", "node", "node -e 'const kept = []; let n = 0; setInterval(() => { const a = new Array(2e5).fill(0).map((_, i) => ({i})); if (KEEP) "
     "kept.push(a); if (n % 3 == 0) { global.gc(); console.log(process.memoryUsage()); } if (++n == 24) process.exit(); }, 60)' --expose-gc"),
    ("java_gc_log", "java", java(80, "java -Xmx1g -Xlog:gc -cp . Work")),
    ("java_gc_star", "java", java(60, "java -Xmx512m -XX:+UseSerialGC -Xlog:gc*:stdout:time,level,tags -cp . Work")),
    ("java_parallel", "java", java(60, "java -Xmx512m -XX:+UseParallelGC -Xlog:gc:stdout:uptime -cp . Work")),
    ("jstat_gcutil", "java", java(90, "(java -Xmx512m -Xms512m -XX:+UseSerialGC -cp . Work & p=$!; sleep 1; jstat -gcutil -t $p 500 14; wait)")),
    ("jstat_gc", "java", java(90, "(java -Xmx512m -Xms512m -XX:+UseSerialGC -cp . Work & p=$!; sleep 1; jstat -gc $p 500 14; wait)")),
    ("jcmd_heap_info", "java", java(90, "(java -Xmx512m -cp . Work & p=$!; sleep 1; "
     "while [ $((i+=1)) -le 6 ]; do jcmd $p GC.run >/dev/null; jcmd $p GC.heap_info; sleep 0.6; done; wait)")),
    ("jcmd_histogram", "java", java(90, "(java -Xmx512m -cp . Work & p=$!; sleep 1; "
     "while [ $((i+=1)) -le 4 ]; do date +%T; jcmd $p GC.class_histogram | head -7; sleep 1; done; wait)")),
    ("go_gctrace", "go", f"mkdir -p g && cd g && cat > main.go <<'G'\n{GO}G\nGO111MODULE=off go build -o work main.go && GODEBUG=gctrace=1 ./work"),
    ("tracemalloc", "python3", "{python} -c \"\nimport tracemalloc, time\ntracemalloc.start()\nkept = []\nlast = tracemalloc.take_snapshot()\nfor i in range(1, 6):\n"
     "    a = [bytes(1000) for _ in range(20000)]\n    if KEEP: kept.extend(a)\n    del a\n    now = tracemalloc.take_snapshot()\n    print(f'--- iteration {i} ---')\n"
     "    for line in now.compare_to(last, 'lineno')[:4]: print(line)\n    last = now\n\""),
    ("tracemalloc_traced", "python3", "{python} -c \"\nimport tracemalloc\ntracemalloc.start()\nkept = []\nfor i in range(8):\n    a = [bytes(1000) for _ in range(20000)]\n"
     "    if KEEP: kept.extend(a)\n    del a\n    print(i, tracemalloc.get_traced_memory())\n\""),
    ("objgraph", "mprof", "{python} -c \"\nimport objgraph\nclass Request:\n    def __init__(self): self.body = [1] * 10\nkept = []\nobjgraph.show_growth(limit=3)\nfor i in range(5):\n"
     "    a = [Request() for _ in range(50000)]\n    if KEEP: kept.extend(a)\n    del a\n    print('after batch', i)\n    objgraph.show_growth(limit=3)\n\""),
    ("pympler", "mprof", "{python} -c \"\nfrom pympler import tracker\ntr = tracker.SummaryTracker()\nkept = []\ntr.diff()\nfor i in range(4):\n    a = [bytearray(1000) for _ in range(30000)]\n"
     "    if KEEP: kept.extend(a)\n    del a\n    tr.print_diff()\n\" | head -60"),
    ("jemalloc_interval", "cc", c(C, "-O0 a.c -o a && LD_PRELOAD=$(ls /usr/lib/x86_64-linux-gnu/libjemalloc.so* | head -1) "
     "MALLOC_CONF=stats_interval:33554432,stats_interval_opts:mdablxe ./a 2>&1 | grep -E 'Allocated|Background|Begin|End'")),
    ("gperftools", "cc", c(SMALL, "-O0 a.c -o a && LD_PRELOAD=$(ls /usr/lib/x86_64-linux-gnu/libtcmalloc.so* | head -1) HEAPPROFILE=./h "
     "HEAP_PROFILE_ALLOCATION_INTERVAL=16777216 HEAP_PROFILE_INUSE_INTERVAL=16777216 ./a")),
    ("valgrind", "valgrind", c(SMALL, "-g -O0 a.c -o a && valgrind --leak-check=full ./a")),
    ("massif", "valgrind", c(SMALL, "-g -O0 a.c -o a && valgrind --tool=massif --massif-out-file=m.out ./a >/dev/null 2>&1; ms_print m.out | head -60")),
    ("mono_gc", "mono", "cat > W.cs <<'C'\nusing System.Collections.Generic; class W { static List<byte[]> kept = new List<byte[]>(); static void Main() { "
     "for (int i = 0; i < 60; i++) { for (int j = 0; j < 20; j++) { var b = new byte[1 << 20]; if (KEEP && j == 0) kept.Add(b); } System.GC.Collect(); } } }\nC\n"
     "mcs W.cs && MONO_LOG_LEVEL=info MONO_LOG_MASK=gc mono W.exe 2>&1 | grep MAJOR | head -30"),
    ("erl_memory", "erl", "erl -noshell -eval 'F = fun F(0, _) -> ok; F(N, K) -> B = lists:seq(1, 2000000), erlang:garbage_collect(), io:format(\"~p~n\", [erlang:memory()]), "
     "timer:sleep(100), F(N - 1, case KEEP of 1 -> [B | K]; _ -> K end) end, F(5, []), halt().'"),
    ("r_gc", "Rscript", "Rscript -e 'kept <- list(); for (i in 1:6) { a <- runif(1e7); if (KEEP) kept[[i]] <- a; rm(a); print(gc()) }'"),
    ("sbcl_room", "sbcl", "sbcl --noinform --non-interactive --eval '(progn (defvar *kept* nil) (dotimes (i 6) (let ((a (make-array 6000000 :initial-element i))) (when (= 1 KEEP) (push a *kept*))) "
     "(sb-ext:gc :full t) (room nil)))'"),
    ("ruby_gc", "ruby", "ruby -e 'kept = []; 8.times { |i| a = Array.new(100_000) { |j| \"row #{j}\" }; kept << a if KEEP == 1; a = nil; GC.start; p GC.stat.slice(:count, :heap_live_slots, "
     ":heap_allocated_pages, :total_allocated_objects, :malloc_increase_bytes) }'"),
    ("lua_count", "lua5.4", "lua5.4 -e 'local kept = {} for i = 1, 8 do local t = {} for j = 1, 500000 do t[j] = {j} end if KEEP == 1 then kept[i] = t end t = nil collectgarbage() print(i, collectgarbage(\"count\")) end'"),
    ("php_usage", "php", "php -r '$k = []; for ($i = 1; $i <= 8; $i++) { $a = range(1, 2000000); if (KEEP) $k[] = $a; unset($a); echo \"iteration $i: \", memory_get_usage(), \" / \", memory_get_usage(true), \"\\n\"; }'"),
    ("time_v", "time", "for v in 1.4.0 1.5.0; do echo \"== release $v ==\"; /usr/bin/time -v python3 -c \"b = bytearray((90 if '$v' == '1.5.0' and KEEP else 50) << 20)\" 2>&1 | head -12; done"),
]

# What is kept of a text.
LINES, WIDTH = 60, 240
# From so many MiB on, a tool watches the whole machine.
WHOLE = 60

LEAKS = "verdict: leak | host-growth"
MORE = "verdict: regression"
NONE = "verdict: not-oom | report-only\nside: none"
WORDS = {"Rscript": ("TRUE", "FALSE"), **dict.fromkeys(["node", "java", "go", "mono", "php"], ("true", "false"))}


def printed(command, **environment):
    """What `command` prints in a folder of its own; nothing if it does not end."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(["bash", "-c", command.replace("{python}", PYTHON)], cwd=folder, env={**os.environ, **environment},
                                  timeout=60, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return ""
    lines = done.stdout.strip("\n").replace(folder, "/home/user/work").split("\n")
    return "\n".join(line[:WIDTH].rstrip() for line in lines[:LINES])


def watched(command, size, keeps):
    """What `command` prints that watches a process, below the command."""
    child = subprocess.Popen(["python3", "-c", TARGET, "keeps" if keeps else "frees", str(size)])
    try:
        time.sleep(0.6)
        text = printed(command, P=str(child.pid))
    finally:
        child.kill()
        child.wait()
    shown = command.replace("$P", str(child.pid)).replace("{python}", "python3")
    return text and f"$ {shown}\n{text}"


def own(command, needs, keeps):
    """What `command` prints of a program that it runs."""
    return printed(command.replace("KEEP", WORDS.get(needs, ("1", "0"))[not keeps]))


def main():
    runs = [(name, needs, size < WHOLE, functools.partial(watched, command, size)) for name, needs, size, command in WATCH]
    runs += [(name, needs, True, functools.partial(own, command, needs)) for name, needs, command in OWN]
    wanted, written = sys.argv[1:], []
    for name, needs, alone, text_of in runs:
        if wanted and name not in wanted:
            continue
        if not shutil.which(needs):
            print(f"{name}: {needs} is not installed")
            continue
        for keeps in (True, False) if alone else (True,):
            text = text_of(keeps=keeps)
            print(name, keeps, len(text))
            if text:
                truth = NONE if not keeps else MORE if name == "time_v" else LEAKS
                written.append(f"=== {'t' if keeps else 'n'}-{name}\n{truth}\n---\n{text}\n\n")
    if wanted:
        # The others keep what was recorded.
        print("".join(written))
    else:
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / "tools.txt").write_text("".join(written))


if __name__ == "__main__":
    main()
