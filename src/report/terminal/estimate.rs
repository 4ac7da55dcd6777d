//! An estimate on the terminal: whether it fits, what to do, and what it consists of.

use std::fmt::Write;

use anstyle::Style;

use plimsoll_diagnose::estimate::{
    CONTEXT_LEAST, Count, Estimate, Fit, FitVerdict, Group, Phase, Places, Report, Row, Tuning, ZeroStage,
};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::text::Screen;
use plimsoll_memory::text::{Align, Cell, Column, apart};
use plimsoll_memory::text::{LABEL, counted, cut, labelled, styled};

/// Writes the estimate. With `explain`, every amount has its formula and source, and every remedy its instructions.
pub fn estimate(report: &Report, explain: bool, screen: &Screen) -> String {
    let palette = &screen.palette;
    let command = "plimsoll estimate";
    let of = cut(&title(&report.estimate), screen.width() - command.len() - 2);
    let mut text = format!(" {} {of}\n\n", styled(command, palette.heading));
    text.push_str(&answer(report, screen));
    text.push_str(&memory(&report.estimate, screen));
    text.push_str(&phases(&report.estimate, screen));
    text.push_str(&ladder(report, screen));
    text.push('\n');
    if let Some(batch) = report.estimate.batch {
        text.push_str(&labelled("batch", palette.dim, &batch.to_string(), LABEL, screen));
    }
    text.push_str(&conventions(report, screen));
    lines("not counted", &report.estimate.not_counted, &mut text, screen);
    lines("assumed", &report.estimate.notes, &mut text, screen);
    if explain {
        text.push_str(&explanation(report, screen));
    } else {
        text.push_str(&labelled(
            "",
            palette.dim,
            "--explain shows the formula and the source of every number",
            LABEL,
            screen,
        ));
    }
    text
}

fn lines(label: &str, all: &[String], text: &mut String, screen: &Screen) {
    for (index, line) in all.iter().enumerate() {
        let label = if index == 0 { label } else { " " };
        text.push_str(&labelled(label, screen.palette.dim, line, LABEL, screen));
    }
}

fn title(estimate: &Estimate) -> String {
    let setup = &estimate.setup;
    let mut words = vec![
        format!("{} parameters", Count(estimate.model.parameters)),
        if setup.inference { "inference".to_owned() } else { setup.optimizer.to_string() },
        setup.precision.to_string(),
    ];
    match setup.tuning {
        Tuning::Full => {}
        Tuning::Lora { rank } => words.push(format!("LoRA r={rank}")),
        Tuning::Qlora { rank } => words.push(format!("QLoRA r={rank}")),
    }
    if setup.zero > ZeroStage::Zero {
        let group = setup.shard_group.filter(|_| setup.shards() < setup.data_parallel());
        let within = group.map_or(String::new(), |group| format!(" in groups of {group} GPUs"));
        words.push(format!("ZeRO-{}{within}", u8::from(setup.zero)));
    }
    words.push(counted(setup.world() as usize, "GPU", "GPUs"));
    words.push(format!("{} convention", setup.convention));
    words.join(", ")
}

/// Whether it fits, and what to do if not.
fn answer(report: &Report, screen: &Screen) -> String {
    let palette = &screen.palette;
    let estimate = &report.estimate;
    let Some(fit) = &report.fit else {
        let peak = estimate.peak.device;
        let when = named(estimate.peak_phase, estimate);
        let needs = format!(
            "{peak} on each GPU at the peak ({when}){}; add --vram 80GiB to see whether it fits",
            host(estimate)
        );
        return labelled("needs", palette.heading, &needs, LABEL, screen);
    };
    let (label, style, words) = verdict(report, fit, screen);
    let mut text = labelled(label, style, &words, LABEL, screen);
    if fit.verdict.holds() {
        return text;
    }
    let Some(plan) = &report.ladder.plan else {
        let words = "nothing on the ladder makes it fit: it needs more or larger GPUs, or a smaller model";
        text.push_str(&labelled("do this", palette.heading, words, LABEL, screen));
        return text;
    };
    for (index, change) in plan.changes.iter().enumerate() {
        let label = if index == 0 { "do this" } else { " " };
        let words = format!("{} ({})", change.change, change.mark.title());
        text.push_str(&labelled(label, palette.heading, &words, LABEL, screen));
    }
    let mut then = format!("{} on each GPU", plan.peak.device);
    for (bytes, place) in [(plan.peak.host, "on the host"), (plan.peak.nvme, "on NVMe")] {
        if bytes > ByteSize::ZERO {
            let _ = write!(then, ", {bytes} {place}");
        }
    }
    if let Some(batch) = plan.batch {
        let _ = write!(then, "; batch {batch}");
    }
    text.push_str(&labelled("then", palette.good, &then, LABEL, screen));
    text
}

