//! Lines as people print them.

use proptest::prelude::*;

use super::super::own::own;
use super::*;
use crate::telemetry::Position;

const GIB: f64 = (1u64 << 30) as f64;

fn all(text: &str) -> Vec<Sample> {
    let line = Line::new(Position::default(), text);
    own(&line).map_or_else(|| plain(&line, ""), |sample| vec![sample])
}

fn read(text: &str) -> Option<Sample> {
    all(text).into_iter().next()
}

fn figures(text: &str) -> Vec<(Metric, f64)> {
    let Some(sample) = read(text) else { return Vec::new() };
    let gib = |bytes: f64| (bytes / GIB * 100.0).round() / 100.0;
    sample.figures.iter().map(|(metric, figure)| (*metric, gib(figure.value()))).collect()
}

#[test]
fn what_people_print_is_read_in_any_order() {
    use Metric::{
        Allocated, DeviceFree, DeviceTotal, DeviceUsed, HostPeak, HostUsed, MaxAllocated, MaxReserved, Reserved,
    };
    for (text, expected) in [
        ("Allocated: 4.5 GB, Reserved: 8.5 GB", vec![(Allocated, 4.5), (Reserved, 8.5)]),
        ("step 12 loss=2.31 mem=12.3GiB", vec![(Allocated, 12.3)]),
        ("4.50 GB allocated, 8.50 GB reserved", vec![(Allocated, 4.5), (Reserved, 8.5)]),
        ("torch.cuda.memory_allocated: 4.50GB", vec![(Allocated, 4.5)]),
        ("memory_allocated 4831838208", vec![(Allocated, 4.5)]),
        ("max_memory_allocated=9663676416 memory_reserved=10737418240", vec![(MaxAllocated, 9.0), (Reserved, 10.0)]),
        ("Peak memory: 9.25 GiB", vec![(MaxAllocated, 9.25)]),
        ("GPU memory used: 512 MB / 1024 MB", vec![(DeviceUsed, 0.5), (DeviceTotal, 1.0)]),
        ("GPU memory used: 12.0 / 80.0 GB", vec![(DeviceUsed, 12.0), (DeviceTotal, 80.0)]),
        ("GPU 1: free memory 3.5 GB", vec![(DeviceFree, 3.5)]),
        ("memory.used=6656 MiB memory.total=81920 MiB", vec![(DeviceUsed, 6.5), (DeviceTotal, 80.0)]),
        ("memory.used [MiB]: 6656", vec![(DeviceUsed, 6.5)]),
        ("used_gpu_memory=6656MiB", vec![(DeviceUsed, 6.5)]),
        ("nvidia-smi used 6656 MiB", vec![(DeviceUsed, 6.5)]),
        ("gpu[0] used=6656MB free=4096MB", vec![(DeviceUsed, 6.5), (DeviceFree, 4.0)]),
        ("after forward | allocated (MiB): 2048.0 | reserved (MiB): 3072.0", vec![(Allocated, 2.0), (Reserved, 3.0)]),
        ("{'alloc_gb': 1.25, 'max_reserved_gb': 2.5}", vec![(Allocated, 1.25), (MaxReserved, 2.5)]),
        ("RSS: 3072.0 MB", vec![(HostUsed, 3.0)]),
        ("process memory usage 2.00 GB", vec![(HostUsed, 2.0)]),
        ("cpu mem 5.0G gpu mem 6.0G", vec![(Allocated, 6.0), (HostUsed, 5.0)]),
        (
            "| N/A   32C    P0    52W / 400W |   4096MiB / 81920MiB |     15%      Default |",
            vec![(DeviceUsed, 4.0), (DeviceTotal, 80.0)],
        ),
        ("2026/01/02 10:00:00.000, 4096 MiB, 81920 MiB", vec![(DeviceUsed, 4.0), (DeviceTotal, 80.0)]),
        ("max mem: 5120.0 MB", vec![(MaxAllocated, 5.0)]),
        ("torch.cuda.max_memory_allocated() = 3.50 GB", vec![(MaxAllocated, 3.5)]),
        ("torch.cuda.memory_allocated(0): 3.50 GB", vec![(Allocated, 3.5)]),
        ("torch.cuda.memory_allocated() / 1024**3 = 3.5000", vec![(Allocated, 3.5)]),
        ("memory_reserved()/1024/1024: 3584.0", vec![(Reserved, 3.5)]),
        ("memory_allocated()/1e9: 3.2212", vec![(Allocated, 3.0)]),
        ("allocated/2**30=1.25 reserved/2**30=2.5", vec![(Allocated, 1.25), (Reserved, 2.5)]),
        ("mem_alloc // 2**20 = 2048", vec![(Allocated, 2.0)]),
        ("torch.cuda.mem_get_info() -> (1610612736, 3221225472)", vec![(DeviceTotal, 3.0), (DeviceFree, 1.5)]),
        ("[GPU0] 12.25 GiB allocated (peak 12.75 GiB)", vec![(Allocated, 12.25), (MaxAllocated, 12.75)]),
        ("peak 12.75 GiB, 12.25 GiB allocated", vec![(Allocated, 12.25), (MaxAllocated, 12.75)]),
        ("Current memory usage is 512.0MB; Peak was 1024.0MB", vec![(HostUsed, 0.5), (HostPeak, 1.0)]),
        ("tracemalloc: current memory=1.25GB peak=3.5GB", vec![(HostUsed, 1.25), (HostPeak, 3.5)]),
        ("Peak memory usage: 3.5 GB (host)", vec![(HostPeak, 3.5)]),
        ("RAM: 18.25GB  GPU: 12.25GB", vec![(DeviceUsed, 12.25), (HostUsed, 18.25)]),
        ("memory allocated: 4,831,838,208 bytes", vec![(Allocated, 4.5)]),
        ("Allocated: 4,608.0 MB", vec![(Allocated, 4.5)]),
        ("gpu[0] used=12.25GB", vec![(DeviceUsed, 12.25)]),
        ("| step 1 | loss 2.3 | 3.5 GiB alloc | 5.8 GiB resv |", vec![(Allocated, 3.5), (Reserved, 5.8)]),
        ("gpu_mem_alloc=3.57 gpu_mem_reserved=5.77", vec![(Allocated, 3.57), (Reserved, 5.77)]),
        ("alloc: 3.57, reserved: 5.77", vec![(Allocated, 3.57), (Reserved, 5.77)]),
        ("memory_allocated=3584.00", vec![(Allocated, 3.5)]),
        (
            "[0] NVIDIA RTX 4090 | 61C,  88 % | 3072 / 24576 MB | bob(2990M)",
            vec![(DeviceUsed, 3.0), (DeviceTotal, 24.0)],
        ),
        // Each amount has its own word behind it, or a word of its own before it that says no kind.
        ("CUDA memory: 3.25 GB allocated / 4.50 GB reserved", vec![(Allocated, 3.25), (Reserved, 4.5)]),
        ("now: 3.25GB peak: 5.00GB", vec![(MaxAllocated, 5.0)]),
        ("CPU RAM: 5.25 GB, GPU RAM: 3.25 GB", vec![(HostUsed, 5.25), (Allocated, 3.25)]),
        ("Total GPU memory used: 3.25 GB", vec![(DeviceUsed, 3.25)]),
        ("3.25GB in use on the GPU", vec![(DeviceUsed, 3.25)]),
        // Words in brackets, in the order of their amounts, and `res` beside an allocation.
        ("GPU memory: 4.01/5.50 GB (alloc/reserved)", vec![(Allocated, 4.01), (Reserved, 5.5)]),
        ("gpu0 mem (reserved/allocated): 8.25 / 6.125 GiB", vec![(Reserved, 8.25), (Allocated, 6.13)]),
        (
            "CUDA mem [alloc|res|peak] = 1.5GB|2.5GB|3.25GB",
            vec![(Allocated, 1.5), (Reserved, 2.5), (MaxAllocated, 3.25)],
        ),
        ("vram (used/total): 3.5/24.0 GiB", vec![(DeviceUsed, 3.5), (DeviceTotal, 24.0)]),
        ("mem_alloc_gb: 4.5 mem_res_gb: 5.75", vec![(Allocated, 4.5), (Reserved, 5.75)]),
        ("step 3 | alloc 4.25G / res 6.0G", vec![(Allocated, 4.25), (Reserved, 6.0)]),
        ("mem_res_gb: 5.75", vec![]),
        ("mem_fragmentation_bytes:3317159936", vec![]),
        // As much work as is held at the time.
        ("used_memory_rss_human:6.18G db0:keys=12000207", vec![]),
        // The units of getrusage, procfs, time -v, wandb and fairseq.
        ("ru_maxrss: 3145728", vec![(HostPeak, 3.0)]),
        ("VmRSS:\t 3145728 kB", vec![(HostUsed, 3.0)]),
        ("VmHWM:\t 3145728 kB", vec![(HostPeak, 3.0)]),
        ("Maximum resident set size (kbytes): 3145728", vec![(HostPeak, 3.0)]),
        ("{'system.gpu.0.memoryAllocatedBytes': 3221225472, '_step': 4}", vec![(Allocated, 3.0)]),
        ("{'system.proc.memory.rssMB': 3072.0}", vec![(HostUsed, 3.0)]),
        ("epoch 001: 100 / 5000 loss=9.2, gb_free=12.5, wall=35", vec![(DeviceFree, 12.5)]),
        // Rows without a unit, or without a word for memory.
        ("Epoch: [0]  [ 10/90]  eta: 0:00:33  loss: 2.30 (2.40)  max mem: 3072", vec![(MaxAllocated, 3.0)]),
        ("Iter(train) [50/100]  lr: 1e-3  time: 0.3  memory: 3072, loss: 0.5", vec![]),
        ("Epoch(train) [1][50/100]  lr: 1e-3  time: 0.3  memory: 3072  loss: 0.5", vec![(MaxAllocated, 3.0)]),
        ("Epoch [1][50/100] lr: 1e-3, time: 0.3, memory: 3072, loss: 0.5", vec![(MaxAllocated, 3.0)]),
        ("2026/01/02 10:00:00.123, NVIDIA L4-24GB, 45 %, 3072 MiB", vec![(DeviceUsed, 3.0)]),
        ("after backward: 3.25 GB", vec![(Allocated, 3.25)]),
        // A count between the words and their amount.
        ("RSS after step 1: 18.0 GB", vec![(HostUsed, 18.0)]),
        ("GPU memory after epoch 3/10 = 12.5 GiB", vec![(Allocated, 12.5)]),
        ("Memory used (iter 20): 3.25 GB", vec![(DeviceUsed, 3.25)]),
        ("peak memory at batch 7 -> 5.5GiB", vec![(MaxAllocated, 5.5)]),
        // The device before its amount, and what it is behind it.
        ("gpu0: 12.25GB used", vec![(DeviceUsed, 12.25)]),
        ("cuda:1 3.25 GiB free", vec![(DeviceFree, 3.25)]),
        ("GPU 0: 12.25 GB in use", vec![(DeviceUsed, 12.25)]),
        ("[step 3] gpu1: 5.5 GB allocated", vec![(Allocated, 5.5)]),
        // A key that names the memory of a GPU, and a number with a fraction.
        ("gpu_mem: 12.25", vec![(Allocated, 12.25)]),
        ("loss: 0.31, gpu_mem=12.25, lr: 1.0e-4", vec![(Allocated, 12.25)]),
        ("max_gpu_memory: 3.25", vec![(MaxAllocated, 3.25)]),
    ] {
        let mut expected = expected;
        expected.sort_unstable_by_key(|entry| entry.0);
        assert_eq!(figures(text), expected, "{text}");
    }
}

