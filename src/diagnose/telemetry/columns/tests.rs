//! Tables by their header.

use super::*;
use crate::telemetry::{Position, Reader};

/// Device, process, and the amounts in MiB that are used and in total.
type Row = (Option<u64>, Option<u64>, u64, Option<u64>);

/// What a reader finds in the lines of `text`.
fn samples(text: &str) -> Vec<Sample> {
    let (mut reader, mut samples, mut offset) = (Reader::default(), Vec::new(), 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        reader.line(Position { line: index as u64 + 1, offset }, line, &mut samples);
        offset += line.len() as u64;
    }
    samples
}

fn rows(text: &str) -> Vec<Row> {
    let samples = samples(text);
    let mib = |sample: &Sample, metric| sample.figure(metric).map(|figure| figure.bytes.bytes() / MIB);
    let row = |sample: &Sample| {
        let used = mib(sample, Metric::DeviceUsed).unwrap();
        (sample.device, sample.pid, used, mib(sample, Metric::DeviceTotal))
    };
    samples.iter().map(row).collect()
}

#[test]
fn tables_of_nvidia_smi_are_read_by_their_headers() {
    let csv = "timestamp, index, memory.used [MiB], memory.total [MiB]\n2025/03/01 10:00:00.123, 0, 3000 MiB, 24576 MiB\nnoise\n\
        noise\nnoise\n2025/03/01 10:00:00.223, 1, 21000 MiB, 24576 MiB\n";
    assert_eq!(rows(csv), [(Some(0), None, 3000, Some(24576)), (Some(1), None, 21000, Some(24576))]);
    let free = "index, memory.used [MiB], memory.free [MiB]\n1, 5000 MiB, 19576 MiB\n";
    assert_eq!(rows(free), [(Some(1), None, 5000, None)]);
    let reversed = "memory.total [MiB], memory.used [MiB]\n24576, 3000\n24576, 3500\n";
    assert_eq!(rows(reversed), [(None, None, 3000, Some(24576)), (None, None, 3500, Some(24576))]);
    // Numbers that do not follow the table belong to something else.
    assert_eq!(rows("memory.used [MiB]\n3000\nepoch\nloss\nlr\n17\n").len(), 1);
    let processes = "pid, process_name, used_gpu_memory [MiB]\n711, python, 3000 MiB\n712, python, [N/A]\n";
    assert_eq!(rows(processes), [(None, Some(711), 3000, None)]);
    let dmon = "# gpu    pwr     fb   bar1\n# Idx      W     MB     MB\n    0     56   3000      5\n    1      -    100      5\n";
    assert_eq!(rows(dmon), [(Some(0), None, 3000, None), (Some(1), None, 100, None)]);
    let pmon = "# gpu        pid  type    fb    command\n# Idx          #   C/G    MB    name\n    0      12345     C   3000   python\n";
    assert_eq!(rows(pmon), [(Some(0), Some(12345), 3000, None)]);
    let gpu = |used: u64| {
        format!(
            "GPU 00000000:07:00.0\n    FB Memory Usage\n        Total                             : 24576 MiB\n        Reserved                          : 300 MiB\n        Used                              : {used} MiB\n        Free                              : 100 MiB\n    BAR1 Memory Usage\n        Total                             : 256 MiB\n        Used                              : 5 MiB\n        Free                              : 251 MiB\n"
        )
    };
    let query = format!("Attached GPUs                             : 2\n{}{}", gpu(3000), gpu(9000));
    assert_eq!(rows(&query), [(Some(0), None, 3000, Some(24576)), (Some(1), None, 9000, Some(24576))]);
    assert_eq!(rows("nvidia-smi --query-gpu=memory.used --format=csv\n1\n"), []);
}

