//! An inspection on the terminal.

use std::cmp::Reverse;
use std::convert::Infallible;
use std::fmt::Write;
use std::path::Path;

use anstyle::Style;

use crate::record::{Reader, Rows};
use plimsoll_capture::inspect::{
    EntryInspection, ErrorReport, Inspection, Number, Options, Repeat, RepeatedStorage, Scalar, StorageInspection,
    Summary, TensorInspection, ValueInspection, ValueKind, inspect_each,
};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::text::{Align, Cell, Column, apart};
use plimsoll_memory::text::{Palette, Screen};
use plimsoll_memory::text::{clean, counted, cut, labelled, styled};

/// Maximum number of table rows printed; JSON has them all.
const ROWS: usize = 500;

/// Maximum number of findings printed per list.
const FINDINGS: usize = 20;

/// The columns of a label at the start of a line.
const LABEL: usize = 12;

/// Placeholder for an empty cell.
const ABSENT: &str = "-";

/// An inspection reduced to what the terminal shows, so that a folder of many files takes little memory.
#[derive(Debug)]
pub struct Inspected {
    path: String,
    entries: Rows<EntryInspection>,
    summary: Summary,
}

impl From<Inspection> for Inspected {
    fn from(inspection: Inspection) -> Self {
        let Inspection { path, entries, repeats, totals, error, .. } = inspection;
        Self { path, entries: entries.into(), summary: Summary { repeats, totals, error } }
    }
}

impl Inspected {
    /// Inspects `path` and passes each entry to `each` in full.
    pub fn read(path: &Path, options: Options, each: &mut dyn FnMut(&EntryInspection)) -> Self {
        let name = plimsoll_capture::origin::shown(path);
        let mut entries = Rows::default();
        let Ok(summary) = inspect_each(path, options, &mut |mut entry| {
            each(&entry);
            if entry.file != name {
                entry.values = Vec::new();
            }
            entries.push(entry);
            Ok::<(), Infallible>(())
        });
        Self { path: name, entries, summary }
    }

    /// Whether at least one file could be opened.
    pub fn is_readable(&self) -> bool {
        self.entries.iter().any(|entry| entry.bytes.is_some())
    }

    /// Writes the document for a terminal.
    pub fn document(&self, screen: &Screen) -> String {
        let palette = &screen.palette;
        let mut text = format!(" {}\n", styled(&cut(&clean(&self.path), screen.width() - 1), palette.heading));
        match (self.entries.get(0), self.entries.len()) {
            (Some(entry), 1) if entry.file == self.path => text.push_str(&values_of(&entry, screen)),
            (None, _) => {}
            _ => text.push_str(&overview(&self.entries, screen)),
        }
        text.push_str(&findings(self, screen));
        text.push_str(&totals(self, screen));
        text
    }

    /// Returns the first error.
    pub fn into_error(self) -> Option<ErrorReport> {
        self.summary.error
    }
}

fn values_of(entry: &EntryInspection, screen: &Screen) -> String {
    let digested = entry.tensors.iter().any(|tensor| tensor.digest.is_some());
    let mut columns = vec![
        Column::new("tensor", Align::Left, 0),
        Column::new("dtype", Align::Left, 0),
        Column::new("shape", Align::Left, 0),
        Column::new("bytes", Align::Right, 1),
        Column::new("storage", Align::Left, 3),
        Column::new("layout", Align::Left, 2),
    ];
    columns.extend(digested.then(|| Column::new("digest", Align::Left, 4)));
    let rows = entry.tensors.iter().map(|tensor| tensor_row(tensor, digested, &screen.palette));
    let mut text = table(columns, rows, screen);

    let columns = ["value", "type", "is"].map(|title| Column::new(title, Align::Left, 0)).to_vec();
    // The contents of a container have rows of their own.
    let is_shown =
        |value: &&ValueInspection| value.alias_of.is_some() || !value.kind.is_container() || value.length == Some(0);
    let values: Vec<_> = entry.values.iter().filter(is_shown).collect();
    text.push_str(&table(columns, values.iter().map(|value| value_row(value, &screen.palette)), screen));
    text
}

