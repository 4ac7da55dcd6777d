//! Every format, with the noise of real logs.

use proptest::prelude::*;

use super::*;
use plimsoll_memory::bytes::ByteSize;

fn read(text: &str) -> Vec<Sample> {
    let (mut reader, mut samples, mut offset) = (Reader::default(), Vec::new(), 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        reader.line(Position { line: index as u64 + 1, offset }, line, &mut samples);
        offset += line.len() as u64;
    }
    reader.finish(&mut samples);
    samples
}

fn one(text: &str) -> Sample {
    let mut samples = read(text);
    assert_eq!(samples.len(), 1, "{text}: {samples:?}");
    samples.remove(0)
}

/// The figure in units of `unit` bytes.
fn value(sample: &Sample, metric: Metric, unit: u64) -> f64 {
    sample.figure(metric).map_or(f64::NAN, |figure| (figure.value() / unit as f64 * 1e6).round() / 1e6)
}

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

#[test]
fn deepspeed_reports_are_three_lines_with_or_without_a_logger() {
    let logged = "[2025-04-23 16:15:06,822] [INFO] [utils.py:781:see_memory_usage] After initializing ZeRO optimizer\n\
        [2025-04-23 16:15:06,826] [INFO] [utils.py:782:see_memory_usage] MA 41.54 GB         Max_MA 46.2 GB         CA 50.92 GB         Max_CA 51 GB \n\
        [2025-04-23 16:15:06,826] [INFO] [utils.py:789:see_memory_usage] CPU Virtual Memory:  used = 93.98 GB, percent = 7.5%\n";
    let plain = "After initializing ZeRO optimizer\n\
        MA 41.54 GB         Max_MA 46.2 GB         CA 50.92 GB         Max_CA 51 GB \n\
        CPU Virtual Memory:  used = 93.98 GB, percent = 7.5%\n";
    for text in [logged, plain] {
        let sample = one(text);
        assert_eq!(
            (sample.format, sample.label.as_deref()),
            (Format::Deepspeed, Some("After initializing ZeRO optimizer"))
        );
        assert_eq!(value(&sample, Metric::Allocated, GIB), 41.54);
        assert_eq!(value(&sample, Metric::MaxAllocated, GIB), 46.2);
        assert_eq!(value(&sample, Metric::Reserved, GIB), 50.92);
        assert_eq!(value(&sample, Metric::MaxReserved, GIB), 51.0);
        assert_eq!(value(&sample, Metric::HostUsed, GIB), 93.98);
        assert_eq!(sample.position.line, 2);
        let resolution = |metric| sample.figure(metric).unwrap().resolution.bytes();
        assert_eq!(resolution(Metric::MaxAllocated), resolution(Metric::Allocated), "a dropped zero is no digit less");
        assert_eq!(resolution(Metric::MaxReserved), GIB / 2, "a whole number");
    }
}

#[test]
fn a_report_without_its_host_line_is_given_at_the_next_or_at_the_end() {
    let samples = read("a\nMA 1 GB Max_MA 2 GB CA 3 GB Max_CA 3 GB \nb\nMA 2 GB Max_MA 2 GB CA 3 GB Max_CA 3 GB\n");
    let labels: Vec<_> = samples.iter().map(|sample| sample.label.as_deref().unwrap()).collect();
    assert_eq!(labels, ["a", "b"]);
}

#[test]
fn deepspeeds_estimate_is_read_row_by_row() {
    let samples = read(
        "Estimated memory needed for params, optim states and gradients for a:\n\
         HW: Setup with 1 node, 8 GPUs per node.\n\
         SW: Model with 2851M total params, 32M largest layer params.\n\
         \u{20} per CPU  |  per GPU |   Options\n\
         \u{20}  71.71GB |   0.12GB | offload_param=cpu , offload_optimizer=cpu , zero_init=1\n\
         \u{20} 127.48GB |   6.09GB | offload_param=none, offload_optimizer=none, zero_init=0\n",
    );
    assert_eq!(samples.len(), 2);
    assert_eq!(value(&samples[1], Metric::EstimatedHost, GIB), 127.48);
    assert_eq!(value(&samples[1], Metric::EstimatedDevice, GIB), 6.09);
    assert_eq!(samples[0].label.as_deref(), Some("offload_param=cpu , offload_optimizer=cpu , zero_init=1"));
}

