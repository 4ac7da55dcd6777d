//! What the process was doing: the phase of the training step, from the traceback above a message.

use super::ascii::regex;
use super::optimizer::Optimizer;
use super::progress::{self, Progress};
use super::sighting::{Lengths, Sighting, Work};
use super::verdict::Verdict;
use super::window::{Line, Lines};

/// How many lines above a message are examined.
const ABOVE: usize = 160;
/// A run that reached this step is late.
const LATE: u64 = 100;

/// Adds to `sighting` what the lines above line `at` show of the phase.
pub(super) fn observe(lines: &Lines, at: usize, sighting: &mut Sighting) {
    let above: Vec<&str> = lines.before(at).take(ABOVE).map(Line::message).collect();
    let end = (0..above.len()).find(|&at| ends_the_frames(&above, at)).unwrap_or(above.len());
    // IPython numbers the lines around that of a frame, which has an arrow.
    let around = |text: &&&str| regex!(r"^ {2,}\d+(?: |$)").is_match(text);
    let frames = &above[..end].iter().filter(|text| !around(text)).copied().collect::<Vec<_>>()[..];
    let phase = phase(frames);
    if let Some(phase) = phase {
        sighting.also.push(phase);
        if phase != Verdict::Eval {
            sighting.work = Work::Training;
        }
    }
    if phase == Some(Verdict::Eval) && piles(frames) {
        sighting.also.push(Verdict::EvalAccumulation);
    }
    if phase == Some(Verdict::OptimizerStep) {
        sighting.optimizer = Optimizer::of(frames);
    }
    if sighting.work == Work::Unknown {
        sighting.work = work(frames);
    }
    let found = progress(lines, at);
    // A loop without a name is that of an evaluation, of requests or of files if the traceback says so.
    let elsewhere = phase == Some(Verdict::Eval) || matches!(sighting.work, Work::Inference | Work::Serving);
    if (elsewhere && !found.named) || sighting.work == Work::Loading {
        return;
    }
    sighting.progress = found;
    sighting.lengths = lengths(lines, at);
    let late = sighting.progress.reached.is_some_and(|step| step >= LATE);
    let other = matches!(phase, Some(Verdict::Eval | Verdict::OptimizerStep)) || sighting.work == Work::Inference;
    if late && !other && sighting.lengths != Lengths::Ruled {
        sighting.also.push(Verdict::LongestBatch);
    }
}

/// Whether the line at `at` ends the frames of a traceback: its heading, or the message of an earlier one. Lines start
/// with the nearest.
fn ends_the_frames(above: &[&str], at: usize) -> bool {
    let text = above[at];
    text.contains("Traceback (most recent call last)") || (earlier_message(text) && !is_source(above, at))
}

/// Whether the line at `at` is the source line of a frame: it follows the line with its file. A program may raise an
/// error of these words itself.
fn is_source(above: &[&str], at: usize) -> bool {
    above.get(at + 1).is_some_and(|before| is_frame(before))
}