/// A table of `rows` after a blank line; empty without rows.
fn table(columns: Vec<Column>, rows: impl ExactSizeIterator<Item = Vec<Cell>>, screen: &Screen) -> String {
    let count = rows.len();
    let rows: Vec<_> = rows.take(ROWS).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut text = apart(columns, &rows, screen);
    if count > rows.len() {
        let more = format!("… and {} more (--json has them all)", count - rows.len());
        let _ = writeln!(text, " {}", styled(&more, screen.palette.dim));
    }
    text
}

fn tensor_row(tensor: &TensorInspection, digested: bool, palette: &Palette) -> Vec<Cell> {
    let path = Cell::plain(clean(&tensor.path));
    if let Some(first) = &tensor.alias_of {
        return vec![path, Cell::spanning(clean(&format!("is {first}")), palette.dim)];
    }
    let or_absent = |text: Option<String>| match text {
        Some(text) => Cell::plain(text),
        None => Cell::new(ABSENT, palette.dim),
    };
    let mut cells = vec![
        path,
        or_absent(tensor.dtype.map(|dtype| dtype.to_string())),
        or_absent(tensor.shape.as_ref().map(|shape| numbers(shape))),
        or_absent(tensor.logical_bytes.map(|bytes| bytes.to_string())),
        or_absent(tensor.storage.as_ref().map(|storage| clean(storage))),
        Cell::new(layout(tensor), palette.dim),
    ];
    cells.extend(digested.then(|| or_absent(tensor.digest.as_ref().map(|digest| digest.chars().take(12).collect()))));
    cells
}

/// What is unusual about a tensor and about how it lies in its storage.
fn layout(tensor: &TensorInspection) -> String {
    let mut words = Vec::new();
    if tensor.kind != "strided" {
        words.push(tensor.kind.clone());
    }
    if tensor.class != "torch.Tensor" {
        words.push(clean(tensor.class.rsplit('.').next().unwrap_or(&tensor.class)));
    }
    if let (Some(shape), Some(strides)) = (&tensor.shape, &tensor.strides)
        && !in_order(shape, strides)
    {
        words.push(format!("strides {}", numbers(strides)));
    }
    if let Some(offset) = tensor.storage_offset.filter(|&offset| offset > 0) {
        words.push(format!("from {offset}"));
    }
    let flags = [(tensor.conj, "conj"), (tensor.neg, "neg"), (tensor.requires_grad, "grad")];
    words.extend(flags.into_iter().filter(|(set, _)| *set).map(|(_, word)| word.to_owned()));
    words.join(", ")
}

/// Whether the elements lie in row-major order without gaps.
fn in_order(shape: &[u64], strides: &[u64]) -> bool {
    let mut expected = 1u64;
    shape.contains(&0)
        || shape.iter().zip(strides).rev().filter(|&(&size, _)| size != 1).all(|(&size, &stride)| {
            let right = stride == expected;
            expected = expected.saturating_mul(size);
            right
        })
}

/// `[2, 3]`; a long list is cut.
fn numbers(numbers: &[u64]) -> String {
    let shown: Vec<_> = numbers.iter().take(8).map(u64::to_string).collect();
    format!("[{}{}]", shown.join(", "), if numbers.len() > 8 { ", …" } else { "" })
}

fn value_row(value: &ValueInspection, palette: &Palette) -> Vec<Cell> {
    let kind = Cell::new(value.kind.name(), palette.dim);
    let (is, style) = match (&value.alias_of, &value.class, &value.value) {
        (Some(first), ..) => (clean(&format!("is {first}")), palette.dim),
        (_, Some(class), _) => (clean(class), Style::new()),
        (_, _, Some(scalar)) => (scalar_words(scalar, value), Style::new()),
        _ => match (&value.storage, value.length) {
            (Some(storage), _) => (clean(storage), Style::new()),
            (None, Some(length)) => (counted(length as usize, "item", "items"), Style::new()),
            (None, None) => (String::new(), Style::new()),
        },
    };
    vec![Cell::plain(clean(&value.path)), kind, Cell::new(cut(&is, 80), style)]
}

