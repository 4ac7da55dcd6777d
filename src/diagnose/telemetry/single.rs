//! Single-line formats: NeMo-RL, vLLM, verl, ms-swift.

use super::line::Line;
use super::sample::{Format, Metric, Sample};
use super::scan::{after, before, behind, number, unit};

const GIB: u64 = 1 << 30;

/// NeMo-RL: `GPU Memory after refit complete: 0.53GB allocated, 5.20GB reserved`.
pub(super) fn nemo_rl(line: &Line<'_>) -> Option<Sample> {
    let text = &line.text;
    let middle = text.find("GB allocated, ")?;
    let start = text[..middle].rfind("GPU Memory ")?;
    let (label, _) = text[start + "GPU Memory ".len()..middle].rsplit_once(':')?;
    let mut sample = Sample::new(Format::NemoRl, line.position);
    sample.label = Some(label.trim().to_owned());
    sample.with(Metric::Allocated, before(text, middle)?.figure(GIB));
    let reserved =
        number(&text[middle + "GB allocated, ".len()..]).filter(|number| number.rest.starts_with("GB reserved"));
    sample.with(Metric::Reserved, reserved.and_then(|number| number.figure(GIB)));
    line.sign(&mut sample);
    Some(sample)
}

/// vLLM: `Sleep mode freed 43.82 GiB memory, 4.11 GiB memory is still in use.` In own words: `asleep, 3.02 GiB still in
/// use`.
pub(super) fn vllm_sleep(line: &Line<'_>) -> Option<Sample> {
    let text = &line.text;
    let mut sample = Sample::new(Format::VllmSleep, line.position);
    let left = ["memory is still in use", "still in use"].into_iter().find_map(|words| text.find(words));
    if let Some(end) = left {
        if !text.contains("sleep") && !text.contains("memory is") {
            return None;
        }
        let head = text[..end].trim_end();
        let (size, name) = [(GIB, "GiB"), (1 << 20, "MiB")].into_iter().find(|(_, name)| head.ends_with(name))?;
        sample.label = Some("sleep".to_owned());
        sample.with(Metric::StillInUse, before(head, head.len() - name.len())?.figure(size));
        let freed = after(text, "Sleep mode freed ");
        sample.with(Metric::Freed, freed.and_then(|freed| freed.figure(unit(freed.rest)?.0)));
    } else {
        let (label, mark) = [("sleep", "seconds to fall asleep"), ("wake up", "seconds to wake up")]
            .into_iter()
            .find(|(_, mark)| text.contains(mark))?;
        sample.label = Some(label.to_owned());
        sample.seconds = Some(before(text, text.find(mark)?)?.value);
    }
    line.sign(&mut sample);
    sample.tells().then_some(sample)
}

/// verl: `<label>, memory allocated (GB): a, memory reserved (GB): r, device memory used/total (GB): u/t`.
pub(super) fn verl(line: &Line<'_>) -> Option<Sample> {
    let text = line.message();
    let start = text.find("memory allocated (")?;
    let mut sample = Sample::new(Format::Verl, line.position);
    let label = text[..start].trim_end_matches([',', ' ']);
    sample.label = (!label.is_empty()).then(|| label.to_owned());
    // `memory allocated (GB): 1.5`: the unit precedes the number.
    let field = |name: &str| {
        let rest = behind(text, name)?;
        let (size, rest) = unit(rest)?;
        Some((size, number(rest.strip_prefix("):")?)?))
    };
    let figure = |name: &str| field(name).and_then(|(size, number)| number.figure(size));
    sample.with(Metric::Allocated, figure("memory allocated ("));
    sample.with(Metric::Reserved, figure("memory reserved ("));
    if let Some((size, used)) = field("device memory used/total (") {
        sample.with(Metric::DeviceUsed, used.figure(size));
        let total = used.rest.strip_prefix('/').and_then(number);
        sample.with(Metric::DeviceTotal, total.and_then(|total| total.figure(size)));
    }
    line.sign(&mut sample);
    sample.tells().then_some(sample)
}

/// ms-swift: a dict with `'memory(GiB)': 61.79`, the peak of reserved memory, and `'global_step/max_steps': '5/100'`.
pub(super) fn ms_swift(line: &Line<'_>) -> Option<Sample> {
    let text = &line.text;
    let value = behind(text, "memory(GiB)")?.trim_start_matches(['\'', '"', ':', '=', ' ']);
    let mut sample = Sample::new(Format::MsSwift, line.position);
    sample.label = Some("train".to_owned());
    sample.with(Metric::MaxReserved, number(value)?.figure(GIB));
    let bare = |rest: &str| rest.trim_start_matches(['\'', '"', ':', '=', ' ']).to_owned();
    sample.step = behind(text, "global_step/max_steps").and_then(|rest| super::scan::whole(&bare(rest)));
    let speed = |name: &str| behind(text, name).and_then(|rest| Some(number(&bare(rest))?.value));
    let seconds = speed("train_speed(s/it)").or_else(|| speed("train_speed(iter/s)").map(f64::recip));
    sample.seconds = seconds.filter(|seconds| seconds.is_finite());
    line.sign(&mut sample);
    sample.tells().then_some(sample)
}
