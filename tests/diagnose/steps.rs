//! How far a run had come, what it was doing, and what its tables and prints of memory show.

use plimsoll::ByteSize;
use plimsoll::diagnose::Verdict;

use crate::rules::{below, rungs};
use crate::support::{cuda, findings, only};

fn message() -> String {
    cuda("1.00 GiB", "79.15 GiB", "0.50 GiB", "78.60 GiB", "77.00 GiB", "1.00 GiB")
}

#[test]
fn m17_a_second_step_that_begins_follows_the_first() {
    for log in ["step 1: ok\nstep 2\n", "finished step 1\nStarting step 2\n", "iter 0: loss 10.9, time 900ms\n"] {
        let event = only(&format!("{log}{}\n", message()));
        assert_eq!((&event.also[..], rungs(&event)), (&[Verdict::OptimizerState][..], vec![7, 8, 9, 10]), "{log}");
        assert!(!event.explanation.contains("No step"), "{}", event.explanation);
    }
    // The backward pass fitted once: the state comes first there too.
    let backward = "step=1 loss=3.2\nTraceback (most recent call last):\n  File \"t.py\", line 3, in <module>\n    loss.backward()\n";
    let event = only(&format!("{backward}{}\n", message()));
    assert_eq!(event.also, [Verdict::FirstBackward, Verdict::OptimizerState]);
    assert_eq!(rungs(&event)[..2], [7, 8], "{:?}", event.advice);
}

#[test]
fn m17_bars_of_files_and_a_model_that_loads_are_no_steps() {
    for log in [
        "Loading checkpoint shards:  25%|##5       | 1/4 [00:01<00:03]\nTraceback (most recent call last):\n  File \"t.py\", line 3, in <module>\n    model = AutoModel.from_pretrained(name)\n",
        "Map:   0%|          | 1/1000 [00:00<00:10, 99.31 examples/s]\n",
        "Fetching 2 files:  50%|#####     | 1/2 [00:03<00:03]\n",
        " 0%|          | 0/4 [00:00<?, ?it/s]\nTraceback (most recent call last):\n  File \"t.py\", line 3, in load_model\n    w = load_file(shard)\n",
    ] {
        let event = only(&format!("{log}{}\n", message()));
        assert!(event.also.is_empty(), "{log}: {:?}", event.also);
        assert!(!event.explanation.contains("step"), "{}", event.explanation);
    }
}

#[test]
fn m17_the_optimizer_of_the_traceback_is_named_and_late_steps_have_their_state() {
    let frames = |module: &str| {
        format!(
            "  File \"t.py\", line 3, in <module>\n    opt.step()\n  File \"/x/torch/optim/{module}.py\", line 88, in step\n    f()"
        )
    };
    let event = below(&frames("sgd"));
    assert_eq!(event.also, [Verdict::OptimizerStep]);
    assert!(
        event.explanation.contains("the step of SGD") && !event.explanation.contains("Adam"),
        "{}",
        event.explanation
    );
    assert!(!rungs(&event).contains(&7), "8 bits save nothing of SGD: {:?}", event.advice);
    assert!(below(&frames("adamw")).explanation.contains("the step of AdamW, which allocates its moments"));
    let late = format!(
        "step 4999 loss 2.0\nstep 5000 loss 2.1\nTraceback (most recent call last):\n{}\n{}\n",
        frames("adamw"),
        message()
    );
    let event = only(&late);
    assert!(!event.explanation.contains("first time"), "{}", event.explanation);
    assert!(event.explanation.contains("its moments exist since the first one"), "{}", event.explanation);
}

#[test]
fn a_source_line_that_quotes_the_message_does_not_end_the_traceback() {
    let quoted = format!(
        "  File \"t.py\", line 9, in <module>\n    optimizer.step()\n  File \"t.py\", line 6, in step\n    raise OutOfMemoryError(\"{}\")",
        message()
    );
    assert_eq!(below(&quoted).also, [Verdict::OptimizerStep]);
    let quoted = quoted.replace("optimizer.step()", "loss.backward()");
    assert_eq!(below(&quoted).also, [Verdict::FirstBackward]);
}

#[test]
fn m15_own_loops_of_evaluation_are_known_and_what_they_join_too() {
    for (frames, piles) in [
        ("  File \"v.py\", line 40, in validate\n    preds = torch.cat(outs)", true),
        ("  File \"v.py\", line 40, in run_evaluation\n    return torch.stack(all_logits)", true),
        ("  File \"v.py\", line 40, in on_validation_epoch_end\n    x = torch.concat([o[\"y\"] for o in outs])", true),
        ("  File \"v.py\", line 40, in test_model\n    out = net(x.cuda())", false),
        (
            "  File \"v.py\", line 40, in eval_one_epoch\n    out = net(x)\n  File \"m.py\", line 7, in forward\n    return torch.cat([a, b])",
            false,
        ),
        (
            "  File \"main.py\", line 40, in main\n    trainer.predict(ds)\n  File \"transformers/trainer.py\", line 4100, in predict\n    output = eval_loop(",
            false,
        ),
        ("  File \"train.py\", line 40, in estimate_loss\n    logits, loss = model(X, Y)", false),
    ] {
        let event = below(frames);
        assert!(event.also.contains(&Verdict::Eval), "{frames}: {:?}", event.also);
        assert_eq!(event.verdict == Verdict::EvalAccumulation, piles, "{frames}");
    }
    // A test of the program and a generation are none.
    for frames in [
        "  File \"tests/test_model.py\", line 40, in test_model\n    out = net(x.cuda())",
        "  File \"cache_utils.py\", line 4, in update\n    self.key_cache = torch.cat([self.key_cache, k])",
    ] {
        assert!(!below(frames).also.contains(&Verdict::Eval), "{frames}");
    }
}