fn scalar_words(scalar: &Scalar, value: &ValueInspection) -> String {
    match scalar {
        Scalar::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Number(value) => number(value),
        Scalar::Complex(parts) => format!("{} {}j", number(&parts[0]), number(&parts[1])),
        Scalar::Text(text) if value.kind == ValueKind::Str => format!("{:?}", clean(&cut(text, 80))),
        Scalar::Text(text) => clean(&cut(text, 80)),
    }
}

fn number(number: &Number) -> String {
    match number {
        Number::Finite(value) => format!("{value:?}"),
        Number::Named(name) => name.name().to_owned(),
    }
}

/// Writes one row per file of a folder.
fn overview(entries: &Rows<EntryInspection>, screen: &Screen) -> String {
    let palette = &screen.palette;
    let columns = vec![
        Column::new("file", Align::Left, 0),
        Column::new("size", Align::Right, 0),
        Column::new("tensors", Align::Right, 1),
        Column::new("storages", Align::Right, 2),
        Column::new("stored", Align::Right, 3),
        Column::new("logical", Align::Right, 4),
        Column::new("largest", Align::Left, 5),
    ];
    let row = |entry: &EntryInspection| {
        let name = Cell::plain(clean(name(&entry.file)));
        let size = entry.bytes.map_or(ABSENT.to_owned(), |bytes| bytes.to_string());
        if entry.tensors.is_empty()
            && let Some(error) = &entry.error
        {
            let words = Cell::spanning(clean(&format!("✗ {}: {}", error.kind, error.message)), palette.bad);
            return vec![name, Cell::new(size, palette.dim), words];
        }
        let tensors = || entry.tensors.iter().filter(|tensor| tensor.alias_of.is_none());
        let largest = tensors().max_by_key(|tensor| tensor.logical_bytes);
        let largest = largest.map_or(ABSENT.to_owned(), |tensor| {
            let dtype = tensor.dtype.map_or(ABSENT.to_owned(), |dtype| dtype.to_string());
            format!("{dtype} {}", tensor.shape.as_deref().map_or(ABSENT.to_owned(), numbers))
        });
        vec![
            name,
            Cell::plain(size),
            Cell::plain(tensors().count().to_string()),
            Cell::plain(entry.storages.len().to_string()),
            Cell::plain(entry.storages.iter().map(|storage| storage.bytes).sum::<ByteSize>().to_string()),
            Cell::plain(tensors().filter_map(|tensor| tensor.logical_bytes).sum::<ByteSize>().to_string()),
            Cell::new(largest, palette.dim),
        ]
    };
    table(columns, entries.iter().map(|entry| row(&entry)), screen)
}

/// The last part of a path.
fn name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

/// The lines of a section: the first of them, and how many there are.
#[derive(Default)]
struct Lines {
    shown: Vec<String>,
    count: usize,
}

impl Lines {
    fn add(&mut self, line: impl FnOnce() -> String) {
        if self.count < FINDINGS {
            self.shown.push(line());
        }
        self.count += 1;
    }
}