#[test]
fn nemo_rl_lines_come_through_ray() {
    let sample = one(
        "\x1b[36m(MegatronPolicyWorker[rank=12] pid=4711, ip=10.65.0.3)\x1b[0m GPU Memory after refit complete: 8.90GB allocated, 26.04GB reserved\x1b[32m [repeated 31x across cluster]\x1b[0m\n",
    );
    assert_eq!((sample.rank, sample.pid, sample.host.as_deref()), (Some(12), Some(4711), Some("10.65.0.3")));
    assert_eq!((sample.label.as_deref(), sample.repeated), (Some("after refit complete"), Some(31)));
    assert_eq!((value(&sample, Metric::Allocated, GIB), value(&sample, Metric::Reserved, GIB)), (8.9, 26.04));
    assert_eq!(sample.figure(Metric::Allocated).unwrap().resolution.bytes(), 5_368_709);
}

#[test]
fn the_step_of_the_driver_is_the_step_of_the_workers() {
    let samples = read(
        "========================= Step 3/1000 =========================\n\
         (Worker[rank=0] pid=1) GPU Memory after refit complete: 0.50GB allocated, 5.20GB reserved\n\
         \u{2022} Total step time: 95.12s\n",
    );
    assert_eq!(samples[0].step, Some(3));
    assert_eq!((samples[1].format, samples[1].step, samples[1].seconds), (Format::StepTime, Some(3), Some(95.12)));
}

#[test]
fn gpumem_and_gpu_diag_lines_are_read() {
    let sample = one(
        "[gpumem] tag=after_step rank=3 alloc=1.50 max_alloc=2.25 reserved=3.00 max_reserved=3.50 driver_used=10.20 total=79.11\n",
    );
    assert_eq!((sample.label.as_deref(), sample.rank), (Some("after_step"), Some(3)));
    assert_eq!((value(&sample, Metric::MaxReserved, GIB), value(&sample, Metric::DeviceTotal, GIB)), (3.5, 79.11));
    let sample = one(
        "[GPU_DIAG] [policy] [before sleep] host=node1 rank=2 logical_dev=0 physical_dev=2 CUDA_VISIBLE_DEVICES=2 uuid=x | NVML: total=81559.0MB used=1234.5MB free=80324.5MB | PyTorch: allocated=100.0MB reserved=220.0MB | GPU procs: [PID=5 (self): 900.0 MB]\n",
    );
    assert_eq!((sample.label.as_deref(), sample.rank, sample.device), (Some("before sleep"), Some(2), Some(2)));
    assert_eq!(sample.host.as_deref(), Some("node1"));
    assert_eq!((value(&sample, Metric::DeviceUsed, MIB), value(&sample, Metric::Reserved, MIB)), (1234.5, 220.0));
    let absent = one(
        "[GPU_DIAG] [w] [l] host=n rank=0 | nvml_error: x | NVML: total=N/A used=N/A free=N/A | PyTorch: allocated=1.0MB reserved=N/A | GPU procs: []\n",
    );
    assert_eq!(absent.figures.len(), 1);
}