#[test]
fn m16_after_some_steps_at_one_level_of_memory_the_input_is_longer() {
    let log = |more: &str| {
        let step = |step: u64| format!("step {step} loss 1.{step} allocated: 20.0{} GB{more}\n", step % 3);
        format!("{}{}\n", (1..=40).map(step).collect::<String>(), message())
    };
    assert_eq!(only(&log("")).also, [Verdict::LongestBatch]);
    assert!(only(&log("")).advice[0].what.contains("bucket by length"));
    for constant in [" seq_len 2048", " packing=True"] {
        assert_eq!(only(&log(constant)).also, [], "{constant}");
    }
}

#[test]
fn m18_a_table_after_the_failure_shows_its_peak_and_its_device() {
    let table = |peak: u64, ooms: u64| {
        format!(
            "|                  PyTorch CUDA memory summary, device ID 3                 |\n\
             |            CUDA OOMs: {ooms}            |        cudaMalloc retries: {ooms}         |\n\
             | Allocated memory      |  12288 MiB |  {peak} MiB |  90000 MiB |  77712 MiB |\n\
             | GPU reserved memory   |  78848 MiB |  78848 MiB |  40000 MiB |  17472 MiB |\n\
             | Oversize GPU segments |       0    |       0    |       0    |       0    |\n"
        )
    };
    let event = only(&table(78_438, 1));
    assert_eq!((event.verdict, event.device), (Verdict::Capacity, Some(3)));
    assert!(!event.advice.iter().any(|advice| advice.what.contains("expandable_segments")), "{:?}", event.advice);
    assert_eq!(only(&table(20_480, 1)).verdict, Verdict::Fragmentation);
    for (peak, verdict) in [(78_438, Verdict::CacheNotLeak), (12_288, Verdict::Fragmentation)] {
        let found = findings(table(peak, 0).as_bytes());
        assert_eq!((found.verdict, found.failed()), (verdict, false));
    }
}

#[test]
fn tables_whose_rows_are_numbers_alone_are_found_in_a_long_log() {
    let noise = "INFO nothing of interest in this line of a log\n".repeat(60_000);
    let rows: String = (0..40).map(|row| format!("{}, 24576\n", 3000 + row * 500)).collect();
    let found = findings(format!("{noise}memory.used [MiB], memory.total [MiB]\n{rows}{noise}").as_bytes());
    let finding = &found.telemetry[0].trends.findings[0];
    assert_eq!((finding.statistics.readings, finding.statistics.last), (40, ByteSize::mib(22_500)));
}

/// A bar writes the row of its epoch again and again behind carriage returns.
#[test]
fn the_rows_of_a_training_loop_are_found_by_their_header() {
    let epoch = |epoch: u64, end: &str| {
        let row = |done: u64| {
            format!("\r      {epoch}/12      {}G      1.21      2.75        18        640:  {done}%|##", 3 + epoch)
        };
        let bar: String = [10, 50, 100].map(row).concat();
        format!(
            "{end}      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size{end}{bar}{end}                 Class     Images  Instances{end}"
        )
    };
    let noise = "INFO nothing of interest in this line of a log\n".repeat(30_000);
    for end in ["\n", "\r\n"] {
        let epochs: String = (1..=12).map(|number| epoch(number, end)).collect();
        let found = findings(format!("{noise}{epochs}{noise}").as_bytes());
        let finding = &found.telemetry[0].trends.findings[0];
        assert_eq!(finding.statistics.readings, 36, "{finding:?}");
        assert_eq!(finding.statistics.last, ByteSize::gib(15));
    }
}

#[test]
fn gpus_of_a_machine_are_series_of_their_own() {
    let row = |at: u64| {
        format!(
            "2025/03/01 10:00:{at:02}, 0, {} MiB, 24576 MiB\n2025/03/01 10:00:{at:02}, 1, 21000 MiB, 24576 MiB\n",
            3000 + 1000 * at
        )
    };
    for header in ["timestamp, index, memory.used [MiB], memory.total [MiB]\n", ""] {
        let text = header.to_owned() + &(0..12).map(row).collect::<String>();
        let found = findings(text.as_bytes());
        let finding = &found.telemetry[0].trends.findings[0];
        assert_eq!(finding.statistics.readings, 12, "{found:#?}");
        assert_eq!(found.verdict, Verdict::ReportOnly, "other programs use the GPUs of a machine too");
    }
}

