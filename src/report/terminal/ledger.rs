//! A ledger on the terminal: first the unexpected memory, then each stage.

use plimsoll_diagnose::estimate::Count;
use plimsoll_diagnose::ledger::{Excess, Ground, Ledger, MemoryKind, Movement};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::text::Screen;
use plimsoll_memory::text::{Align, Cell, Column, apart};
use plimsoll_memory::text::{LABEL, clean, cut, labelled, styled};

/// Writes the document of `ledger`.
pub fn ledger(ledger: &Ledger, screen: &Screen) -> String {
    let palette = &screen.palette;
    let place = if ledger.place == MemoryKind::Host { "host memory" } else { "device memory" };
    let command = "plimsoll ledger";
    let setup = &ledger.setup;
    let count = Count(ledger.model.parameters);
    let of = format!("{place} of {count} parameters, {}, ZeRO-{}", setup.optimizer, u8::from(setup.zero));
    let of = cut(&of, screen.width() - command.len() - 2);
    let mut text = format!(" {} {of}\n\n", styled(command, palette.heading));
    text.push_str(&answer(ledger, screen));
    if !ledger.movements.is_empty() {
        text.push_str(&movements(ledger, screen));
    }
    if !ledger.excesses.is_empty() {
        text.push_str(&excesses(ledger, screen));
    }
    for (index, finding) in ledger.findings.iter().enumerate() {
        let label = finding.verdict.name();
        text.push_str(if index == 0 { "\n" } else { "" });
        text.push_str(&labelled(label, palette.warn, &finding.explanation, LABEL, screen));
    }
    text
}

fn answer(ledger: &Ledger, screen: &Screen) -> String {
    let palette = &screen.palette;
    let beyond = ledger.beyond;
    let size = |parameters: u64| ByteSize::new((beyond.max(0.0) * parameters as f64).round() as u64);
    let sums = format!("{} B/param measured, {} expected", rate(ledger.measured), rate(ledger.expected));
    match (ledger.exceeds, ledger.movements.is_empty()) {
        (_, true) => labelled(
            "? no stages",
            palette.warn,
            "no label names init, forward, backward or step: what follows is the log's trend",
            LABEL,
            screen,
        ),
        (true, _) => {
            let bytes = size(ledger.model.parameters);
            let mut words = format!("{sums}: {} B/param too many, {bytes}", rate(beyond));
            if let Some(at) = ledger.at {
                let all = size(at);
                words.push_str(&format!("; {} at {} parameters", decimal(all), Count(at)));
            }
            let mut text = labelled("✗ excess", palette.bad, &words, LABEL, screen);
            for sum in &ledger.stages {
                let parts = ledger.excesses.iter().filter(|excess| excess.stage == sum.stage);
                let parts = parts.map(|excess| format!("{} {}", clean(&excess.name), rate(excess.rate)));
                let mut words =
                    format!("{}: {} B/param ({})", sum.stage, rate(sum.rate), parts.collect::<Vec<_>>().join(" + "));
                if let (Some(projected), Some(at)) = (sum.projected, ledger.at) {
                    words.push_str(&format!(", {} at {} parameters", decimal(projected), Count(at)));
                }
                text.push_str(&labelled(" ", palette.dim, &words, LABEL, screen));
            }
            text
        }
        (false, _) if beyond < -ledger.expected / 4.0 => {
            let words = format!(
                "{sums}: far less than expected; the setup differs (sharding, offload, precision), or memory was read \
                 after it was released"
            );
            labelled("? less", palette.warn, &words, LABEL, screen)
        }
        (false, _) => labelled("✓ expected", palette.good, &sums, LABEL, screen),
    }
}

fn movements(ledger: &Ledger, screen: &Screen) -> String {
    let columns = vec![
        Column::new("stage", Align::Left, 0),
        Column::new("measured", Align::Right, 0),
        Column::new("expected", Align::Right, 0),
        Column::new("excess", Align::Right, 0),
        Column::new("expected are", Align::Left, 1),
        Column::new("reading", Align::Left, 2),
    ];
    let row = |movement: &Movement| {
        let beyond = movement.measured - movement.expected;
        let style = if beyond > 0.25 { screen.palette.warn } else { screen.palette.dim };
        let items = movement.items.iter().map(|item| format!("{} {}", item.item.title(), rate(item.rate)));
        let place = movement.position.map_or_else(String::new, |at| format!(" (line {})", at.line));
        vec![
            Cell::plain(movement.stage.name()),
            Cell::plain(rate(movement.measured)),
            Cell::plain(rate(movement.expected)),
            Cell::new(signed(beyond), style),
            Cell::plain(items.collect::<Vec<_>>().join(", ")),
            Cell::new(format!("{}{place}", clean(&movement.label)), screen.palette.dim),
        ]
    };
    let rows: Vec<_> = ledger.movements.iter().map(row).collect();
    let unit = " bytes a parameter, from reading to reading";
    format!("{}{}\n", apart(columns, &rows, screen), styled(unit, screen.palette.dim))
}

