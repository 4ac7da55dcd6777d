//! What the process was doing: the phase of the training step, from the traceback above a message.

use super::sighting::{Sighting, Work};
use super::verdict::Verdict;
use super::window::Lines;
use super::wording::regex;

/// How many lines above a message are examined.
const ABOVE: usize = 160;
/// A run that reached this step is late.
const LATE: u64 = 100;

/// Adds to `sighting` what the lines above line `at` show of the phase.
pub(super) fn observe(lines: &Lines, at: usize, sighting: &mut Sighting) {
    let frames: Vec<&str> =
        lines.before(at).take(ABOVE).map(|line| line.message()).take_while(|text| !ends_the_frames(text)).collect();
    let phase = phase(&frames);
    if let Some(phase) = phase {
        sighting.also.push(phase);
        if phase != Verdict::Eval {
            sighting.work = Work::Training;
        }
    }
    if phase == Some(Verdict::Eval) && piles(&frames) {
        sighting.also.push(Verdict::EvalAccumulation);
    }
    if sighting.work == Work::Unknown {
        sighting.work = work(&frames);
    }
    sighting.step = step(lines, at);
    let late = sighting.step.is_some_and(|step| step >= LATE);
    let other = matches!(phase, Some(Verdict::Eval | Verdict::OptimizerStep)) || sighting.work == Work::Inference;
    if late && !other && longest(lines, at) {
        sighting.also.push(Verdict::LongestBatch);
    }
}

/// Whether a line ends the frames of a traceback: its heading, or the message of an earlier one.
fn ends_the_frames(text: &str) -> bool {
    text.contains("Traceback (most recent call last)") || earlier_message(text)
}

fn earlier_message(text: &str) -> bool {
    text.contains("out of memory. Tried")
}

/// The phase, decided by the innermost frame that names one; `frames` start with the innermost.
pub(super) fn phase(frames: &[&str]) -> Option<Verdict> {
    let backward = regex!(
        r"\.backward\(|torch/autograd/__init__\.py|_engine_run_backward|run_backward\(|, in backward(?:_step)?\b|\bin _backward\b"
    );
    let optimizer = regex!(
        r"\boptim\w*\.step\(|scaler\.step\(|/optim/\w+\.py|exp_avg|, in (?:_init_group|initialize_optimizer_states|_optimizer_step|_take_model_step|optimizer_step)\b|(?:optim|stage|zero|amp|fp16|fp32|grad_scaler)\S*\.py\x22, line \d+, in (?:step|_step)\b"
    );
    let eval = regex!(
        r"evaluation_loop|prediction_step|prediction_loop|validation_step|validation_epoch|, in (?:evaluate|validate|eval|evaluation|eval_step|test_step|_evaluate|run_eval\w*|do_eval|val|valid)\b|\.evaluate\(|_maybe_log_save_evaluate|with torch\.no_grad\(|with torch\.inference_mode\("
    );
    // The closure of an optimizer's step runs the forward pass.
    let step =
        regex!(r", in (?:training_step|train_step|closure|compute_loss|forward_step)\b|loss = closure\(\)|closure\(\)");
    for text in frames {
        if backward.is_match(text) {
            return Some(Verdict::FirstBackward);
        }
        if eval.is_match(text) {
            return Some(Verdict::Eval);
        }
        if step.is_match(text) {
            return None;
        }
        if optimizer.is_match(text) {
            return Some(Verdict::OptimizerStep);
        }
    }
    None
}

/// Whether the innermost frames concatenate predictions instead of making them.
fn piles(frames: &[&str]) -> bool {
    let together = regex!(
        r", in (?:nested_concat|torch_pad_and_concatenate|numpy_pad_and_concatenate|nested_gather|pad_across_processes|_pad_across_processes|gather_for_metrics|gather|add_batch)\b|\b(?:preds|predictions|logits|outputs|labels)\w*\.append\(|torch\.cat\(\[?\(?(?:all_)?(?:preds|predictions|logits|outputs|labels)"
    );
    frames.iter().take(8).any(|text| together.is_match(text))
}

fn work(frames: &[&str]) -> Work {
    let training = regex!(
        r", in (?:train\w*|_inner_training_loop|training_step|fit|compute_loss)\b|trainer\.train\(|/(?:train|finetune|pretrain|sft)\w*\.py"
    );
    let inference = regex!(
        r"\.generate\(|, in (?:generate|sample|predict|infer\w*|demo|chat|execute_model|determine_num_available_blocks|profile_run)\b|/(?:vllm|sglang|diffusers|ComfyUI|infer\w*|generate|predict|demo)/|/(?:infer\w*|generate|predict|demo|test|webui|gradio\w*)\.py|pipeline_\w+\.py"
    );
    if frames.iter().any(|text| training.is_match(text)) {
        Work::Training
    } else if frames.iter().any(|text| inference.is_match(text)) {
        Work::Inference
    } else {
        Work::Unknown
    }
}

/// How far the run had come: the nearest progress bar or counter above.
fn step(lines: &Lines, at: usize) -> Option<u64> {
    let bar = regex!(
        r"\b(\d{1,9})/\d{1,9} +[\[\u{2501}\u{2578}\u{257a}#=|]|\[ *(\d{1,9})/\d{1,9}\]|(?i:\b(?:global[ _])?(?:step|iter|iteration|num_updates|it|update)s?\b[\x22']?\s*[:=# ]\s*\[?\s*(\d{1,9})\b)"
    );
    let read = |text: &str| {
        let found = bar.captures_iter(text).last().filter(|_| !earlier_message(text))?;
        found.iter().skip(1).flatten().find_map(|step| step.as_str().parse().ok())
    };
    lines[..at].iter().rev().take(ABOVE).find_map(|line| line.step(read))
}

/// Whether the last length is the longest in the lines above, if they state any.
fn longest(lines: &Lines, at: usize) -> bool {
    let length = regex!(
        r"(?i)\b(?:seq_?len(?:gth)?|max_?len(?:gth)?|num_tokens|longest|src_len|tgt_len|frames)\b\D{1,4}(\d{1,7})\b"
    );
    let told: Vec<u64> =
        lines[..at].iter().filter_map(|line| length.captures_iter(&line.text).last()?[1].parse().ok()).collect();
    // No lengths are printed: they may vary, and a run that fitted until now met a longer input.
    let Some((last, before)) = told.split_last() else { return true };
    !before.is_empty() && before.iter().all(|length| length <= last) && before.iter().any(|length| length < last)
}
