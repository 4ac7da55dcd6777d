//! The rules of device and host memory in training, each as a test: M2 to M20 as far as they concern diagnosis.

use plimsoll::ByteSize;
use plimsoll::diagnose::{Analysis, Event, Kind, KnownBatch, Verdict};
use plimsoll::estimate::{Limits, Model, Setup, ladder};

use crate::support::{cuda, findings, only};

pub fn rungs(event: &Event) -> Vec<u8> {
    event.advice.iter().filter_map(|advice| advice.rung).collect()
}

const KERNEL: &str = "[ 12.5] Out of memory: Killed process 4242 (python) total-vm:99kB, anon-rss:55kB, file-rss:0kB, \
    shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0\n";

#[test]
fn m2_a_message_is_decoded_and_a_small_request_with_much_unused_is_fragmentation() {
    let event = only(&cuda("512.00 MiB", "79.15 GiB", "310.00 MiB", "78.80 GiB", "60.00 GiB", "18.00 GiB"));
    assert_eq!(event.verdict, Verdict::Fragmentation);
    let numbers = event.numbers;
    let mib = |size: Option<ByteSize>| size.unwrap().bytes() >> 20;
    assert_eq!((mib(numbers.tried), mib(numbers.free), mib(numbers.allocated)), (512, 310, 61440));
    assert_eq!((mib(numbers.unallocated), mib(numbers.reserved)), (18432, 79872));
}

#[test]
fn m2_a_large_request_is_one_big_tensor() {
    let event = only(&cuda("40.00 GiB", "79.15 GiB", "10.00 GiB", "69.10 GiB", "66.00 GiB", "2.00 GiB"));
    assert_eq!(event.verdict, Verdict::SingleHugeRequest);
}

#[test]
fn m2_corrected_free_memory_beyond_the_request_is_no_sign_of_another_process() {
    let event = only(&cuda("20.00 MiB", "79.15 GiB", "30.00 GiB", "49.10 GiB", "48.00 GiB", "0.50 GiB"));
    assert_eq!(event.verdict, Verdict::UnexplainedFreeExceedsRequest);
}

#[test]
fn m3_a_traceback_is_the_device_and_a_kernel_line_is_the_host() {
    let device = only(&cuda("1.00 GiB", "79.15 GiB", "0.50 GiB", "78.60 GiB", "77.00 GiB", "1.00 GiB"));
    let host = only(KERNEL);
    assert_eq!((device.verdict, host.verdict), (Verdict::Capacity, Verdict::HostKill));
    assert!(host.advice.iter().any(|advice| advice.what.contains("num_workers")), "{:?}", host.advice);
    assert!(rungs(&host).is_empty());
}

#[test]
fn m3_a_bare_kill_has_no_cause_until_the_kernel_tells_it() {
    for text in ["Killed\n", "Process finished with exit code 137 (interrupted by signal 9: SIGKILL)\n"] {
        let event = only(text);
        assert_eq!(event.verdict, Verdict::SigkillUnattributed);
        assert!(event.explanation.contains("cause not shown"));
    }
    let event = only(&format!("Killed\n{KERNEL}"));
    assert_eq!((event.verdict, event.pid), (Verdict::HostKill, Some(4242)));
    assert_eq!(event.evidence.len(), 2, "the shell's line is evidence as well");
}

#[test]
fn m4_the_ladder_is_in_order_and_each_rung_says_what_it_changes() {
    let event = only(&cuda("1.00 GiB", "79.15 GiB", "0.50 GiB", "78.60 GiB", "77.00 GiB", "1.00 GiB"));
    assert_eq!(rungs(&event), [1, 2, 3, 5, 6, 7, 8, 9, 10], "without the one that cures fragmentation alone");
    let classes: Vec<_> = event.advice.iter().map(|advice| advice.class.title()).collect();
    assert_eq!(classes[4], "changes the science");
    assert_eq!(classes[6..], ["moves state", "moves state", "changes capacity"]);
}

#[test]
fn m4_with_an_estimate_the_ladder_ends_at_the_first_rung_that_fits() {
    let message = cuda("1.00 GiB", "79.15 GiB", "0.50 GiB", "78.60 GiB", "77.00 GiB", "1.00 GiB");
    let mut analysis = Analysis::default();
    analysis.begin("log");
    analysis.push(message.as_bytes());
    analysis.end();
    let mut ended = Vec::new();
    // 18 B a parameter of 4e9 are 67 GiB: the less memory, the further up.
    for vram in [66, 50, 24] {
        let limits = Limits { vram: Some(ByteSize::gib(vram)), ram: None };
        let ladder = ladder(&Model::new(4_000_000_000), &Setup::default(), &limits).unwrap();
        let event = &analysis.findings(Some(&ladder)).events[0];
        let first = ladder.first_that_fits.map(plimsoll::estimate::Rung::number);
        assert_eq!(rungs(event).last().copied(), first, "with {vram} GiB: {:?}", rungs(event));
        assert!(rungs(event).is_sorted());
        assert_eq!(event.advice.iter().filter_map(|advice| advice.fits).next_back(), Some(true));
        ended.extend(first);
    }
    assert!(ended.is_sorted() && ended.len() == 3, "{ended:?}");
}

