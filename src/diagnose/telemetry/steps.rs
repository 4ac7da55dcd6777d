//! Lines that state a step or its duration.

use super::line::Line;
use super::sample::{Format, Sample};
use super::scan::{after, behind, count, whole};

/// The step that `text` begins or reports, if it is a line of NeMo-RL or Megatron.
pub(super) fn step(text: &str) -> Option<u64> {
    if let Some(rest) = behind(text, "= Step ") {
        return whole(rest)
            .filter(|_| rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('/'));
    }
    if text.contains("elapsed time per iteration (ms):") {
        return count(text, " iteration ");
    }
    None
}

/// The duration of a step: Megatron's in milliseconds, NeMo-RL's in seconds.
pub(super) fn time(line: &Line<'_>) -> Option<Sample> {
    let text = &line.text;
    let milliseconds = after(text, "elapsed time per iteration (ms):").map(|number| number.value / 1e3);
    let seconds = milliseconds.or_else(|| {
        let number = after(text, "Total step time:")?;
        number.rest.trim_start().starts_with('s').then_some(number.value)
    })?;
    let mut sample = Sample::new(Format::StepTime, line.position);
    sample.seconds = Some(seconds).filter(|seconds| *seconds >= 0.0);
    line.sign(&mut sample);
    sample.tells().then_some(sample)
}
