//! [`Columns`]: tables whose rows have numbers alone, each known by its header: those of nvidia-smi (comma-separated
//! values, `dmon`, `pmon` and `-q`), and those of training loops (`Epoch  GPU_mem  box_loss`).

use super::line::Line;
use super::plain::of_bytes;
use super::sample::{Format, Metric, Sample};
use super::scan::{number, whole};

/// Rows of numbers without a unit follow each other, or their header, within this many lines.
const NEAR: u64 = 2;
/// A block of `-q` has at most this many lines.
const BLOCK: u64 = 8;
/// The most columns of a table.
const MOST: usize = 40;
const MIB: u64 = 1 << 20;

/// What a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Device,
    Process,
    Step,
    Figure(Metric),
    Other,
}

#[derive(Debug)]
struct Header {
    columns: Vec<Column>,
    /// Whether commas separate the columns; otherwise blanks do.
    commas: bool,
    /// Whether the cells of amounts have a unit.
    units: bool,
    /// The last line of the table.
    last: u64,
}

/// A block of `nvidia-smi -q`: `FB Memory Usage`, or another kind of memory.
#[derive(Debug)]
struct Block {
    begins: u64,
    sample: Option<Sample>,
}

/// The tables of one process.
#[derive(Debug, Default)]
pub(super) struct Columns {
    header: Option<Header>,
    block: Option<Block>,
    /// How many GPUs a report of `-q` has shown; `None` outside such a report.
    gpus: Option<u64>,
}

impl Columns {
    /// Takes `line` if it belongs to a table.
    pub(super) fn take(&mut self, line: &Line<'_>, samples: &mut Vec<Sample>) -> bool {
        let text = line.text.trim();
        if let Some(header) = header(text, line.position.line) {
            self.header = Some(header);
            return true;
        }
        if text.starts_with("# Idx") && self.header.is_some() {
            return true;
        }
        self.in_block(line, text, samples) || self.row(line, text, samples)
    }

    fn row(&mut self, line: &Line<'_>, text: &str, samples: &mut Vec<Sample>) -> bool {
        let Some(header) = &mut self.header else { return false };
        let fields: Vec<&str> = match header.commas {
            true => text.split(',').map(str::trim).take(MOST + 1).collect(),
            false => text.split_ascii_whitespace().take(MOST + 1).collect(),
        };
        let fits =
            if header.commas { fields.len() == header.columns.len() } else { fields.len() >= header.columns.len() };
        if !fits {
            return false;
        }
        let near = line.position.line.saturating_sub(header.last) <= NEAR;
        if header.units && !near {
            return false;
        }
        let mut sample = Sample::new(Format::Plain, line.position);
        for (column, field) in header.columns.iter().zip(&fields) {
            match column {
                Column::Other => {}
                // A cell without a value.
                _ if matches!(*field, "-" | "[N/A]" | "N/A" | "[Not Supported]") => {}
                Column::Device | Column::Process => {
                    let Some(number) = whole(field).filter(|_| field.bytes().all(|byte| byte.is_ascii_digit())) else {
                        return false;
                    };
                    match column {
                        Column::Device => sample.device = Some(number),
                        _ => sample.pid = Some(number),
                    }
                }
                Column::Step => sample.step = whole(field),
                Column::Figure(metric) if header.units => {
                    let amount = number(field).zip(number(field).and_then(|amount| of_bytes(amount.rest)));
                    let Some((amount, (size, rest))) = amount.filter(|(amount, _)| amount.value >= 0.0) else {
                        return false;
                    };
                    if !rest.is_empty() {
                        return false;
                    }
                    // Without a device, a loop prints nothing but zeros.
                    if amount.value > 0.0 {
                        sample.with(*metric, amount.figure(size));
                    }
                }
                Column::Figure(metric) => {
                    let Some(amount) = number(field) else { return false };
                    let unit = amount.rest.trim();
                    if !(unit == "MiB" || (unit.is_empty() && near)) {
                        return false;
                    }
                    sample.with(*metric, amount.figure(MIB));
                }
            }
        }
        if !sample.tells() {
            return false;
        }
        header.last = line.position.line;
        line.sign(&mut sample);
        samples.push(sample);
        true
    }