fn excesses(ledger: &Ledger, screen: &Screen) -> String {
    let mut columns = vec![
        Column::new("excess", Align::Left, 0),
        Column::new("B/param", Align::Right, 0),
        Column::new("bytes", Align::Right, 1),
    ];
    columns.extend(ledger.at.map(|_| Column::new("projected", Align::Right, 0)));
    columns.extend([
        Column::new("appeared", Align::Left, 0),
        Column::new("came back", Align::Left, 0),
        Column::new("used again", Align::Left, 0),
        Column::new("named by", Align::Left, 2),
    ]);
    let yes_or_no = |found: Option<bool>| match found {
        Some(true) => "yes",
        Some(false) => "no",
        None => "-",
    };
    let row = |excess: &Excess| {
        let mut row = vec![
            Cell::plain(clean(&excess.name)),
            Cell::new(rate(excess.rate), screen.palette.warn),
            Cell::plain(excess.bytes.to_string()),
        ];
        row.extend(ledger.at.map(|_| Cell::plain(excess.projected.map_or_else(String::new, decimal))));
        let ground = match excess.ground {
            Ground::Label => "the log's label",
            Ground::Known => "DeepSpeed #7693",
            Ground::Unexplained => "",
        };
        row.extend([
            Cell::plain(excess.stage.name()),
            Cell::plain(yes_or_no(excess.came_back)),
            Cell::plain(yes_or_no(excess.reused)),
            Cell::new(ground, screen.palette.dim),
        ]);
        row
    };
    let rows: Vec<_> = ledger.excesses.iter().map(row).collect();
    apart(columns, &rows, screen)
}

/// Bytes per parameter with two decimals.
fn rate(rate: f64) -> String {
    let text = format!("{rate:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Like [`rate`] with a sign; empty for zero.
fn signed(value: f64) -> String {
    let text = rate(value);
    if text == "0" || text.starts_with('-') { text } else { format!("+{text}") }
}

/// Decimal gigabytes, as parameters are usually counted.
fn decimal(bytes: ByteSize) -> String {
    format!("{:.1} GB", bytes.bytes() as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use crate::record::sample::assert_snapshot;
    use crate::report::terminal::{Palette, Screen};
    use plimsoll_diagnose::estimate::{Model, Offload, Setup, ZeroStage};
    use plimsoll_diagnose::ledger::Reading;
    use plimsoll_diagnose::telemetry::{Position, Reader};

    use super::*;

    /// A log of `see_memory_usage`: label, device, cached, host.
    fn shown(reports: &[(&str, f64, f64, f64)], at: Option<u64>) -> String {
        let text = reports.iter().map(|(label, ma, ca, host)| {
            format!(
                "{label}\nMA {ma} GB         Max_MA {ma} GB         CA {ca} GB         Max_CA {ca:.0} GB \n\
                 CPU Virtual Memory:  used = {host} GB, percent = 9.9%\n"
            )
        });
        let text: String = text.collect();
        let (mut reader, mut samples, mut offset) = (Reader::default(), Vec::new(), 0);
        for (index, line) in text.split_inclusive('\n').enumerate() {
            reader.line(Position { line: index as u64 + 1, offset }, line, &mut samples);
            offset += line.len() as u64;
        }
        reader.finish(&mut samples);
        let readings = Reading::of_samples(&samples, MemoryKind::Host);
        let setup = Setup { zero: ZeroStage::Two, offload: Offload::Cpu, ..Setup::default() };
        let found = Ledger::account(&Model::new(1 << 30), &setup, MemoryKind::Host, readings, &samples, at).unwrap();
        ledger(&found, &Screen::new(120, Palette::plain()))
    }

    #[test]
    fn deepspeed_7693() {
        let reports = [
            ("before deepspeed.initialize", 2.0, 2.1, 40.0),
            ("after deepspeed.initialize", 2.0, 2.1, 50.01),
            ("after first step", 2.0, 2.1, 66.02),
            ("after step 2", 2.0, 2.1, 68.0),
            ("after step 3", 2.0, 2.1, 68.0),
        ];
        assert_snapshot("terminal_ledger_7693", &shown(&reports, Some(80_000_000_000)));
    }

    #[test]
    fn a_round_trip_and_what_is_as_expected() {
        let trip = [
            ("before", 9.36, 9.4, 135.33),
            ("after .to(device)", 21.36, 24.05, 135.33),
            ("after .cpu()", 9.36, 24.05, 147.38),
        ];
        let trip = shown(&trip, None);
        let expected = shown(
            &[("before init", 2.0, 2.1, 40.0), ("after init", 2.0, 2.1, 48.0), ("after step", 2.0, 2.1, 56.0)],
            None,
        );
        assert_snapshot("terminal_ledger", &format!("{trip}\n{expected}"));
    }
}