/// Whether `text` names the file and the line of a frame.
pub(super) fn is_frame(text: &str) -> bool {
    let text = text.trim_start_matches([' ', '\t', '\u{2502}', '|']);
    text.starts_with("File \"") && text.contains(", line ")
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
        r"\b(?:opt|opt_\w+|\w*_opt|\w*optim\w*)(?:\[\w+\])?\.step\(|\b(?:model_)?engine\.step\(|scaler\.step\(|/optim/\w+\.py|exp_avg|, in (?:_init_group|initialize_optimizer_states|_optimizer_step|_take_model_step|optimizer_step)\b|(?:optim|stage|zero|amp|fp16|fp32|grad_scaler)\S*\.py\x22, line \d+, in (?:step|_step)\b"
    );
    // The closure of an optimizer's step runs the forward pass.
    let step =
        regex!(r", in (?:training_step|train_step|closure|compute_loss|forward_step)\b|loss = closure\(\)|closure\(\)");
    for text in frames {
        if backward.is_match(text) {
            return Some(Verdict::FirstBackward);
        }
        if evaluates(text) {
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

/// Whether a line of a traceback belongs to an evaluation: a function's name, or a call.
fn evaluates(text: &str) -> bool {
    let named = regex!(
        r"evaluation_loop|prediction_step|prediction_loop|validation_step|validation_epoch|, in (?:_|run_|do_|get_|full_|model_|one_|calc_|compute_|estimate_|inner_)*(?:eval|evaluate|evaluation|evaluating|validate|validation|val|valid|perplexity|ppl)(?:_\w+)?\b|, in (?:eval_loop|estimate_loss|_?predict_loop|predict_step|compute_metrics)\b|\.(?:evaluate|validate)\(|_maybe_log_save_evaluate|with torch\.no_grad\(|with torch\.inference_mode\("
    );
    let tested = regex!(
        r"(?i)\btrainer\w*\.(?:predict|test)\(|trainer\w*\.py\x22, line \d+, in (?:predict|test)\b|, in (?:run_|do_|_)?(?:test|testing)(?:_(?:model|epoch|one_epoch|loop|step|net|network|fn|loader|set|dataset|data|batch|accuracy|loss|performance|end|epoch_end))?\b"
    );
    // A test of the program itself does not evaluate a model.
    let unit = regex!(r"\btest_\w*\.py\x22|_test\.py\x22|/tests?/|/unittest/|/_?pytest/");
    named.is_match(text) || (tested.is_match(text) && !unit.is_match(text))
}

/// Whether the innermost frames concatenate predictions instead of making them.
fn piles(frames: &[&str]) -> bool {
    let together = regex!(
        r", in (?:nested_concat|torch_pad_and_concatenate|numpy_pad_and_concatenate|nested_gather|pad_across_processes|_pad_across_processes|gather_for_metrics|gather|add_batch|dim_zero_cat|_reduce_states)\b|\b(?:preds|predictions|logits|outputs|labels)\w*\.append\(|torch\.cat\(\[?\(?(?:all_)?(?:preds|predictions|logits|outputs|labels)"
    );
    // The innermost frame is the evaluation's own function, and its line joins what was made before.
    let joins = regex!(
        r"\b(?:torch|np|numpy|jnp|F)\.(?:cat|concat|concatenate|stack|vstack|hstack|pad)\(|\bpad_sequence\(|\.(?:append|extend|gather)\(|\bgather\w*\("
    );
    let own = frames.iter().position(|text| is_frame(text));
    let own = own.is_some_and(|at| {
        evaluates(frames[at]) && frames[..at].iter().any(|line| joins.is_match(line) && !line.contains("self("))
    });
    own || frames.iter().take(8).any(|text| together.is_match(text))
}

fn work(frames: &[&str]) -> Work {
    let training = regex!(
        r", in (?:train\w*|_inner_training_loop|training_step|fit|compute_loss)\b|trainer\.train\(|[/\\](?:train|finetune|pretrain|sft)\w*\.py"
    );
    let inference = regex!(
        r"\.generate\(|, in (?:generate|sample|predict|infer\w*|demo|chat|execute_model|determine_num_available_blocks|profile_run)\b|[/\\](?:vllm|sglang|diffusers|ComfyUI|infer\w*|generate|predict|demo)[/\\]|[/\\](?:infer\w*|generate|predict|demo|test|webui|gradio\w*)\.py|pipeline_\w+\.py"
    );
    let loading = regex!(
        r"\.from_pretrained\(|, in (?:from_pretrained|_?load_(?:state_dict|checkpoint|from_checkpoint|model|weights|pretrained_model|optimizer)\w*|load_file)\b|\.load_state_dict\(|\btorch\.load\(|\bload_(?:checkpoint|model|weights)\w*\("
    );
    // What loads a model is called by a program that trains or serves it.
    if frames.iter().any(|text| loading.is_match(text)) {
        let serves = frames.iter().any(|text| inference.is_match(text));
        return if serves { Work::Inference } else { Work::Loading };
    }
    if frames.iter().any(|text| training.is_match(text)) {
        Work::Training
    } else if frames.iter().any(|text| inference.is_match(text)) {
        Work::Inference
    } else {
        Work::Unknown
    }
}

/// How far the run had come: the nearest progress bar or counter above, outside tracebacks.
fn progress(lines: &Lines, at: usize) -> Progress {
    let code = |line: usize| is_frame(lines[line].message()) || (line > 0 && is_frame(lines[line - 1].message()));
    let told = (0..at).rev().take(ABOVE).filter(|&line| !code(line)).map(|line| &lines[line]);
    progress::progress(told.filter(|line| !earlier_message(&line.text)))
}

/// What the lines above show of the lengths of inputs.
fn lengths(lines: &Lines, at: usize) -> Lengths {
    let above = || lines[..at].iter().map(Line::lengths);
    let mut told = above().rev().filter_map(|told| told.length);
    let Some(last) = told.next() else {
        // No lengths are printed: they may vary, and a run that fitted until now met a longer input.
        return if above().any(|told| told.packed) { Lengths::Ruled } else { Lengths::Unknown };
    };
    let (most, least) = told.fold((0, u64::MAX), |(most, least), length| (length.max(most), length.min(least)));
    if most <= last && least < last { Lengths::Longest } else { Lengths::Ruled }
}
