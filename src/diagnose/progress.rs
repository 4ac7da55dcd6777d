//! [`Progress`]: how far a run had come, by the counters and progress bars above a message.

use super::counter::Stand;
use super::window::Line;

/// How far a run had come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// How many steps were complete, if the text shows it.
    pub(super) complete: Option<u64>,
    /// The step that the run had reached, as the text counts it.
    pub(super) reached: Option<u64>,
    /// The epoch that `reached` is a step of, if it is not the first.
    pub(super) epoch: Option<u64>,
    /// Whether the text names what it counts a step, an iteration or an epoch.
    pub(super) named: bool,
}

/// How far the run had come by `lines`, which start with the nearest.
pub(super) fn progress<'a>(lines: impl Iterator<Item = &'a Line>) -> Progress {
    let mut lines = lines.map(Line::counted);
    let Some(last) = lines.by_ref().find_map(|counted| counted.mark) else { return Progress::default() };
    // A counter that had the number 0 counts the step with the number 1 as its second.
    let (mut zero, mut epoch_0) = (last.number == 0, last.epoch == Some(0) || last.from_0);
    for counted in lines {
        zero |= counted.mark.is_some_and(|mark| mark.number == 0 && mark.stand != Stand::Bar);
        epoch_0 |= counted.epoch == Some(0);
    }
    let first_epoch = u64::from(!epoch_0);
    let epoch = last.epoch.filter(|epoch| *epoch > first_epoch);
    let complete = match last.stand {
        Stand::Bar => Some(last.number),
        Stand::Done => Some(last.number + u64::from(zero)),
        Stand::Begun => Some(if zero { last.number } else { last.number - 1 }),
        // The first number alone may have been printed before the step or after it.
        Stand::Bare => Some(if zero { last.number } else { last.number - 1 }).filter(|complete| *complete > 0),
    };
    Progress { complete: complete.filter(|_| epoch.is_none()), reached: Some(last.number), epoch, named: last.named }
}

#[cfg(test)]
mod tests {
    use super::super::window::Lines;
    use super::*;

    fn of(text: &str) -> Progress {
        let lines = Lines::hot(text);
        progress(lines.iter().rev())
    }

    #[test]
    fn steps_that_begin_and_steps_that_are_done_are_told_apart() {
        for (text, complete) in [
            ("step 1: ok\nstep 2", Some(1)),
            ("Starting step 1\nfinished step 1\nStarting step 2", Some(1)),
            ("step 1 done, loss=2.3\nstep 2 begin", Some(1)),
            ("step 1/500 loss 2.1\nstep 2/500 ...", Some(1)),
            ("=== step 1 ===\nloss: 3.1\n=== step 2 ===", Some(1)),
            ("Step 0: loss 3.22\nStep 1: starting", Some(1)),
            ("[train] entering iteration 3", Some(2)),
            ("step 1: loss 3.1, 1.2 s\nstep 2: loss 3.0, 1.1 s", Some(2)),
            ("iter 0: loss 10.9, time 900ms", Some(1)),
            ("step 0 | loss 10.9", Some(1)),
            ("[step 0] optimizer.step() done, loss 3.0", Some(1)),
            ("iter 0: loss 10.9\niter 1: loss 10.8", Some(2)),
            ("{'loss': 2.4, 'step': 1, 'lr': 1e-5}", Some(1)),
            ("iteration        2/   20000 | consumed samples: 64 |", Some(2)),
            ("global_step=7 loss 3.22", Some(7)),
            ("  0%|          | 0/39003 [00:00<?, ?it/s]", Some(0)),
            ("Epoch 0:   0%|          | 1/5200 [00:03<4:51:12,  0.30it/s, v_num=2]", Some(1)),
            ("Epoch(train) [1][   1/1200]  lr: 1.0e-04", Some(1)),
            ("Iter(train) [    1/1200]  lr: 1.0e-04  loss: 2.1", Some(1)),
            ("Epoch [1/10], Step [1/600], Loss: 2.1", Some(1)),
            ("Epoch 1/10 | Batch 1/400 | loss 2.1", Some(1)),
            ("[INFO] [logging.py:96:log_dist] [Rank 0] step=2, skipped=0, lr=[1e-05], mom=[(0.9, 0.95)]", Some(2)),
            (" 1/100 [..............................] - ETA: 10:11 - loss: 2.1", Some(1)),
            // A number alone may come before the step or after it.
            ("step 1", None),
            ("step 0", None),
            ("step 0 tokens=(32, 512) vocab=50257", None),
        ] {
            assert_eq!(of(text).complete, complete, "{text}");
        }
    }

