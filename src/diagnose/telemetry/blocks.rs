//! The state of reports that span several lines.

use super::line::Line;
use super::marks::Marks;
use super::sample::{Format, Metric, Sample};
use super::scan::{behind, number};
use super::{deepspeed, summary, trainer};

/// A report that spans more lines than this is dropped.
const LONGEST_REPORT: u64 = 80;

/// Reports that are not yet complete.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// DeepSpeed's figures of the device, waiting for the line with those of the host.
    deepspeed: Option<Sample>,
    /// The line of DeepSpeed's estimate, waiting for its rows.
    estimator: Option<u64>,
    /// A table of PyTorch, and the line at which it began.
    summary: Option<Sample>,
    /// The Trainer's deltas, and the line of the last one.
    deltas: trainer::Deltas,
    deltas_line: u64,
}

impl Blocks {
    /// Takes `line` if it belongs to a report of several lines; `label` comes from the line before it.
    pub(super) fn take(
        &mut self,
        line: &Line<'_>,
        marks: Marks,
        label: Option<&str>,
        samples: &mut Vec<Sample>,
    ) -> bool {
        self.expire(line.position.line, samples);
        if marks.has(Marks::DEEPSPEED_DEVICE)
            && let Some(figures) = deepspeed::device(&line.text)
        {
            samples.extend(self.deepspeed.take());
            let mut sample = Sample::new(Format::Deepspeed, line.position);
            figures.into_iter().for_each(|(metric, figure)| sample.with(metric, figure));
            sample.label = label.map(str::to_owned);
            line.sign(&mut sample);
            self.deepspeed = Some(sample);
            return true;
        }
        if marks.has(Marks::DEEPSPEED_HOST)
            && let Some(figure) = deepspeed::host(&line.text)
        {
            let mut sample = self.deepspeed.take().unwrap_or_else(|| Sample::new(Format::Deepspeed, line.position));
            sample.with(Metric::HostUsed, Some(figure));
            line.sign(&mut sample);
            samples.push(sample);
            return true;
        }
        if marks.has(Marks::SUMMARY)
            && let Some(sample) = summary::begins(line)
        {
            samples.extend(self.summary.take().filter(Sample::tells));
            self.summary = Some(sample);
            return true;
        }
        if let Some(mut sample) = self.summary.take() {
            if summary::row(&line.text, &mut sample) {
                samples.extend(sample.tells().then_some(sample));
            } else {
                self.summary = Some(sample);
            }
            return line.text.contains('|');
        }
        if marks.has(Marks::ESTIMATE) {
            self.estimator = Some(line.position.line);
            return true;
        }
        if self.estimator.is_some() && estimate(line, samples) {
            return true;
        }
        if marks.has(Marks::TRAINER) && self.deltas.take(line.position, &line.text) {
            self.deltas_line = line.position.line;
            return true;
        }
        false
    }

    /// Emits reports that no further line will complete.
    pub(super) fn finish(&mut self, samples: &mut Vec<Sample>) {
        samples.extend(self.deepspeed.take());
        samples.extend(self.summary.take().filter(Sample::tells));
        self.estimator = None;
        samples.extend(self.deltas.samples());
    }

    fn expire(&mut self, line: u64, samples: &mut Vec<Sample>) {
        let old = |start: u64| line.saturating_sub(start) > LONGEST_REPORT;
        if self.deepspeed.as_ref().is_some_and(|sample| old(sample.position.line)) {
            samples.extend(self.deepspeed.take());
        }
        if self.summary.as_ref().is_some_and(|sample| old(sample.position.line)) {
            samples.extend(self.summary.take().filter(Sample::tells));
        }
        // The table has at most eight rows, mixed with lines of other processes.
        self.estimator = self.estimator.filter(|&start| !old(start));
        if !self.deltas.is_empty() && old(self.deltas_line) {
            samples.extend(self.deltas.samples());
        }
    }
}

/// A row of DeepSpeed's estimate: `  127.45GB |   5.31GB | offload_optimizer=cpu`.
fn estimate(line: &Line<'_>, samples: &mut Vec<Sample>) -> bool {
    const GB: u64 = 1 << 30;
    let Some(host) = first_number(&line.text) else { return false };
    let Some(rest) = host.rest.strip_prefix("GB").and_then(|rest| behind(rest, "|")) else { return false };
    let Some(device) = number(rest) else { return false };
    let Some(options) = device.rest.strip_prefix("GB").and_then(|rest| behind(rest, "|")) else { return false };
    let mut sample = Sample::new(Format::DeepspeedEstimator, line.position);
    sample.label = Some(options.trim().to_owned());
    sample.with(Metric::EstimatedHost, host.figure(GB));
    sample.with(Metric::EstimatedDevice, device.figure(GB));
    line.sign(&mut sample);
    samples.push(sample);
    true
}

/// The number whose unit precedes the first `|` of `text`.
fn first_number(text: &str) -> Option<super::scan::Number<'_>> {
    let bar = text.find('|')?;
    let at = text[..bar].rfind("GB")?;
    let start = text[..at].bytes().rev().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    number(&text[at - start..])
}