#[test]
fn m5_a_smaller_micro_batch_keeps_the_product() {
    let message = cuda("1.00 GiB", "79.15 GiB", "0.50 GiB", "78.60 GiB", "77.00 GiB", "1.00 GiB");
    let trainer = "  Instantaneous batch size per device = 8\n  Gradient Accumulation steps = 4\n  world size: 2\n";
    let event = only(&format!("{trainer}{message}\n"));
    let first = &event.advice[0];
    assert_eq!(first.batch, Some(KnownBatch { micro: Some(4), accumulation: Some(8), world: Some(2) }));
    assert!(
        first.what.contains("micro 8 -> 4, accumulation x4 -> x8, world 2: the effective batch does not change"),
        "{}",
        first.what
    );

    let odd = only(&format!("{}{message}\n", trainer.replace("= 8", "= 15")));
    assert!(odd.advice[0].what.contains("micro 15 -> 5, accumulation x4 -> x12"), "{}", odd.advice[0].what);
    let one = only(&format!("{}{message}\n", trainer.replace("= 8", "= 1")));
    assert!(!rungs(&one).contains(&1), "a micro-batch of one has no smaller one");
}

#[test]
fn m8_expandable_segments_are_for_fragmentation_alone_and_name_their_clashes() {
    let fragmented = only(&cuda("512.00 MiB", "79.15 GiB", "310.00 MiB", "78.80 GiB", "60.00 GiB", "18.00 GiB"));
    assert_eq!(rungs(&fragmented), [4]);
    let what = &fragmented.advice[0].what;
    for words in [
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        "PYTORCH_ALLOC_CONF",
        "max_split_size_mb",
        "sleep mode",
        "ncclMemAlloc",
    ] {
        assert!(what.contains(words), "{what} lacks {words}");
    }
    let full = only(&cuda("1.00 GiB", "79.15 GiB", "0.50 GiB", "78.60 GiB", "77.00 GiB", "1.00 GiB"));
    assert!(!full.advice.iter().any(|advice| advice.what.contains("expandable_segments")));
}

pub fn below(frames: &str) -> Event {
    let message = cuda("1.00 GiB", "79.15 GiB", "0.50 GiB", "78.60 GiB", "77.00 GiB", "1.00 GiB");
    only(&format!("Traceback (most recent call last):\n{frames}\n{message}\n"))
}

#[test]
fn m14_in_a_backward_pass_checkpointing_comes_first() {
    let event = below("  File \"train.py\", line 10, in main\n    loss.backward()");
    assert_eq!(event.also, [Verdict::FirstBackward]);
    assert_eq!(rungs(&event)[..3], [3, 1, 2]);
}

#[test]
fn m15_an_evaluation_has_remedies_of_its_own() {
    let event =
        below("  File \"transformers/trainer.py\", line 3567, in evaluation_loop\n    all_preds = nested_concat(");
    assert_eq!(event.also, [Verdict::Eval]);
    for words in ["per_device_eval_batch_size", "eval_accumulation_steps", "no_grad"] {
        assert!(event.advice.iter().any(|advice| advice.what.contains(words)), "{words}");
    }
    assert!(rungs(&event).is_empty());
}

#[test]
fn m16_late_at_the_longest_input_so_far_is_the_longest_batch() {
    let message = cuda("1.00 GiB", "79.15 GiB", "0.50 GiB", "78.60 GiB", "77.00 GiB", "1.00 GiB");
    let run = "step: 4810 seq_len: 512\nstep: 4811 seq_len: 1024\nstep: 4812 seq_len: 4096\n";
    let event = only(&format!("{run}{message}\n"));
    assert_eq!(event.also, [Verdict::LongestBatch]);
    assert!(event.advice.iter().any(|advice| advice.what.contains("bucket by length")));
    // Only a late step indicates it, because lengths that are not reported may vary. Constant lengths rule it out, and
    // so does an early step.
    assert_eq!(only(&format!("step: 4812\n{message}\n")).also, [Verdict::LongestBatch]);
    for run in ["step: 4811 seq_len: 512\nstep: 4812 seq_len: 512\n", "step: 3 seq_len: 1\nstep: 4 seq_len: 2\n"] {
        assert_eq!(only(&format!("{run}{message}\n")).also, [], "{run}");
    }
}