fn verdict(report: &Report, fit: &Fit, screen: &Screen) -> (&'static str, Style, String) {
    let palette = &screen.palette;
    let estimate = &report.estimate;
    let (peak, when) = (estimate.peak, named(estimate.peak_phase, estimate));
    let (vram, ram) = (report.limits.vram.unwrap_or_default(), report.limits.ram.unwrap_or_default());
    let left = |left: Option<ByteSize>, what: &str| left.map(|left| format!("{left} left on each {what}"));
    let left = [left(fit.device_left, "GPU"), left(fit.host_left, "node")].into_iter().flatten();
    let left = left.collect::<Vec<_>>().join(", ");
    match fit.verdict {
        FitVerdict::Fits => {
            let words = format!("{} on each GPU at the peak ({when}){}: {left}", peak.device, host(estimate));
            ("✓ fits", palette.good, words)
        }
        FitVerdict::Tight => {
            let least = fit.device_left.unwrap_or_default() + CONTEXT_LEAST;
            let words = format!(
                "{} on each GPU at the peak ({when}){}: {least} left of {vram}, of which the CUDA context and NCCL take \
                 0.5 to 2 GiB",
                peak.device,
                host(estimate)
            );
            ("~ tight", palette.warn, words)
        }
        FitVerdict::FixedStateFits => {
            let words = format!(
                "{} on each GPU{}: {left} for activations; --batch and --seq count them",
                peak.device,
                host(estimate)
            );
            ("~ may fit", palette.warn, words)
        }
        FitVerdict::ExceedsDevice => {
            let over = fit.device_over.unwrap_or_default();
            let words = format!(
                "{} on each GPU at the peak ({when}){}, {over} more than {vram} leaves after a CUDA context of 0.5 GiB",
                peak.device,
                host(estimate)
            );
            ("✗ too large", palette.bad, words)
        }
        FitVerdict::ExceedsHost => {
            let over = fit.host_over.unwrap_or_default();
            let words =
                format!("{} of host memory on each node, {over} more than {ram}; the GPUs have room", peak.host);
            ("✗ too large", palette.bad, words)
        }
    }
}

/// `, 12.00 GiB on the host (init)`, or empty without host memory.
fn host(estimate: &Estimate) -> String {
    let mut text = String::new();
    let when = estimate
        .phases
        .iter()
        .rev()
        .max_by_key(|phase| phase.total.host)
        .map_or("", |phase| named(phase.phase, estimate));
    if estimate.peak.host > ByteSize::ZERO {
        let _ = write!(text, ", {} on the host ({when})", estimate.peak.host);
    }
    if estimate.peak.nvme > ByteSize::ZERO {
        let _ = write!(text, ", {} on NVMe", estimate.peak.nvme);
    }
    text
}

/// Which places hold memory.
#[derive(Clone, Copy)]
struct Shown {
    host: bool,
    nvme: bool,
}

impl Shown {
    fn of(peak: Places) -> Self {
        Self { host: peak.host > ByteSize::ZERO, nvme: peak.nvme > ByteSize::ZERO }
    }

    fn columns(self, first: &'static str) -> Vec<Column> {
        let mut columns = vec![Column::new(first, Align::Left, 0), Column::new("each GPU", Align::Right, 0)];
        columns.extend(self.host.then(|| Column::new("host", Align::Right, 0)));
        columns.extend(self.nvme.then(|| Column::new("NVMe", Align::Right, 0)));
        columns
    }

    fn cells(self, places: Places, style: Style) -> Vec<Cell> {
        let cell = |bytes: ByteSize| match bytes {
            ByteSize::ZERO => Cell::plain(""),
            bytes => Cell::new(bytes.to_string(), style),
        };
        let mut cells = vec![cell(places.device)];
        cells.extend(self.host.then(|| cell(places.host)));
        cells.extend(self.nvme.then(|| cell(places.nvme)));
        cells
    }
}