    #[test]
    fn the_first_batch_of_a_later_epoch_is_not_the_first_step() {
        for text in [
            "Epoch 3:   0%|          | 1/5200 [00:03<4:51:12,  0.30it/s]",
            "Epoch 1:   0%|          | 1/5200 [00:03<4:51:12,  0.30it/s, v_num=2]",
            "Epoch 0 done\nEpoch 1: step 1 loss 2.0",
            "Epoch [2/10], Step [1/600], Loss: 2.1",
            "epoch: 4 iter: 1 loss: 1.0",
        ] {
            let found = of(text);
            assert_eq!((found.complete, found.reached), (None, Some(1)), "{text}");
            assert!(found.epoch.is_some(), "{text}");
        }
    }

    #[test]
    fn bars_and_numbers_of_other_things_are_not_steps() {
        for text in [
            "Loading checkpoint shards:  25%|##5       | 1/4 [00:01<00:03]",
            "Loading safetensors checkpoint shards:   0% Completed | 0/4 [00:00<?, ?it/s]",
            "Fetching 2 files:  50%|#####     | 1/2 [00:03<00:03]",
            "Tokenizing train dataset: 1/40 [00:01<00:20]",
            "Map:   0%|          | 1/1000 [00:00<00:10, 99.31 examples/s]",
            "Map (num_proc=8): 100%|##| 1000/1000 [00:01<00:00, 731.22 examples/s]",
            "Generating train split: 1 examples [00:00, 300 examples/s]",
            "Processed prompts:   1%|          | 1/100 [00:03<05:00,  3.1s/it, est. speed input: 5 toks/s]",
            "Evaluating:   1%|          | 1/100 [00:03<05:00,  3.1s/it]",
            "model.safetensors: 100%|##########| 548/548 [00:05<00:00, 101MB/s]",
            "Capturing CUDA graph shapes:   3%|3  | 1/35 [00:00<00:21,  1.57it/s]",
            "quantize layer:  1/32 [00:03<01:00]",
            "  Total optimization steps = 730",
            "  Gradient Accumulation steps = 4",
            "max_steps: 1000 warmup_steps: 100",
            "denoising step 1",
            "eval step 3 loss 2.0",
            "Iter 1: Val loss 2.318, Val took 41.902s",
            "Epoch [1/10]",
            "sampling steps: 50",
            "saved every step 100",
            "step 1/8 of accumulation",
            "2025/01/05 [INFO] starting",
            "01/05 | INFO | starting",
            "[2/7] c++ -MMD -MF kernel.o.d -c kernel.cpp",
            "Epoch 1/3",
            "Epoch 1/3 [00:00<?]",
            "resuming from global_step 500",
        ] {
            assert_eq!(of(text), Progress::default(), "{text}");
        }
        for text in [
            "100%|##| 1000/1000 [00:01<00:00, 731.22it/s]",
            "Training:   1%|          | 12/1000 [00:03<05:00,  3.1s/it]",
            "[rank0]:   1%|          | 12/1000 [00:03<05:00,  3.1s/it]",
            "Train epoch 1:   1%|   | 12/1000 [00:03<05:00,  3.1s/it]",
            "{'loss': 2.0, 'global_step/max_steps': '12/100'}\n 12%|#2 | 12/100 [00:11<01:10]",
        ] {
            assert!(of(text).complete.is_some_and(|complete| complete >= 12), "{text}");
        }
    }
}