#[test]
fn what_tells_of_no_memory_is_left() {
    for text in [
        "Allocated 5 workers",
        "Downloading model-00001.safetensors: 4.5GB [00:10, 450MB/s]",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is free.",
        "print(f\"Allocated: {torch.cuda.memory_allocated()/1e9} GB\")",
        "Killed process 71 (python) total-vm:9kB, anon-rss:77777kB, file-rss:0kB",
        "epoch 3 loss 1.25",
        "I remember 12 GB of photos in that long sentence about members of a club that met in a cafe by the river",
        "read 1.5 GB from disk",
        "Allocation of 1207959552 exceeds 10% of free system memory.",
        "warning: failed to mlock 4096000-byte buffer (after previously locking 0 bytes): Cannot allocate memory",
        "tcmalloc: large alloc 12884901888 bytes == 0x5641c000 @  0x7f1c1a 0x5641 0x5642",
        "allocating 3072.00 MiB on device 0",
        "malloc of 3072.00 MiB",
        "model requires more system memory (38.6 GiB) than is available (14.2 GiB)",
        "  --gpu-memory 12GB   how much to use",
        "memory limit: 4GB",
        "mem = torch.cuda.memory_allocated() / 1e9",
        "if torch.cuda.memory_allocated(device) > 8e9:",
        "alloc_ratio=0.85 mem_alloc_rate: 0.5",
        "allocated: 45.3",
        "mem_alloc=45.3%",
        "prefix cache hit rate: 45.2, cached=0.5",
        "512/1024 files",
        "allocated: 1.5 cpus, reserved: 2.0 cpus",
        "{'system.gpu.0.memoryAllocated': 45.3}",
        "svmem(total=16777216000, available=8000000000, percent=52.3)",
        "MemoryMax=2G",
        "maxMemoryMB=2048",
        "after download: 3.2 GB",
        "after training: 3.2 GB checkpoint",
        "loss: 2.3, memory: 45%",
        "memory leak fixed in step 2: 3.2 s",
        "gpu_mem: 12",
        "gpu_mem_util: 45.25",
        "gpu_mem: 45.2%",
        "gpu0: 12.3GB model",
        "gpu_memory_utilization: 0.9",
        "rss reader: epoch 3 of 7",
    ] {
        assert_eq!(figures(text), [], "{text}");
    }
}