#[test]
fn megatron_lines_of_all_versions_and_glued_ranks() {
    let glued = "[Rank 1] (after 2 iterations) memory (MB) | allocated: 1000.50 | max allocated: 2000.00 | reserved: 3000.00 | max reserved: 3100.00[Rank 0] (after 2 iterations) memory (MB) | allocated: 999.25 | max allocated: 2000.00 | reserved: 3000.00 | max reserved: 3100.00 | total device memory used: 5000.00\n";
    let samples = read(glued);
    let told: Vec<_> = samples.iter().map(|s| (s.rank, s.step, value(s, Metric::Allocated, MIB))).collect();
    assert_eq!(told, [(Some(1), Some(2), 1000.5), (Some(0), Some(2), 999.25)]);
    assert_eq!(value(&samples[1], Metric::DeviceUsed, MIB), 5000.0);
    let old = one(
        " after 100 iterations memory (MB) | allocated: 7312.84375 | max allocated: 11297.38623046875 | reserved: 12016.0 | max reserved: 12016.0\n",
    );
    assert_eq!((old.step, value(&old, Metric::MaxAllocated, MIB)), (Some(100), 11_297.386_23));
    let bridge = one(
        "p4_v2_perf/0 [Rank 1] (after 2 iterations) memory (GB) | mem-allocated-gigabytes: 63.66 | mem-active-gigabytes: 63.66 | mem-inactive-gigabytes: 20.563 | mem-reserved-gigabytes: 182.2 | mem-max-allocated-gigabytes: 153.4 | mem-max-reserved-gigabytes: 182.2 | mem-alloc-retires: 2 | mem-allocated-count: 507\n",
    );
    assert_eq!((bridge.format, bridge.rank, bridge.retries), (Format::MegatronBridge, Some(1), Some(2)));
    assert_eq!(value(&bridge, Metric::MaxAllocated, 1_000_000_000), 153.4);
    for theory in [
        "weight and optimizer=57438.81 MB\n",
        "weight and optimizer=57438.81 MB, activation=10.00 MB, total=57448.81 MB\n",
    ] {
        let sample = one(&format!("Theoretical memory footprints: {theory}"));
        assert!(value(&sample, Metric::EstimatedDevice, MIB) >= 57_438.81);
    }
    let iteration = one(
        " [2026-06-04 20:57:41] iteration      12/     100 | consumed samples: 192 | elapsed time per iteration (ms): 4500.0 | lm loss: 1.0E+00 |\n",
    );
    assert_eq!((iteration.step, iteration.seconds), (Some(12), Some(4.5)));
}

fn summary() -> String {
    // As torch 2.11 prints it.
    "|===========================================================================|\n\
     |                  PyTorch CUDA memory summary, device ID 3                 |\n\
     |---------------------------------------------------------------------------|\n\
     |            CUDA OOMs: 1            |        cudaMalloc retries: 14        |\n\
     |===========================================================================|\n\
     |        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n\
     |---------------------------------------------------------------------------|\n\
     | Allocated memory      |  72346 MiB |  74210 MiB |   1186 GiB |   1115 GiB |\n\
     |       from large pool |  72001 MiB |  73900 MiB |   1180 GiB |   1110 GiB |\n\
     |       from small pool |    345 MiB |    350 MiB |      5 GiB |      5 GiB |\n\
     |---------------------------------------------------------------------------|\n\
     | Active memory         |  72346 MiB |  74210 MiB |   1186 GiB |   1115 GiB |\n\
     |---------------------------------------------------------------------------|\n\
     | Requested memory      |  72100 MiB |  74000 MiB |   1185 GiB |   1114 GiB |\n\
     |---------------------------------------------------------------------------|\n\
     | GPU reserved memory   |  78336 MiB |  78400 MiB |  78400 MiB |  65536 KiB |\n\
     |---------------------------------------------------------------------------|\n\
     | Oversize allocations  |       0    |       0    |       0    |       0    |\n\
     |---------------------------------------------------------------------------|\n\
     | Oversize GPU segments |       0    |       0    |       0    |       0    |\n\
     |===========================================================================|\n"
        .to_owned()
}

#[test]
fn the_summary_of_pytorch_is_one_sample() {
    for text in [summary(), summary().replace("MiB", "MB").replace("GiB", "GB")] {
        let sample = one(&text);
        assert_eq!((sample.device, sample.ooms, sample.retries), (Some(3), Some(1), Some(14)));
        for (metric, mib) in [
            (Metric::Allocated, 72_346),
            (Metric::MaxAllocated, 74_210),
            (Metric::Requested, 72_100),
            (Metric::Reserved, 78_336),
            (Metric::MaxReserved, 78_400),
        ] {
            let figure = sample.figure(metric).unwrap();
            let (from, to) = (mib * MIB, (mib + 1) * MIB);
            let truth =
                figure.bytes.bytes() - figure.resolution.bytes()..=figure.bytes.bytes() + figure.resolution.bytes();
            assert_eq!(truth, from..=to, "rounded down: the truth is in [{mib}, {mib} + 1) MiB");
        }
    }
    // A summary that ends early still reports its rows.
    let cut: String = summary().lines().take(8).map(|line| format!("{line}\n")).collect();
    assert_eq!(one(&cut).figures.len(), 2);
}