#[test]
fn what_rises_or_is_used_up_evenly_to_the_end_is_a_leak() {
    let log = |count: u64, line: &dyn Fn(u64) -> String| (0..count).map(line).collect::<String>();
    let verdict = |text: &str| findings(text.as_bytes()).verdict;
    let query = "timestamp, index, memory.used [MiB], memory.free [MiB]\n";
    let minute = |at: u64, used: u64| format!("2025/03/01 10:{at:02}:00, 0, {used} MiB, {} MiB\n", 24576 - used);
    let gpu = |count: u64, used: &dyn Fn(u64) -> u64| query.to_owned() + &log(count, &|at| minute(at, used(at)));
    assert_eq!(verdict(&gpu(20, &|at| 3000 + 500 * at)), Verdict::Leak);
    assert_eq!(verdict(&gpu(12, &|at| 3000 + 500 * at)), Verdict::ReportOnly, "a program that starts");
    assert_eq!(verdict(&gpu(20, &|at| 3000 + 500 * at.min(10))), Verdict::ReportOnly, "levels off");
    let free = |left: &dyn Fn(u64) -> u64| log(12, &|at| format!("I ({at}000) app: free heap: {} bytes\n", left(at)));
    assert_eq!(verdict(&free(&|at| 200_000 - 9_000 * at)), Verdict::HostGrowth);
    assert_eq!(verdict(&free(&|at| 200_000 - 3_000 * at)), Verdict::HostGrowth, "evenly, with times");
    assert_eq!(verdict(&free(&|at| 200_000 - 700 * at)), Verdict::ReportOnly, "less than a twentieth");
    assert_eq!(verdict(&free(&|at| 200_000 - 20_000 * (at % 4))), Verdict::ReportOnly, "comes back");
    let epochs = |left: &dyn Fn(u64) -> u64| {
        log(10, &|at| format!("epoch 001: {at}00 / 5000 loss=9.2, gb_free={}.5, wall=35\n", left(at)))
    };
    assert_eq!(verdict(&epochs(&|at| 24 - 2 * at)), Verdict::Leak);
    assert_eq!(verdict(&epochs(&|_| 24)), Verdict::ReportOnly);
}

#[test]
fn one_figure_of_the_host_is_no_telemetry() {
    let free = "$ free -m\n               total        used        free      shared  buff/cache   available\n\
        Mem:           64124       51220         811         120       12093       12904\n";
    assert_eq!(findings(free.as_bytes()).verdict, Verdict::NotOom);
    assert_eq!(findings(free.repeat(3).as_bytes()).verdict, Verdict::ReportOnly);
}

#[test]
fn a_process_that_grows_evenly_is_host_growth_and_a_start_is_not() {
    let log = |mib: &dyn Fn(u64) -> u64| {
        (0..10).map(|step| format!("step {step} RSS: {} MB\n", mib(step))).collect::<String>()
    };
    let verdict = |text: String| findings(text.as_bytes()).verdict;
    assert_eq!(verdict(log(&|step| 900 + 100 * step)), Verdict::HostGrowth);
    assert_eq!(verdict(log(&|step| 900 + 150 * step.min(4))), Verdict::ReportOnly);
    assert_eq!(verdict(log(&|step| 900 + 10 * step)), Verdict::ReportOnly);
}

#[test]
fn m14_even_growth_is_not_growth_of_the_first_step() {
    let log = |gb: &[f64]| gb.iter().map(|gb| format!("after backward allocated: {gb:.1} GB\n")).collect::<String>();
    let pattern = |gb: &[f64]| {
        let found = findings(log(gb).as_bytes());
        found.telemetry[0].trends.findings[0].pattern.title().to_owned()
    };
    assert_eq!(pattern(&[16.1, 16.2, 16.3, 16.4, 16.5]), "growing");
    assert_eq!(pattern(&[10.0, 16.4, 16.5, 16.5, 16.5]), "grows in the first step only");
}

#[test]
fn m17_a_framework_s_own_settings_for_the_optimizer_come_first_where_its_state_does_not_fit() {
    for (frame, batch, state) in [
        ("/w/megatron/training/training.py", "--micro-batch-size down", "--use-distributed-optimizer: "),
        ("/x/site-packages/deepspeed/runtime/engine.py", "train_micro_batch_size_per_gpu", "zero_optimization.stage 1"),
        ("/x/site-packages/lightning/pytorch/loops/loop.py", "accumulate_grad_batches", "strategy=\"fsdp\""),
    ] {
        let of = |rest: &str| {
            let event = below(&format!("  File \"{frame}\", line 3, in train_step\n{rest}"));
            (event.advice[0].what.clone(), event.also)
        };
        let (first, also) = of(
            "    optimizer.step()\n  File \"/x/torch/optim/adamw.py\", line 9, in _init_group\n    torch.zeros_like(p)",
        );
        assert_eq!(also, [Verdict::OptimizerStep, Verdict::OptimizerState], "{frame}");
        assert!(first.starts_with(state), "{frame}: {first}");
        let (first, _) = of("    output = model(tokens)");
        assert!(first.contains(batch), "{frame}: {first}");
    }
}