#[test]
fn m17_in_the_optimizers_step_its_state_is_what_to_change() {
    let event =
        below("  File \"torch/optim/adamw.py\", line 152, in _init_group\n    state[\"exp_avg\"] = torch.zeros_like(");
    assert_eq!(event.also, [Verdict::OptimizerStep, Verdict::OptimizerState]);
    assert_eq!(rungs(&event), [7, 8, 9, 10]);
    assert!(event.advice.iter().any(|advice| advice.what.contains("after two steps")));
    let forward = below(
        "  File \"lightning/adam.py\", line 1, in optimizer_step\n  File \"m.py\", line 2, in training_step\n    y = self(x)",
    );
    assert_eq!(forward.also, [], "the closure of a step runs the forward pass");
}

#[test]
fn m20_empty_cache_is_never_advice_and_talk_of_it_no_event() {
    let found = findings(b"calling torch.cuda.empty_cache() to avoid CUDA out of memory\n");
    assert!(found.events.is_empty());
    let event = only(
        "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 1.96 GiB. GPU 0 has a total capacity of \
        11.60 GiB of which 0 bytes is free. Of the allocated memory 10.21 GiB is allocated by PyTorch, and 301.12 MiB is \
        reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.\n",
    );
    assert!(!event.advice.iter().any(|advice| advice.what.contains("empty_cache")));
}

/// KernelForge #76: a machine whose CPU and GPU share one memory, driven into swap by a capture held in memory as a
/// whole. The kernel's line is about the host, and the remedy is streaming, not a smaller model.
#[test]
fn kernelforge_76_a_worker_that_holds_a_capture_is_a_matter_of_the_host() {
    let event = only(
        "[ 8123.1] Out of memory: Killed process 991 (python) total-vm:131072000kB, anon-rss:53938168kB, \
        file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:110000kB oom_score_adj:0\n",
    );
    assert_eq!(event.verdict, Verdict::HostKill);
    assert_eq!(event.numbers.this_process.unwrap().bytes(), 53_938_168 << 10);
    assert!(event.advice.iter().any(|advice| advice.what.contains("stream")));
}

#[test]
fn m17_after_the_first_step_the_optimizers_state_is_there_as_well() {
    let message = cuda("1.00 GiB", "79.15 GiB", "0.50 GiB", "78.60 GiB", "77.00 GiB", "1.00 GiB");
    for bar in [
        "  0%|          | 1/39003 [00:02<28:11:01,  2.60s/it]",
        "Epoch 0:   0%|          | 1/5200 [00:03<4:51:12,  0.30it/s, v_num=2]",
        " iteration        1/  500000 | consumed samples: 1024 |",
        "[06/11 10:00:01 d2.utils.events]:  eta: 1:10:01  iter: 1  total_loss: 1.29",
        "Epoch(train) [1][   1/1200]  lr: 1.0e-04",
    ] {
        let event = only(&format!("{bar}\n{message}\n"));
        assert_eq!(event.also, [Verdict::OptimizerState], "{bar}");
        assert_eq!(rungs(&event), [7, 8, 9, 10], "{bar}");
    }
    assert_eq!(only(&format!("  0%|          | 0/39003 [00:00<?, ?it/s]\n{message}\n")).also, []);
}

/// A server's message is complete, and settings of the server help first.
#[test]
fn a_server_without_room_for_its_cache_is_told_of_its_own_settings() {
    let event = only(
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n",
    );
    assert_eq!(event.verdict, Verdict::Capacity);
    assert!(event.explanation.contains("KV cache"), "{}", event.explanation);
    assert!(event.advice[0].what.contains("gpu_memory_utilization"), "{:?}", event.advice[0]);
    assert!(!event.advice.iter().any(|advice| advice.what.contains("gradient_checkpointing")));
}