#[test]
fn the_trainers_deltas_add_up_to_a_peak() {
    let text = "***** train metrics *****\n\
        \u{20} before_init_mem_cpu        =     1200MB\n\
        \u{20} before_init_mem_gpu        =        0MB\n\
        \u{20} epoch                      =        1.0\n\
        \u{20} init_mem_cpu_alloc_delta   =      100MB\n\
        \u{20} init_mem_gpu_alloc_delta   =      693MB\n\
        \u{20} init_mem_gpu_peaked_delta  =        0MB\n\
        \u{20} train_mem_cpu_alloc_delta  =      -50MB\n\
        \u{20} train_mem_gpu_alloc_delta  =     2094MB\n\
        \u{20} train_mem_gpu_peaked_delta =     4000MB\n";
    let samples = read(text);
    let train = samples.iter().find(|sample| sample.label.as_deref() == Some("train")).unwrap();
    assert_eq!(value(train, Metric::MaxAllocated, MIB), 6787.0);
    assert_eq!(value(train, Metric::Allocated, MIB), 2787.0);
    assert_eq!(value(train, Metric::HostUsed, MIB), 1250.0);
    let json = "{\"before_init_mem_gpu\": 1000, \"init_mem_gpu_alloc_delta\": 500,\n \"train_mem_gpu_alloc_delta\": 726663168,\n\"train_mem_gpu_peaked_delta\": 24}\n";
    let samples = read(json);
    let train = samples.iter().find(|sample| sample.label.as_deref() == Some("train")).unwrap();
    assert_eq!(
        train.figure(Metric::MaxAllocated),
        Some(Figure { bytes: ByteSize::new(726_664_692), resolution: ByteSize::ZERO })
    );
}

#[test]
fn vllm_verl_and_ms_swift_lines_are_read() {
    let sample = one(
        "INFO 04-23 16:21:37 [worker.py:145] Sleep mode freed 19.51 GiB memory, 26.31 GiB memory is still in use.\n",
    );
    assert_eq!((value(&sample, Metric::Freed, GIB), value(&sample, Metric::StillInUse, GIB)), (19.51, 26.31));
    let alone = one("- After Step 1: `11.57 GiB memory is still in use`\n");
    assert_eq!((value(&alone, Metric::StillInUse, GIB), alone.figure(Metric::Freed)), (11.57, None));
    let asleep = one("It took 8.000164 seconds to fall asleep.\n");
    assert_eq!((asleep.label.as_deref(), asleep.seconds), (Some("sleep"), Some(8.000164)));
    assert_eq!(one("It took 0.5 seconds to wake up tags {'weights'}.\n").label.as_deref(), Some("wake up"));
    let verl = one(
        "(WorkerDict pid=9) After rollout, memory allocated (GB): 1.5, memory reserved (GB): 2.75, device memory used/total (GB): 30.1/79.15\n",
    );
    assert_eq!((verl.label.as_deref(), verl.pid), (Some("After rollout"), Some(9)));
    assert_eq!((value(&verl, Metric::DeviceUsed, GIB), value(&verl, Metric::DeviceTotal, GIB)), (30.1, 79.15));
    let swift =
        one("{'loss': 1.1, 'memory(GiB)': 61.79, 'train_speed(iter/s)': 0.05, 'global_step/max_steps': '5/100'}\n");
    assert_eq!((swift.step, swift.seconds, value(&swift, Metric::MaxReserved, GIB)), (Some(5), Some(20.0), 61.79));
}

#[test]
fn every_format_has_a_needle_in_each_of_its_lines() {
    for line in ["x GB allocated, y", "[gpumem] tag", "Sleep mode freed 1 GiB memory, 2 GiB memory is still in use"] {
        assert!(needles().iter().any(|needle| line.contains(needle)), "{line}");
    }
    let mut reader = Reader::default();
    let mut samples = Vec::new();
    // Fed like the result of a search: the lines with a needle, and those before them.
    let estimate = "Estimated memory needed for params, optim states and gradients for a:\nHW: x\nSW: y\n\
        \u{20} per CPU  |  per GPU |   Options\n  127.45GB |   5.31GB | offload_optimizer=cpu\n\
        \u{20}  1.00GB |   2.00GB | {'offload_optimizer': 'none'}\n";
    let report =
        "After init\nMA 1 GB Max_MA 2 GB CA 3 GB Max_CA 3 GB \nCPU Virtual Memory:  used = 9 GB, percent = 1%\n";
    let text = format!("noise\n{estimate}noise\n{report}noise\n{}noise\n", summary());
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let hit = |line: &str| needles().iter().any(|needle| line.contains(needle));
    let mut offset = 0;
    for (index, line) in lines.iter().enumerate() {
        if hit(line) || lines.get(index + 1).is_some_and(|next| hit(next)) {
            reader.line(Position { line: index as u64 + 1, offset }, line, &mut samples);
        }
        offset += line.len() as u64;
    }
    reader.finish(&mut samples);
    assert_eq!(samples, read(&text));
    assert_eq!(samples.len(), 4);
}