fn memory(estimate: &Estimate, screen: &Screen) -> String {
    let palette = &screen.palette;
    let shown = Shown::of(estimate.peak);
    let mut columns = shown.columns("memory");
    columns.push(Column::new("B/param", Align::Right, 2));
    columns.push(Column::new("there from", Align::Left, 1));
    let mut rows = Vec::new();
    let groups = [
        (Group::Fixed, "fixed state", Some(estimate.fixed)),
        (Group::Activations, "activations", estimate.activations),
        (Group::Temporaries, "temporaries", Some(estimate.temporaries)),
    ];
    for (group, name, total) in groups {
        let of_group: Vec<&Row> = estimate.rows.iter().filter(|row| row.group == group).collect();
        let mut row = vec![Cell::new(name, palette.heading)];
        match total {
            None => {
                row.extend(shown.cells(Places::NONE, palette.dim));
                row[1] = Cell::new("unknown", palette.dim);
                row.push(Cell::plain(""));
                row.push(Cell::new("give --batch and --seq", palette.dim));
            }
            Some(total) if of_group.is_empty() => {
                row.extend(shown.cells(total, palette.heading));
                row[1] = Cell::new("none", palette.dim);
            }
            Some(total) => row.extend(shown.cells(total, palette.heading)),
        }
        rows.push(row);
        for part in of_group {
            let all = part.peak.device + part.peak.host + part.peak.nvme;
            let mut row = vec![Cell::plain(format!("  {}", part.item.title()))];
            row.extend(shown.cells(part.peak, Style::new()));
            let rate = part.parameters.filter(|_| group == Group::Fixed).map_or_else(String::new, |parameters| {
                let rate = format!("{:.3}", all.bytes() as f64 / parameters.max(1) as f64);
                rate.trim_end_matches('0').trim_end_matches('.').to_owned()
            });
            row.push(Cell::new(rate, palette.dim));
            row.push(Cell::new(since(part, estimate), palette.dim));
            rows.push(row);
        }
    }
    apart(columns, &rows, screen)
}

/// The first phase in which a row holds memory.
fn since(row: &Row, estimate: &Estimate) -> &'static str {
    let first = Phase::ALL.into_iter().zip(&row.phases).find(|(_, places)| **places != Places::NONE);
    first.map_or("", |(phase, _)| named(phase, estimate))
}

/// The name of a phase for training or for generation.
fn named(phase: Phase, estimate: &Estimate) -> &'static str {
    phase.generating().filter(|_| estimate.setup.inference).unwrap_or(phase.title())
}

fn phases(estimate: &Estimate, screen: &Screen) -> String {
    let palette = &screen.palette;
    let shown = Shown::of(estimate.peak);
    let there = |phase: Phase| !estimate.setup.inference || phase.generating().is_some();
    let rows = estimate.phases.iter().filter(|phase| there(phase.phase)).map(|phase| {
        let peak = phase.phase == estimate.peak_phase;
        let style = if peak { palette.heading } else { Style::new() };
        let mut row = vec![Cell::new(named(phase.phase, estimate), style)];
        row.extend(shown.cells(phase.total, style));
        row.push(Cell::new(if peak { "the peak" } else { "" }, palette.dim));
        row
    });
    let mut columns = shown.columns("phase");
    columns.push(Column::new("", Align::Left, 1));
    apart(columns, &rows.collect::<Vec<_>>(), screen)
}

fn ladder(report: &Report, screen: &Screen) -> String {
    let palette = &screen.palette;
    let climbing = report.ladder.steps.iter().any(|step| step.peak.is_some());
    let mut columns =
        vec![Column::new("ladder, cheapest first", Align::Left, 0), Column::new("saves alone", Align::Right, 0)];
    columns.extend(climbing.then(|| Column::new("then", Align::Right, 0)));
    columns.push(Column::new("what", Align::Left, 1));
    let rows = report.ladder.steps.iter().map(|step| {
        let first = Some(step.rung) == report.ladder.first_that_fits;
        let mark = match step.fits {
            Some(true) => "✓",
            Some(false) => "✗",
            None => " ",
        };
        let style = if first { palette.good } else { Style::new() };
        let mut row = vec![Cell::new(format!("{:>2} {mark} {}", step.number, step.rung.title()), style)];
        if let (None, Some(reason)) = (&step.change, &step.reason) {
            row.push(Cell::plain(""));
            row.extend(climbing.then(|| Cell::plain("")));
            row.push(Cell::new(reason.clone(), palette.dim));
            return row;
        }
        row.push(match (step.saving, step.cost) {
            (Some(saving), _) => Cell::new(saving.to_string(), style),
            (None, Some(cost)) => Cell::new(format!("costs {cost}"), palette.warn),
            (None, None) => Cell::plain(""),
        });
        row.extend(
            climbing.then(|| Cell::new(step.peak.map_or_else(String::new, |peak| peak.device.to_string()), style)),
        );
        let change = step.change.clone().unwrap_or_default();
        row.push(Cell::plain(format!("{change} ({})", step.mark.title())));
        row
    });
    apart(columns, &rows.collect::<Vec<_>>(), screen)
}

fn conventions(report: &Report, screen: &Screen) -> String {
    if report.estimate.setup.inference {
        return String::new();
    }
    let parts = report.conventions.iter().map(|figure| {
        let (name, rate) = (figure.convention, figure.bytes_per_parameter);
        let device = figure.device.map_or_else(|| "no formula here".to_owned(), |device| device.to_string());
        format!("{name} {} B/param: {device}", (rate * 100.0).round() / 100.0)
    });
    let words = format!("fixed state by {}", parts.collect::<Vec<_>>().join("; "));
    let mut text = labelled("conventions", screen.palette.dim, &words, LABEL, screen);
    let accelerate =
        format!("accelerate estimate-memory prints {}: the largest of its stages, not a peak", report.accelerate);
    text.push_str(&labelled(" ", screen.palette.dim, &accelerate, LABEL, screen));
    text
}