#[test]
fn m15_predictions_that_pile_up_are_told_from_a_batch_that_is_too_large() {
    let message = cuda("1.00 GiB", "79.15 GiB", "0.50 GiB", "78.60 GiB", "77.00 GiB", "1.00 GiB");
    let evaluates = "Traceback (most recent call last):\n  File \"trainer.py\", line 4, in evaluation_loop\n";
    let forward = only(&format!("{evaluates}  File \"m.py\", line 9, in forward\n{message}\n"));
    assert!(forward.also.contains(&Verdict::Eval) && !forward.also.contains(&Verdict::EvalAccumulation));
    assert!(forward.advice[0].what.contains("per_device_eval_batch_size"), "{:?}", forward.advice);
    let piles = only(&format!(
        "{evaluates}  File \"trainer_pt_utils.py\", line 9, in torch_pad_and_concatenate\n    return torch.cat((a, b))\n{message}\n"
    ));
    assert_eq!(piles.verdict, Verdict::EvalAccumulation);
    assert_eq!(piles.also, [Verdict::Eval, Verdict::Capacity]);
    assert!(piles.explanation.contains("predictions were being concatenated"), "{}", piles.explanation);
    assert!(piles.advice[0].what.contains("eval_accumulation_steps"), "{:?}", piles.advice);
}

#[test]
fn m18_a_memory_summary_that_counts_failures_is_one_also_in_one_line() {
    let table = "|                  PyTorch CUDA memory summary, device ID 0                 |\n\
                 |            CUDA OOMs: 1            |        cudaMalloc retries: 3         |\n\
                 | Allocated memory      |  12288 MiB |  20480 MiB |  90000 MiB |  77712 MiB |\n\
                 | GPU reserved memory   |  22528 MiB |  22528 MiB |  40000 MiB |  17472 MiB |\n\
                 | Oversize GPU segments |       0    |       0    |       0    |       0    |\n";
    for text in [table.to_owned(), format!("INFO {}\n", table.replace('\n', "\\n"))] {
        let event = only(&text);
        assert_eq!((event.kind, event.verdict), (Kind::VramOom, Verdict::Fragmentation), "{text}");
        assert!(event.explanation.contains("1 out-of-memory error and 3 retries"), "{}", event.explanation);
        assert!(event.advice[0].what.contains("expandable_segments"), "{:?}", event.advice);
    }
    let retries = findings(table.replace("OOMs: 1", "OOMs: 0").replace("12288", "22000").as_bytes());
    assert_eq!((retries.kind, retries.verdict), (Kind::Report, Verdict::NearCapacity));
    assert!(!retries.failed());
}

#[test]
fn ranks_that_ray_left_out_leave_a_good_verdict_open() {
    let log = |more: &str| {
        let line = |step: u64| {
            format!(
                "(Worker[rank=0] pid=7) step {step}\n(Worker[rank=0] pid=7) GPU Memory after refit complete: 0.53GB \
                 allocated, 5.20GB reserved{more}\n"
            )
        };
        (1..9).map(line).collect::<String>()
    };
    assert_eq!(findings(log("").as_bytes()).verdict, Verdict::ReportOnly);
    let unseen = findings(log(" [repeated 62x across cluster]").as_bytes());
    assert_eq!(unseen.verdict, Verdict::Inconclusive);
    let event = &unseen.events[0];
    assert!(event.explanation.contains("62 ranks") && event.advice[0].what.contains("RAY_DEDUP_LOGS=0"), "{event:?}");
}

#[test]
fn m18_what_a_program_does_to_make_room_says_that_the_device_is_nearly_full() {
    let flushes = "[WARNING] [stage3.py:1947:step] 3 pytorch allocator cache flushes since last step. this happens when there is high memory pressure\n";
    let step = |step: u64, gib: u64| format!("step {step} allocated: {gib}.0 GB, reserved: {gib}.5 GB\n");
    let event = only(&flushes.repeat(3));
    assert_eq!((event.kind, event.verdict, event.occurrences), (Kind::Report, Verdict::NearCapacity, 3));
    assert!(event.explanation.ends_with("Nothing failed: the log reports it 3 times."), "{}", event.explanation);
    // Figures beside it that show nothing worse are in the same event; a leak stays the verdict.
    let steady: String = (0..20).map(|at| step(at, 70)).collect();
    let event = only(&format!("{steady}{flushes}"));
    assert_eq!((event.verdict, event.numbers.allocated.is_some()), (Verdict::NearCapacity, true));
    let rising: String = (0..20).map(|at| step(at, 50 + at)).collect();
    let found = findings(format!("{rising}{flushes}").as_bytes());
    assert_eq!((found.verdict, found.events.len()), (Verdict::Leak, 2));
    // It led to the failure.
    let message = cuda("1.00 GiB", "79.15 GiB", "0.50 GiB", "78.60 GiB", "77.00 GiB", "1.00 GiB");
    let event = only(&format!("{flushes}{message}\n"));
    assert_eq!((event.kind, event.also.contains(&Verdict::NearCapacity)), (Kind::VramOom, true));
}