#[test]
fn a_line_that_is_fed_twice_counts_once_and_a_carriage_return_begins_a_line() {
    let mut reader = Reader::default();
    let mut samples = Vec::new();
    let line = "50%|##  |\rGPU Memory x: 1.00GB allocated, 2.00GB reserved\r";
    for _ in 0..2 {
        reader.line(Position { line: 1, offset: 0 }, line, &mut samples);
    }
    assert_eq!(samples.len(), 1);
    assert_eq!(samples[0].position.offset, "50%|##  |\r".len() as u64);
}

/// Lines of every format.
fn lines() -> impl Strategy<Value = String> {
    let gb = 0.0f64..200.0;
    prop_oneof![
        (gb.clone(), gb.clone(), 0u64..64).prop_map(|(a, r, rank)| format!(
            "(W[rank={rank}] pid=1) GPU Memory after refit complete: {a:.2}GB allocated, {r:.2}GB reserved"
        )),
        (gb.clone(), gb.clone())
            .prop_map(|(f, r)| format!("Sleep mode freed {f:.2} GiB memory, {r:.2} GiB memory is still in use.")),
        (gb.clone(), 0u64..64).prop_map(|(a, rank)| format!(
            "[Rank {rank}] (after 2 iterations) memory (MB) | allocated: {:.2} | reserved: 1.00",
            a * 1024.0
        )),
        gb.prop_map(|a| format!(
            "After x, memory allocated (GB): {a:.2}, memory reserved (GB): {a:.2}, device memory used/total (GB): 1/80"
        )),
    ]
}

proptest! {
    #[test]
    fn noise_escapes_and_prefixes_change_no_figure(reports in prop::collection::vec(lines(), 1..12), noise in prop::collection::vec("[a-z |:=0-9]{0,30}", 12), colour: bool, prefix in prop::sample::select(vec!["", "[2025-01-01 10:00:00,000] [INFO] ", "vllm-1  | ", "> "])) {
        let plain = reports.join("\n") + "\n";
        let dressed: String = reports.iter().zip(&noise).map(|(line, noise)| {
            let (on, off) = if colour { ("\x1b[36m", "\x1b[0m") } else { ("", "") };
            format!("{noise}\n{prefix}{on}{line}{off}\r\n")
        }).collect();
        let figures = |text: &str| read(text).into_iter().map(|s| (s.format, s.rank, s.figures)).collect::<Vec<_>>();
        prop_assert_eq!(figures(&plain).len(), reports.len());
        prop_assert_eq!(figures(&plain), figures(&dressed));
    }

    #[test]
    fn printed_figures_are_within_their_resolution(bytes in 0u64..400_000_000_000) {
        let gib = bytes as f64 / GIB as f64;
        let text = format!("GPU Memory x: {gib:.2}GB allocated, {gib:.2}GB reserved\n");
        let figure = one(&text).figure(Metric::Allocated).unwrap();
        prop_assert!(figure.bytes.bytes().abs_diff(bytes) <= figure.resolution.bytes() + 1);
    }

    #[test]
    fn any_text_is_read(text in "\\PC{0,200}", pieces in prop::collection::vec(prop_oneof![
        lines(), "\\PC{0,30}", prop::sample::select(needles()).prop_map(str::to_owned), Just("MA 1 GB Max_MA x GB CA".to_owned()),
        Just("| Allocated memory | 9999999999999999999999 TiB | -1 B |".to_owned()), Just("1e400GB allocated, 1GB reserved".to_owned()),
        Just("\x1b[".to_owned()), Just("\r".to_owned()), Just("\n".to_owned()), Just("train_mem_gpu_alloc_delta = 99999999999999999999MB".to_owned()),
    ], 0..20)) {
        read(&text);
        read(&pieces.concat());
        read(&pieces.join("\n"));
    }
}
