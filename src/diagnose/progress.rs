//! [`Progress`]: how far a run had come, by the counters and progress bars above a message.

use super::window::Line;
use super::wording::regex;

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

/// Where a step stands according to its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// `Starting step 2`.
    Begun,
    /// `step 2: loss 3.1`.
    Done,
    /// A line that has the number alone: most programs print it first.
    Bare,
    /// A bar shows how many steps are complete.
    Bar,
}

/// A counter of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    number: u64,
    stand: Stand,
    epoch: Option<u64>,
    /// Whether epochs are counted from 0, as Lightning does.
    from_0: bool,
    named: bool,
}

/// How far the run had come by `lines`, which start with the nearest.
pub(super) fn progress<'a>(lines: impl Iterator<Item = &'a Line>) -> Progress {
    let mut lines = lines.map(|line| line.text.as_str());
    let Some(last) = lines.by_ref().find_map(mark) else { return Progress::default() };
    // A counter that had the number 0 counts the step with the number 1 as its second.
    let (mut zero, mut epoch_0) = (last.number == 0, last.epoch == Some(0) || last.from_0);
    for text in lines {
        zero |= mark(text).is_some_and(|mark| mark.number == 0 && mark.stand != Stand::Bar);
        epoch_0 |= epoch(text) == Some(0);
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

/// The last counter of a training in `text`.
fn mark(text: &str) -> Option<Mark> {
    if text.len() > 4096 {
        return None;
    }
    let epoch = epoch(text);
    let from_0 = text.contains("v_num=");
    match bar(text) {
        Bar::OfSteps { number, stand, named } => {
            let named = named || epoch.is_some();
            return Some(Mark { number, stand, epoch, from_0, named });
        }
        Bar::Other => return None,
        Bar::None => {}
    }
    let (number, stand) = counter(text)?;
    Some(Mark { number, stand, epoch, from_0, named: true })
}

/// The whole number of the epoch that `text` states.
fn epoch(text: &str) -> Option<u64> {
    let found =
        regex!(r"(?i)\bepochs?(?:\((?:train|val)\))?[\x22']?[\s:=#]*\[?\s*(\d{1,6})\b").captures_iter(text).last()?;
    // `epoch: 0.01` is a part of the first one.
    let fraction = text[found.get(0)?.end()..]
        .strip_prefix('.')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let epoch: u64 = found[1].parse().ok()?;
    Some(if fraction { epoch + 1 } else { epoch })
}

/// A progress bar in a line.
enum Bar {
    OfSteps {
        number: u64,
        stand: Stand,
        named: bool,
    },
    /// Of something else: files, examples, requests.
    Other,
    None,
}

/// The last progress bar of `text`, such as `Training:   3%|2   | 30/1000 [00:11<06:01, 2.70it/s]`.
fn bar(text: &str) -> Bar {
    let bars = regex!(
        r"\b(\d{1,9})/(\d{1,9}) +(?:\[(?:[\d?=>.#-]| +\d)|[\u{2501}\u{2578}\u{257a}#=|])|\[ *(\d{1,9})/(\d{1,9})\]"
    );
    let Some(found) = bars.captures_iter(text).last() else { return Bar::None };
    let whole = found.get(0).map_or(0..0, |whole| whole.range());
    let count = |at: usize| found.get(at).or(found.get(at + 2))?.as_str().parse::<u64>().ok();
    // `2025/03/01 [` is a date.
    let (Some(number), Some(_)) = (count(1), count(2).filter(|all| count(1) <= Some(*all))) else { return Bar::None };
    if text[..whole.start].ends_with(['/', '-', ':']) {
        return Bar::None;
    }
    // What the bar says of itself: the words before it, behind an earlier bar of the same line.
    let before = text[..whole.start].rsplit(['\r', ']']).next().unwrap_or_default();
    let before = if found.get(3).is_some() { &text[..whole.start] } else { before };
    if regex!(r"(?i)\bepochs?\s*$").is_match(before) {
        // `Epoch [1/10]` counts epochs.
        return Bar::None;
    }
    // The rate shows what is counted.
    let rate = regex!(r"[\d?. ]([A-Za-z]+)/s\]|s/([A-Za-z]+)\]|, *[\d?.]+[kKMGT]?([A-Za-z]+)/s[,\]]");
    let unit = rate.captures(&text[whole.end..]).and_then(|rate| rate.iter().skip(1).flatten().next());
    let counts_steps = unit.is_none_or(|unit| {
        matches!(
            unit.as_str().to_ascii_lowercase().as_str(),
            "it" | "step" | "steps" | "batch" | "batches" | "iter" | "update" | "updates" | "epoch"
        )
    });
    if !counts_steps || is_other(before) {
        return Bar::Other;
    }
    let words = before.chars().filter(|c| c.is_ascii_alphabetic()).count();
    let named = regex!(
        r"(?i)train|step|iter|epoch|\bfit|tun(?:e|ing)|optimi[sz]|\bupdates?\b|\bsft\b|\bdpo\b|\bppo\b|\bgrpo\b"
    )
    .is_match(before);
    // A bar of its own words counts something else, unless a logger's prefix precedes it.
    let prefixed = regex!(r"(?i)^\W*(?:\[?rank ?\d|\(|\[|\d{4}-|info\b|rank)").is_match(before);
    if words > 0 && !named && !prefixed {
        return Bar::Other;
    }
    // A build prints `[2/7]`, and a date may come before a `|`.
    let bracketed = found.get(3).is_some();
    if !named && ((bracketed && !is_result(text)) || text[whole.clone()].ends_with('|')) {
        return Bar::None;
    }
    // `Step [2/600], Loss: 2.1` is a counter in brackets.
    let stand = match found.get(3) {
        None => Stand::Bar,
        Some(_) if is_result(text) => Stand::Done,
        Some(_) => Stand::Bare,
    };
    Bar::OfSteps { number, stand, named }
}

/// Whether the words of a bar or the words before a counter say that no training step is counted.
fn is_other(words: &str) -> bool {
    regex!(
        r"(?ix)\b(?:re|pre|de|up|down|un)?(?:load|fetch|map\b|mapping|filter|tokeniz|tokenis|process|generat|prepar|shard|checkpoint|materiali|import|sav(?:e|ing)|quanti[sz]
            |convert|cach|pack|group|colla|build|index|read|extract|comput|warm-?\ ?up|compil|captur|profil|sampl|rollout|predict|infer|eval|valid|test|scor|embed|render|encod|decod|merg|sort|shuffl
            |renam|resolv|add|pars|split|writ|copy|transfer|calibrat|denois|diffus|dataset|creating\ |files?\b|examples?\b|request|prompt|download|upload|requir|collect|install|search|scann|perplex|perturb|benchmark)"
    )
    .is_match(words)
}

/// The last counter of `text`, such as `step 12` or `global_step=12`, and where its step stands.
fn counter(text: &str) -> Option<(u64, Stand)> {
    let counters = regex!(
        r"(?i)(?:\bglobal[ _])?\b(?:step|iter|iteration|num_updates|update)\b[\x22']?(?:\s*[:=#]\s*|\s+)\[?\s*(\d{1,9})\b|\biters[:=]\s*(\d{1,9})\b|\bit[:=\[]\s*(\d{1,9})\b|\b(?:mini-?)?batch[:=#]?\s*\[?(\d{1,9})\s*/|(?i:\bglobal_?step)[\x22']?\s*[:=\s]\s*(\d{1,9})\b"
    );
    let found = counters.captures_iter(text).last()?;
    let whole = found.get(0)?;
    let number: u64 = found.iter().skip(1).flatten().find_map(|number| number.as_str().parse().ok())?;
    let (before, after) = (&text[..whole.start()], &text[whole.end()..]);
    // A step of something else, a part of a step, or a decimal number.
    let other = regex!(
        r"(?i)\b(?:accum\w*|micro|time|denois\w*|diffusion|sampl\w*|inference|eval\w*|valid\w*|test|decod\w*|generat\w*|warm-?up|inner|beam|solver|ddim|rollout|max|total|num|every|per|save|logging|last|resum\w*|from)[ _-]*(?:global[ _])?$"
    );
    let decimal = after.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    // `step 1/8 of accumulation`
    let part = regex!(r"(?i)^[/\d\s]*(?:of\s+)?(?:the\s+)?(?:gradient\s+)?(?:accum|micro)");
    if decimal || other.is_match(before) || part.is_match(after) {
        return None;
    }
    let begins_before = regex!(
        r"(?i)\b(?:start(?:s|ed|ing)?|begin(?:s|ning)?|began|enter(?:s|ed|ing)?|before|running|run|now)\W+(?:(?:of|on|in|the|train(?:ing)?|optimi[sz]er|global|new)\W+)*$"
    );
    let begins_after =
        regex!(r"(?i)^[\s:=\])|./,\d-]*(?:\b(?:start|begin|began|enter)|\.\.\.|\u{2026})|(?:\.\.\.|\u{2026})\s*$");
    if begins_before.is_match(before) || begins_after.is_match(after) {
        return Some((number, Stand::Begun));
    }
    let result = is_result(after) || is_result(before);
    Some((number, if result { Stand::Done } else { Stand::Bare }))
}

/// Whether `text` has a result of a step: a loss, a time, or a word for its end.
fn is_result(text: &str) -> bool {
    regex!(
        r"(?i)\b(?:\w*loss\w*|lr|learning[ _-]?rate|took|elapsed|time|dt|ms|sec(?:onds)?|it/s|s/it|tok(?:ens)?/s\w*|samples/s\w*|tokens|done|finish(?:ed)?|complete[d]?|ok|end(?:ed)?|after|grad[ _-]?norm|ppl|perplexity|acc(?:uracy)?|reward|throughput|mfu|consumed|score|metric\w*)\b|[\d.]+ ?m?s\b"
    )
    .is_match(text)
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