/// What deserves a look: storages that are shared, dragged along, repeated.
fn findings(inspected: &Inspected, screen: &Screen) -> String {
    let palette = &screen.palette;
    let folder = inspected.entries.len() > 1;
    let at = |entry: &EntryInspection, storage: &str| match folder {
        true => format!("{}, storage {storage}", name(&entry.file)),
        false => format!("storage {storage}"),
    };
    let [mut shared, mut repeated, mut omitted] = [(); 3].map(|()| Lines::default());
    // The largest come first: the key of each, and its line.
    let (mut dragged, mut dragging): (Vec<(Reverse<ByteSize>, usize, String)>, usize) = (Vec::new(), 0);
    for entry in &inspected.entries {
        for storage in &entry.storages {
            if !storage.shared_by.is_empty() {
                shared.add(|| format!("{}: {}", at(&entry, &storage.id), storage.shared_by.join(", ")));
            }
            if storage.reached_bytes < storage.bytes {
                let key = Reverse(storage.bytes.saturating_sub(storage.reached_bytes));
                dragged.push((key, dragging, dragged_words(&at(&entry, &storage.id), storage)));
                dragging += 1;
                if dragged.len() > 2 * FINDINGS {
                    dragged.sort();
                    dragged.truncate(FINDINGS);
                }
            }
        }
        if let Some(count) = entry.omitted_values {
            omitted.add(|| format!("{}: {count} more values", name(&entry.file)));
        }
    }
    dragged.sort();
    dragged.truncate(FINDINGS);
    let dragged = Lines { shown: dragged.into_iter().map(|(_, _, line)| line).collect(), count: dragging };
    let mut entries = inspected.entries.reader();
    for repeat in &inspected.summary.repeats {
        repeated.add(|| repeat_words(repeat, &mut entries));
    }

    let mut text = String::new();
    let mut section = |label: &str, style, lines: Lines| {
        for (number, line) in lines.shown.iter().enumerate() {
            text.push_str(if number == 0 { "\n" } else { "" });
            text.push_str(&section_line(if number == 0 { label } else { "" }, style, line, screen));
        }
        if let Some(more) = lines.count.checked_sub(FINDINGS).filter(|more| *more > 0) {
            text.push_str(&section_line("", palette.dim, &format!("… and {more} more (--json has them all)"), screen));
        }
    };
    section("shared", palette.dim, shared);
    section("dragged", palette.warn, dragged);
    section("repeated", palette.warn, repeated);
    section("not listed", palette.warn, omitted);
    text
}

/// A line of a section; only the first carries the section's label.
fn section_line(label: &str, style: Style, line: &str, screen: &Screen) -> String {
    // A label of one space keeps the indentation of the lines above.
    labelled(if label.is_empty() { " " } else { label }, style, line, LABEL, screen)
}

fn dragged_words(place: &str, storage: &StorageInspection) -> String {
    format!("{place}: tensors reach {} of {}", storage.reached_bytes, storage.bytes)
}

fn repeat_words(repeat: &Repeat, entries: &mut Reader<'_, EntryInspection>) -> String {
    let proof = if repeat.proven { "equal digests" } else { "equal CRC-32, --digest proves" };
    let file = |copy: &RepeatedStorage| {
        let found = entries.get(copy.entry).map(|entry| name(&entry.file).to_owned());
        format!("{} {}", found.unwrap_or_default(), copy.storage)
    };
    let copies: Vec<_> = repeat.storages.iter().take(3).map(file).collect();
    let more = if repeat.storages.len() > 3 { ", …" } else { "" };
    let count = repeat.storages.len();
    let (bytes, saved) = (repeat.bytes, repeat.saved_bytes);
    format!("{bytes} in {count} places ({proof}), once would save {saved}: {}{more}", copies.join(", "))
}

fn totals(inspected: &Inspected, screen: &Screen) -> String {
    let totals = &inspected.summary.totals;
    let mut parts = Vec::new();
    if inspected.entries.len() != 1 {
        parts.push(counted(totals.entries as usize, "file", "files"));
    }
    parts.push(counted(totals.tensors as usize, "tensor", "tensors"));
    parts.push(counted(totals.storages as usize, "storage", "storages"));
    let (stored, logical) = (totals.stored_bytes, totals.logical_bytes);
    parts.push(if stored == logical { format!("{stored}") } else { format!("{stored} stored, {logical} logical") });
    if totals.repeated_bytes > ByteSize::ZERO {
        parts.push(format!("{} repeated", totals.repeated_bytes));
    }
    if totals.errors > 0 {
        parts.push(counted(totals.errors as usize, "error", "errors"));
    }
    let mut text = format!("\n{}", labelled("total", screen.palette.heading, &parts.join(", "), LABEL, screen));
    let (mut files, mut bytes, mut records, mut without) = (0, ByteSize::ZERO, 0, 0);
    for verified in inspected.entries.iter().filter_map(|entry| entry.verified) {
        files += 1;
        bytes += verified.bytes;
        records += verified.records;
        without += verified.without_crc;
    }
    if files > 0 {
        let mut words = format!("{}, {bytes}", counted(records as usize, "CRC-32 is right", "CRC-32s are right"));
        if without > 0 {
            let _ = write!(words, "; {without} without");
        }
        text.push_str(&labelled("verified", screen.palette.good, &words, LABEL, screen));
    }
    text
}