#[test]
fn labels_steps_and_devices_are_told() {
    let sample = read("step 7 after forward: cuda:1 allocated 4.5 GB").unwrap();
    assert_eq!((sample.step, sample.device, sample.rank), (Some(7), Some(1), None));
    assert_eq!(sample.label.as_deref(), Some("after forward"));
    // A loss is not a part of a label: the series remains one.
    assert_eq!(read("Epoch 1 step 10 loss=2.31 mem=12.3GiB").unwrap().label, None);
    for (text, label) in [
        ("[forward] allocated=14.0GB max_allocated=15.1GB", Some("forward")),
        ("[INFO] [train.py:30] [after backward] allocated=9.0GB", Some("after backward")),
        ("2025-01-01 10:00:00 [INFO] allocated=9.0GB", None),
        ("allocated 9.0 GB after forward", Some("after forward")),
        ("allocated=9.0GB (optimizer step)", Some("optimizer step")),
        ("cpu mem 3.5 GB gpu mem 5.5 GB", None),
        ("After epoch 1: 3655.7 MB allocated", Some("After epoch")),
        ("after optimizer step allocated: 12.5 GB", Some("after optimizer step")),
        ("Epoch: 1 after backward step: 7 mem 12.5 GB", Some("after backward")),
        ("pmem(rss=3833258311, vms=9999999999)", None),
        ("iter 7: loss 2.31, time 12.5ms, mfu 30.1%, mem 3.2GB", None),
        ("step: 7  grad_norm:  1.2  memory:  3.2GiB(4.06%)", None),
        ("Using 3.2 GB of GPU memory", None),
        ("Memory after forward: 3.2 GB", Some("after forward")),
        ("GPU memory at peak: 3.2 GB", None),
        ("before optimizer step: 3.2GB allocated", Some("before optimizer step")),
        ("forward took 12.5 ms, mem 3.2 GB", Some("forward")),
    ] {
        assert_eq!(read(text).unwrap().label.as_deref(), label, "{text}");
    }
    let line = Line::new(Position::default(), "allocated: 3.5 GB");
    assert_eq!(plain(&line, "== after forward ==")[0].label.as_deref(), Some("after forward"));
    assert_eq!(plain(&line, "loss 2.1")[0].label, None);
    assert_eq!(read("Rank 3 | allocated 3.5 GB").unwrap().rank, Some(3));
    let step = read("[step 3] alloc=3.5GB").unwrap();
    assert_eq!((step.step, step.label), (Some(3), None));
}