    fn in_block(&mut self, line: &Line<'_>, text: &str, samples: &mut Vec<Sample>) -> bool {
        if text.starts_with("Attached GPUs") {
            (self.gpus, self.block) = (Some(0), None);
            return true;
        }
        if text.ends_with("Memory Usage") && text.len() < 60 {
            let own = text == "FB Memory Usage";
            let mut sample = Sample::new(Format::Plain, line.position);
            if own {
                sample.device = self.gpus;
                self.gpus = self.gpus.map(|gpus| gpus + 1);
            }
            self.block = Some(Block { begins: line.position.line, sample: own.then_some(sample) });
            return true;
        }
        let Some(block) = &mut self.block else { return false };
        let old = line.position.line.saturating_sub(block.begins) > BLOCK;
        let Some((key, value)) = text.split_once(':').filter(|_| !old) else {
            self.block = None;
            return false;
        };
        let metric = match key.trim() {
            "Total" => Some(Metric::DeviceTotal),
            "Used" => Some(Metric::DeviceUsed),
            "Free" => Some(Metric::DeviceFree),
            // The driver's own, not PyTorch's.
            "Reserved" => None,
            _ => {
                self.block = None;
                return false;
            }
        };
        if let Some(sample) = &mut block.sample
            && let Some(metric) = metric
        {
            let amount = number(value).filter(|amount| amount.rest.trim() == "MiB");
            sample.with(metric, amount.and_then(|amount| amount.figure(MIB)));
        }
        if metric == Some(Metric::DeviceFree) {
            let done = self.block.take().and_then(|block| block.sample).filter(Sample::tells);
            samples.extend(done.map(|mut sample| {
                line.sign(&mut sample);
                sample
            }));
        }
        true
    }
}

/// The header that `text` is, at line `last`.
fn header(text: &str, last: u64) -> Option<Header> {
    if let Some(names) = text.strip_prefix('#') {
        let names: Vec<&str> = names.split_ascii_whitespace().collect();
        let is = names.first() == Some(&"gpu") && names.contains(&"fb") && names.len() <= MOST;
        let column = |name: &&str| match *name {
            "gpu" => Column::Device,
            "pid" => Column::Process,
            "fb" => Column::Figure(Metric::DeviceUsed),
            _ => Column::Other,
        };
        return is.then(|| Header { columns: names.iter().map(column).collect(), commas: false, units: false, last });
    }
    if is_loop_header(text) {
        let column = |name: &str| match name.to_ascii_lowercase().as_str() {
            "epoch" | "step" | "iter" | "iteration" => Column::Step,
            name if is_gpu_memory(name) => Column::Figure(Metric::Reserved),
            _ => Column::Other,
        };
        let columns = text.split_ascii_whitespace().map(column).collect();
        return Some(Header { columns, commas: false, units: true, last });
    }
    if !is_csv_header(text) {
        return None;
    }
    let column = |name: &str| match name.trim().split([' ', '[']).next().unwrap_or_default() {
        "index" => Column::Device,
        "pid" => Column::Process,
        "memory.used" | "used_memory" | "used_gpu_memory" => Column::Figure(Metric::DeviceUsed),
        "memory.total" => Column::Figure(Metric::DeviceTotal),
        "memory.free" => Column::Figure(Metric::DeviceFree),
        _ => Column::Other,
    };
    let columns: Vec<Column> = text.split(',').take(MOST).map(column).collect();
    Some(Header { columns, commas: true, units: false, last })
}

fn is_csv_header(text: &str) -> bool {
    let names = ["memory.used", "memory.free", "used_memory [", "used_gpu_memory"];
    // `memory.used=4200 MiB` is a reading.
    let number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    names.iter().any(|name| text.contains(name))
        && !text.contains("--query")
        && !text.contains("nvidia-smi")
        && !text.split([' ', '=', ':']).any(number)
}

/// Whether `text` names the columns of a training loop, one of them the memory of the GPU.
fn is_loop_header(text: &str) -> bool {
    let mut names = text.split_ascii_whitespace();
    let first = names.next().unwrap_or_default();
    let begins = ["epoch", "step", "iter", "iteration"].iter().any(|name| first.eq_ignore_ascii_case(name));
    let name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'/' | b'.'));
    begins
        && text.len() < 300
        && (2..MOST).contains(&names.clone().count())
        && names.clone().all(name)
        && names.any(|name| is_gpu_memory(&name.to_ascii_lowercase()))
}

/// Whether the name of a column, in lower case, is that of the memory of a GPU.
fn is_gpu_memory(name: &str) -> bool {
    ["gpu_mem", "gpu_memory", "gpumem", "vram", "cuda_mem", "gpu_ram"].contains(&name)
}

/// Whether `line` is the header of a table whose rows contain no text to search for.
pub(crate) fn heads_rows(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|text| {
        let text = text.trim();
        text.starts_with("# gpu ") || is_csv_header(text) || is_loop_header(text)
    })
}