#[test]
fn tables_of_training_loops_are_read_by_their_headers() {
    let read = |text: &str| {
        let samples = samples(text);
        let gib = |sample: &Sample| {
            sample.figure(Metric::Reserved).map(|figure| figure.bytes.bytes() as f64 / f64::from(1 << 30))
        };
        samples.iter().map(|sample| (sample.step, gib(sample).unwrap())).collect::<Vec<_>>()
    };
    let head = "      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size\n";
    let bar = "100%|##########| 8/8 [00:01<00:00,  6.1it/s]";
    let row = |epoch: u64, memory: &str| {
        format!("      {epoch}/100      {memory}     1.21      2.75        18        640: {bar}\n")
    };
    let text = format!("{head}{}\n{head}{}", row(1, "3.25G"), row(2, "3.5G"));
    assert_eq!(read(&text), [(Some(1), 3.25), (Some(2), 3.5)]);
    let old = "     Epoch   gpu_mem       box       obj       cls    labels  img_size\n       0/2     1.75G   0.04242   0.06371   0.01702        31       640: 1it\n";
    assert_eq!(read(old), [(Some(0), 1.75)]);
    let other = "iter  vram  loss\n10  512M  0.5\n";
    assert_eq!(read(other), [(Some(10), 0.5)]);
    // A loop on the CPU, rows of another table, and a header alone.
    for text in [format!("{head}{}", row(1, "0G")), format!("{head}a\nb\nc\n{}", row(1, "3.25G")), head.to_owned()] {
        assert_eq!(read(&text), [], "{text}");
    }
    for text in ["epoch 3 loss 0.5 vram\n1 3.2G\n", "Epoch  loss\n1/2  3.2G\n", "the epoch of vram\n1 2G 3 4\n"] {
        assert_eq!(read(text), [], "{text}");
    }
}

#[test]
fn rows_of_phases_builds_and_pods_are_read() {
    let read = |text: &str| {
        let samples = samples(text);
        let row = |sample: &Sample| {
            let mib = |figure: &crate::telemetry::Figure| figure.bytes.bytes() / MIB;
            (sample.format, sample.label.clone(), sample.figures.values().map(mib).collect::<Vec<_>>())
        };
        samples.iter().map(row).collect::<Vec<_>>()
    };
    let named = |name: &str| Some(name.to_owned());
    let phases = "       phase  allocated   reserved\n   load model   1.0 GB    2.0 GB\nrequest  8k ctx   3.0 GB    4.0 GB  (long)\n";
    let expected = [("load model", vec![1024, 2048]), ("request", vec![3072, 4096])];
    assert_eq!(read(phases), expected.map(|(name, amounts)| (Format::Plain, named(name), amounts)));
    // A line of nothing but a terminal's codes has no cells.
    assert_eq!(read("when   allocated   reserved\n\u{1b}[0m\n"), []);
    let times = "when   allocated   reserved\n10:00   1.0 GB   2.0 GB   (idle)\n";
    assert_eq!(read(times), [(Format::Plain, None, vec![1024, 2048])]);
    let builds =
        "| build | tok/s | peak GPU mem (GiB) |\n|---|---|---|\n| 0601 | 14,210 | 58.5 |\n| 0602 | 14,198 | 69.5 |\n";
    let expected = [59904, 71168].map(|amount| (Format::Versions, None, vec![amount]));
    assert_eq!(read(builds), expected);
    let pods = "Mon  $ kubectl top pod -l app=a --no-headers\na-5c9-tq8   14m   188Mi\nTue  a-5c9-tq8   13m   342Mi\n";
    let expected = [188, 342].map(|amount| (Format::Plain, named("a-5c9-tq8"), vec![amount]));
    assert_eq!(read(pods), expected);
    let searched = "# kubectl top po -n mon | grep agent\nagent-0   14m   188Mi\nagent-1   13m   342Mi\n";
    let expected = [("agent-0", 188), ("agent-1", 342)];
    assert_eq!(read(searched), expected.map(|(name, amount)| (Format::Plain, named(name), vec![amount])));
    let cycles = "cycle  awake_gib  after_sleep_gib\n1      68.5       2.0\n";
    assert_eq!(read(cycles), [(Format::VllmSleep, named("1"), vec![2048])]);
    let heading = "`torch.cuda.memory_allocated()` after each swap (gc.collect() before):\n\nswap 10: 4.5 GB\nswap 20: 5.0 GB (late)\n";
    assert_eq!(read(heading), [4608, 5120].map(|amount| (Format::Plain, None, vec![amount])));
    let unsaid = "Sizes of the downloads:\n\nfile 10: 4.5 GB\n";
    assert_eq!(read(unsaid), []);
    let versions = "5.2.4   Maximum resident set size (kbytes): 2048000\n";
    assert_eq!(read(versions), [(Format::Versions, None, vec![2000])]);
    for text in ["10.0.0.12: rss 2000 MB\n", "3.12.24: rss 2000 MB\n", "2024.1.02  rss 2000 MB\n"] {
        assert!(read(text).iter().all(|row| row.0 == Format::Plain), "{text}");
    }
}