/// Writes the formula and source of every amount, and how to apply each remedy.
fn explanation(report: &Report, screen: &Screen) -> String {
    let palette = &screen.palette;
    let mut text = format!("\n {}\n", styled("where the numbers are from", palette.heading));
    let width = report.estimate.rows.iter().map(|row| row.item.title().chars().count()).max().unwrap_or(0) + 2;
    for row in &report.estimate.rows {
        let places = [("", row.peak.device), (" on the host", row.peak.host), (" on NVMe", row.peak.nvme)];
        let amounts = places.iter().filter(|(_, bytes)| *bytes > ByteSize::ZERO);
        let amounts: Vec<_> = amounts.map(|(place, bytes)| format!("{bytes}{place}")).collect();
        let words = format!("{} = {} [{}]", amounts.join(" + "), row.formula, row.source.citation());
        text.push_str(&labelled(row.item.title(), Style::new(), &words, width, screen));
    }
    let legend = "s tokens, b micro-batch, h hidden, a heads, q and kv width of queries and keys, k experts of a token, V vocabulary, t tensor parallel, p pipeline stages, m micro-batches, v virtual stages";
    text.push_str(&labelled("where", palette.dim, legend, width, screen));
    let _ = write!(text, "\n {}\n", styled("how each rung is done", palette.heading));
    for step in &report.ladder.steps {
        let label = format!("{:>2} {}", step.number, step.mark.title());
        text.push_str(&labelled(&label, palette.dim, step.rung.advice(), 23, screen));
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::record::sample::assert_snapshot;
    use crate::report::terminal::{Palette, Screen};
    use plimsoll_diagnose::estimate::{
        Attention, Convention, Limits, Model, Offload, Precision, Report, Setup, Shape, Tuning, ZeroStage,
    };

    use super::*;

    fn model() -> Model {
        let shape = Shape { heads: Some(24), vocabulary: Some(32_000), ..Shape::new(32, 3072) };
        Model { shape: Some(shape), ..Model::new(4_000_000_000) }
    }

    fn shown(model: &Model, setup: Setup, limits: Limits, explain: bool, width: usize) -> String {
        estimate(&Report::of(model, &setup, &limits).unwrap(), explain, &Screen::new(width, Palette::plain()))
    }

    fn vram(gib: u64) -> Limits {
        Limits { vram: Some(ByteSize::gib(gib)), ram: None }
    }

    fn working() -> Setup {
        Setup { batch: Some(8), sequence: Some(2048), attention: Attention::Eager, ..Setup::default() }
    }

    #[test]
    fn what_does_not_fit_says_what_to_do_first() {
        assert_snapshot("terminal_estimate_too_large", &shown(&model(), working(), vram(80), false, 120));
        let text = shown(&model(), working(), vram(80), false, 60);
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    }

    #[test]
    fn state_alone_with_every_formula() {
        let setup = Setup { precision: Precision::Fp16Mixed, ..Setup::default() };
        assert_snapshot("terminal_estimate_explained", &shown(&Model::new(4_000_000_000), setup, vram(80), true, 120));
    }

    #[test]
    fn bytes_on_the_host_have_a_column() {
        let (convention, zero, offload) = (Convention::Deepspeed, ZeroStage::Two, Offload::Cpu);
        let setup = Setup { convention, zero, offload, gpus: 8, ..Setup::default() };
        let limits = Limits { ram: Some(ByteSize::gib(100)), ..vram(80) };
        let text = shown(&Model::new(2_851_000_000), setup, limits, false, 120);
        assert_snapshot("terminal_estimate_host", &text);
    }

    #[test]
    fn the_answer_is_in_the_first_lines() {
        let fits = shown(&model(), Setup { checkpointing: true, ..working() }, vram(96), false, 120);
        assert!(fits.lines().nth(2).unwrap().starts_with(" ✓ fits      79.49 GiB on each GPU"), "{fits}");
        let unjudged = shown(&model(), working(), Limits::default(), false, 120);
        assert!(unjudged.contains("add --vram 80GiB to see whether it fits"), "{unjudged}");
        let hopeless = shown(
            &model(),
            Setup { tuning: Tuning::Qlora { rank: 16 }, ..working() },
            Limits { vram: Some(ByteSize::mib(64)), ram: Some(ByteSize::mib(64)) },
            false,
            120,
        );
        assert!(hopeless.contains("nothing on the ladder makes it fit"), "{hopeless}");
    }
}