/// Whether `line` looks like a row, or a repeated header, of such a table.
pub(crate) fn is_row(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.len() < 300 && line.first().is_some_and(|first| first.is_ascii_digit() || *first == b'#')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{Position, Reader};

    /// Device, process, and the amounts in MiB that are used and in total.
    type Row = (Option<u64>, Option<u64>, u64, Option<u64>);

    fn rows(text: &str) -> Vec<Row> {
        let (mut reader, mut samples, mut offset) = (Reader::default(), Vec::new(), 0);
        for (index, line) in text.split_inclusive('\n').enumerate() {
            reader.line(Position { line: index as u64 + 1, offset }, line, &mut samples);
            offset += line.len() as u64;
        }
        let mib = |sample: &Sample, metric| sample.figure(metric).map(|figure| figure.bytes.bytes() / MIB);
        let row = |sample: &Sample| {
            let used = mib(sample, Metric::DeviceUsed).unwrap();
            (sample.device, sample.pid, used, mib(sample, Metric::DeviceTotal))
        };
        samples.iter().map(row).collect()
    }

    #[test]
    fn tables_of_nvidia_smi_are_read_by_their_headers() {
        let csv = "timestamp, index, memory.used [MiB], memory.total [MiB]\n2025/03/01 10:00:00.123, 0, 3000 MiB, 24576 MiB\nnoise\n\
            noise\nnoise\n2025/03/01 10:00:00.223, 1, 21000 MiB, 24576 MiB\n";
        assert_eq!(rows(csv), [(Some(0), None, 3000, Some(24576)), (Some(1), None, 21000, Some(24576))]);
        let free = "index, memory.used [MiB], memory.free [MiB]\n1, 5000 MiB, 19576 MiB\n";
        assert_eq!(rows(free), [(Some(1), None, 5000, None)]);
        let reversed = "memory.total [MiB], memory.used [MiB]\n24576, 3000\n24576, 3500\n";
        assert_eq!(rows(reversed), [(None, None, 3000, Some(24576)), (None, None, 3500, Some(24576))]);
        // Numbers that do not follow the table belong to something else.
        assert_eq!(rows("memory.used [MiB]\n3000\nepoch\nloss\nlr\n17\n").len(), 1);
        let processes = "pid, process_name, used_gpu_memory [MiB]\n711, python, 3000 MiB\n712, python, [N/A]\n";
        assert_eq!(rows(processes), [(None, Some(711), 3000, None)]);
        let dmon = "# gpu    pwr     fb   bar1\n# Idx      W     MB     MB\n    0     56   3000      5\n    1      -    100      5\n";
        assert_eq!(rows(dmon), [(Some(0), None, 3000, None), (Some(1), None, 100, None)]);
        let pmon = "# gpu        pid  type    fb    command\n# Idx          #   C/G    MB    name\n    0      12345     C   3000   python\n";
        assert_eq!(rows(pmon), [(Some(0), Some(12345), 3000, None)]);
        let gpu = |used: u64| {
            format!(
                "GPU 00000000:07:00.0\n    FB Memory Usage\n        Total                             : 24576 MiB\n        Reserved                          : 300 MiB\n        Used                              : {used} MiB\n        Free                              : 100 MiB\n    BAR1 Memory Usage\n        Total                             : 256 MiB\n        Used                              : 5 MiB\n        Free                              : 251 MiB\n"
            )
        };
        let query = format!("Attached GPUs                             : 2\n{}{}", gpu(3000), gpu(9000));
        assert_eq!(rows(&query), [(Some(0), None, 3000, Some(24576)), (Some(1), None, 9000, Some(24576))]);
        assert_eq!(rows("nvidia-smi --query-gpu=memory.used --format=csv\n1\n"), []);
    }

    #[test]
    fn tables_of_training_loops_are_read_by_their_headers() {
        let read = |text: &str| {
            let (mut reader, mut samples, mut offset) = (Reader::default(), Vec::new(), 0);
            for (index, line) in text.split_inclusive('\n').enumerate() {
                reader.line(Position { line: index as u64 + 1, offset }, line, &mut samples);
                offset += line.len() as u64;
            }
            let gib = |sample: &Sample| {
                sample.figure(Metric::Reserved).map(|figure| figure.bytes.bytes() as f64 / f64::from(1 << 30))
            };
            samples.iter().map(|sample| (sample.step, gib(sample).unwrap())).collect::<Vec<_>>()
        };
        let head = "      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size\n";
        let bar = "100%|##########| 8/8 [00:01<00:00,  6.1it/s]";
        let row = |epoch: u64, memory: &str| {
            format!("      {epoch}/100      {memory}     1.21      2.75        18        640: {bar}\n")
        };
        let text = format!("{head}{}\n{head}{}", row(1, "3.25G"), row(2, "3.5G"));
        assert_eq!(read(&text), [(Some(1), 3.25), (Some(2), 3.5)]);
        let old = "     Epoch   gpu_mem       box       obj       cls    labels  img_size\n       0/2     1.75G   0.04242   0.06371   0.01702        31       640: 1it\n";
        assert_eq!(read(old), [(Some(0), 1.75)]);
        let other = "iter  vram  loss\n10  512M  0.5\n";
        assert_eq!(read(other), [(Some(10), 0.5)]);
        // A loop on the CPU, rows of another table, and a header alone.
        for text in [format!("{head}{}", row(1, "0G")), format!("{head}a\nb\nc\n{}", row(1, "3.25G")), head.to_owned()]
        {
            assert_eq!(read(&text), [], "{text}");
        }
        for text in ["epoch 3 loss 0.5 vram\n1 3.2G\n", "Epoch  loss\n1/2  3.2G\n", "the epoch of vram\n1 2G 3 4\n"] {
            assert_eq!(read(text), [], "{text}");
        }
    }
}