#[test]
fn tables_of_processes_and_of_own_loops_are_read_by_their_headers() {
    let read = |text: &str| {
        let samples = samples(text);
        let first = |sample: &Sample| {
            sample.figures.iter().next().map(|(metric, figure)| (*metric, figure.bytes.bytes() >> 10))
        };
        samples.iter().map(|sample| (sample.step, sample.pid, first(sample).unwrap())).collect::<Vec<_>>()
    };
    let host = |kib| (Metric::HostUsed, kib);
    let command = "$ while true; do date; ps -o pid,rss,vsz,cmd -p 71 --no-headers; sleep 60; done\n(constant load)\n";
    assert_eq!(read(&format!("{command}00:00  71  2148 9900 node a.js\n")), [(None, Some(71), host(2148))]);
    let ps = "USER  PID %CPU %MEM    VSZ   RSS TTY  STAT START TIME COMMAND\nroot   71  1.0  0.1 990000 21480 ?  Sl 10:00 0:01 python a.py b\n";
    assert_eq!(read(ps), [(None, Some(71), host(21480))]);
    let top = "  PID USER  PR NI    VIRT    RES    SHR S %CPU %MEM  TIME+ COMMAND\n   71 root  20  0  9.9g   1.5g  20m S  5.0  1.0  0:01 python\n";
    assert_eq!(read(top), [(None, Some(71), host(3 << 19))]);
    let pods = "NAME         CPU(cores)   MEMORY(bytes)\nenvoy-gw-0   212m         143Mi\n";
    assert_eq!(read(pods), [(None, None, host(143 << 10))]);
    let containers = "CONTAINER ID   NAME            CPU %     MEM USAGE / LIMIT     MEM %     PIDS\n\
        8c1f0e2ab9d4   api-gateway-1   31.50%    412MiB / 2GiB         20.15%    23\n";
    assert_eq!(read(containers), [(None, None, host(412 << 10))]);
    let ranks = samples(
        " rank  host     device  alloc(GiB)  reserved(GiB)\n    3  gpu-a01  cuda:1       52.00          54.00\n",
    );
    assert_eq!(ranks[0].rank, Some(3));
    assert_eq!(ranks[0].figures.keys().copied().collect::<Vec<_>>(), [Metric::Allocated, Metric::Reserved]);
    let heap = "[3600.114s][info][gc] GC(211) Pause Full (System.gc()) 1604M->1022M(6144M) 812.551ms\n";
    assert_eq!(read(heap), [(None, None, host(1022 << 10))]);
    assert_eq!(read("01:00:00 HeapAlloc=84 MiB Sys=171 MiB\n"), [(None, None, host(84 << 10))]);
    let bar = "epoch 1: 100%|###| 391/391 [01:02<00:00,  6.2it/s, loss=1.37, gpu=1.50G]\n";
    assert_eq!(read(bar), [(Some(1), None, (Metric::Allocated, 3 << 19))]);
    let csv = "step,loss,allocated_mb\n100,0.5,1024\n200,0.4,2048\n";
    let allocated = |mib: u64| (Metric::Allocated, mib << 10);
    assert_eq!(read(csv), [(Some(100), None, allocated(1024)), (Some(200), None, allocated(2048))]);
    let bars = "| step | alloc (MiB) | loss |\n|------|-------------|------|\n| 5    | 1024        | 0.5  |\n";
    assert_eq!(read(bars), [(Some(5), None, allocated(1024))]);
    let apart = "idx        RSS          \u{394} RSS\n  0   312.50MB       0.00MB\n";
    assert_eq!(read(apart), [(Some(0), None, host(320_000))]);
    let titled = "[after 20 iterations] memory (MB)\n rank  0 | max allocated: 1024.0 | max reserved: 2048.0\n";
    assert_eq!(read(titled), [(None, None, (Metric::MaxAllocated, 1 << 20))]);
    assert_eq!(read("{\"step\": 5, \"bytes_in_use\": 1048576}\n"), [(Some(5), None, allocated(1))]);
    // The rows of another table, and processes that are only listed.
    assert_eq!(read("$ ps aux | grep rss\n71 2148 9900 node\n"), []);
    assert_eq!(read("step,loss\n100,0.5\n"), []);
}