#[test]
fn each_gpu_and_each_phase_of_a_line_is_a_reading() {
    let of = |text: &str| {
        let gib = |sample: &Sample| sample.figures.values().next().map(|figure| figure.value() / GIB);
        let told = all(text).into_iter();
        told.map(|sample| (sample.device, sample.label.clone(), gib(&sample).unwrap())).collect::<Vec<_>>()
    };
    let gpus = of("10:00:00 GPU0 3072MiB/24576MiB GPU1 1024MiB/24576MiB");
    assert_eq!(gpus, [(Some(0), None, 3.0), (Some(1), None, 1.0)]);
    let devices = of("cuda:0 allocated 3.0 GB, cuda:1 allocated 5.0 GB");
    assert_eq!(devices, [(Some(0), None, 3.0), (Some(1), None, 5.0)]);
    let phases = of("mem: init 4.0 GB, mem after forward 14.0 GB, mem after backward 9.0 GB");
    assert_eq!(phases.iter().map(|phase| phase.2).collect::<Vec<_>>(), [4.0, 14.0, 9.0]);
    assert_eq!(phases[2].1.as_deref(), Some("after backward"));
    assert_eq!(of("2025/03/01 10:00:00.123, 1, 3072 MiB, 24576 MiB"), [(Some(1), None, 3.0)]);
    let row = "| N/A   34C    P0    56W / 400W |   3072MiB /  40960MiB |      0%      Default |";
    let line = Line::new(Position::default(), row);
    let said = "|   2  NVIDIA A100-SXM4-40GB          On  |   00000000:07:00.0 Off |                    0 |";
    assert_eq!(plain(&line, said)[0].device, Some(2));
}

#[test]
fn the_line_of_log_memory_is_read_whole() {
    let sample = read(
        "plimsoll memory label=\"after forward\" step=3 rank=2 pid=71 device=2 allocated=4831838208 rss=1073741824",
    )
    .unwrap();
    assert_eq!((sample.format, sample.label.as_deref()), (Format::Plimsoll, Some("after forward")));
    assert_eq!((sample.step, sample.rank, sample.device, sample.pid), (Some(3), Some(2), Some(2), Some(71)));
    assert_eq!(sample.figure(Metric::Allocated).unwrap().bytes.bytes(), 4_831_838_208);
    assert_eq!(sample.figure(Metric::HostUsed).unwrap().bytes.bytes(), 1 << 30);
}

proptest! {
    #[test]
    fn any_text_is_read_or_left(text in "\\PC{0,120}", mixed in "(mem|alloc|GB|[0-9. ,/é|=]){0,30}") {
        let _ = (read(&text), read(&mixed));
    }
}
