//! [`Line`]: a line without terminal codes, and who wrote it.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::figure::Figure;
use super::marks::Words;
use super::sample::{Format, Metric, Position, Sample};
use super::scan::{count, cut, whole};

/// A line.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) position: Position,
    pub(super) text: Cow<'a, str>,
    pub(super) origin: Origin,
}

/// How many bytes at the start of a line may hold prefixes.
const HEAD: usize = 240;

/// Who wrote a line, according to its prefixes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Origin {
    pub(super) rank: Option<u64>,
    pub(super) pid: Option<u64>,
    pub(super) host: Option<String>,
}

impl<'a> Line<'a> {
    /// The line `text` without its end and without terminal codes.
    pub(super) fn new(position: Position, text: &'a str) -> Self {
        let text = without_escapes(text.trim_end_matches(['\n', '\r']));
        let origin = Origin::of(&text);
        Self { position, text, origin }
    }

    /// Adds the process of the line to `sample`, and how often Ray saw the line.
    pub(super) fn sign(&self, sample: &mut Sample) {
        sample.rank = sample.rank.or(self.origin.rank);
        sample.pid = sample.pid.or(self.origin.pid);
        sample.host = sample.host.take().or_else(|| self.origin.host.clone());
        sample.repeated = count(&self.text, "[repeated ");
    }

    /// What the line says if that is one figure.
    pub(super) fn reading(&self, metric: Metric, figure: Option<Figure>, label: Option<String>) -> Option<Sample> {
        let mut sample = Sample::new(Format::Plain, self.position);
        sample.with(metric, figure);
        sample.label = label;
        self.sign(&mut sample);
        sample.tells().then_some(sample)
    }

    /// The text after the prefixes of loggers and of Ray, trimmed.
    pub(super) fn message(&self) -> &str {
        let mut rest = self.text.trim();
        rest = labelled(rest).map_or(rest, |(_, rest)| rest);
        // A prefix is a bracket at the start; a few may follow each other.
        for _ in 0..6 {
            let Some(close) = closing(rest) else { break };
            rest = rest[close + 1..].trim_start_matches([':', ' ']);
        }
        rest.trim()
    }
}

/// The rank that `srun --label` puts before a line of a training, `3: step 500 ..`, and the line. A number before other
/// words may be that of a step.
fn labelled(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start();
    let (rank, rest) = text.split_at(text.bytes().take(4).take_while(u8::is_ascii_digit).count());
    let rest = rest.strip_prefix(": ")?;
    let of_a_step = ["step", "iter", "epoch", "global_step"].iter().any(|word| rest.starts_with(word));
    Some((rank.parse().ok()?, rest)).filter(|_| of_a_step)
}

/// Where the bracket that opens `text` closes; `None` if there is none, or it encloses everything.
fn closing(text: &str) -> Option<usize> {
    let close = match text.as_bytes().first()? {
        b'[' => ']',
        b'(' => ')',
        _ => return None,
    };
    let end = text.char_indices().take(160).find(|&(_, c)| c == close).map(|(at, _)| at)?;
    // `(Worker[rank=3] pid=7)` holds a bracket of its own.
    (end + 1 < text.len()).then_some(end)
}

impl Origin {
    fn of(text: &str) -> Self {
        // Ray's `(Worker[rank=3] pid=..)`, torchelastic's `[rank3]`, Megatron's `[Rank 3]`, Lightning's `rank: 3`.
        static NAMES: LazyLock<Words> =
            LazyLock::new(|| Words::list(&["[rank=", "[rank", "[Rank ", "[RANK ", "rank=", "[default", "pid=", "ip="]));
        let head = cut(text, HEAD);
        let labelled = labelled(head).map(|(rank, _)| rank);
        if labelled.is_some() || !head.bytes().any(|byte| matches!(byte, b'[' | b'=')) {
            return Self { rank: labelled, ..Self::default() };
        }
        let first = NAMES.first(head);
        let rest = |at: usize| first[at].map(|(_, end)| &head[end..]);
        let rank = (0..6).filter_map(rest).find_map(whole);
        let host = rest(7).map(|rest| rest.split([')', ',', ' ']).next().unwrap_or(""));
        Self { rank, pid: rest(6).and_then(whole), host: host.filter(|host| !host.is_empty()).map(str::to_owned) }
    }
}

/// `text` without control sequences (ECMA-48 CSI) and without control characters, except tabs.
fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| byte < b' ' && byte != b'\t') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c < ' ' && c != '\t') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if text.as_bytes()[text.len() - rest.len() - 1] == 0x1b && rest.starts_with('[') {
            let end = rest[1..].find(|c: char| ('@'..='~').contains(&c));
            rest = end.map_or("", |end| &rest[end + 2..]);
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line<'_> {
        Line::new(Position::default(), text)
    }

    #[test]
    fn prefixes_tell_who_wrote_and_go() {
        let teed = line("[default3]:step 1000 mem 23.02 GiB");
        assert_eq!((teed.origin.rank, teed.message()), (Some(3), "step 1000 mem 23.02 GiB"));
        let ray = line(
            "\x1b[36m(MegatronPolicyWorker[rank=5] pid=811, ip=10.0.0.7)\x1b[0m GPU Memory x \x1b[32m[repeated 7x across cluster]\x1b[0m",
        );
        assert_eq!(ray.origin, Origin { rank: Some(5), pid: Some(811), host: Some("10.0.0.7".to_owned()) });
        assert!(ray.text.starts_with("(MegatronPolicyWorker"), "{}", ray.text);
        let srun = line(" 3: step 500 loss 2.1");
        assert_eq!((srun.origin.rank, srun.message()), (Some(3), "step 500 loss 2.1"));
        assert_eq!(line("3: rss 500 MB").origin.rank, None);
        let torchelastic = line("[rank3]: hello");
        assert_eq!((torchelastic.origin.rank, torchelastic.message()), (Some(3), "hello"));
        let logger = line("[2025-01-02 10:00:00,123] [INFO] [utils.py:782:see_memory_usage] After init");
        assert_eq!((logger.message(), logger.origin.rank), ("After init", None));
        assert_eq!(line("(all of it)").message(), "(all of it)");
    }

    #[test]
    fn a_carriage_return_and_an_escape_that_is_cut_are_no_text() {
        assert_eq!(line("a\x1b[").text, "a");
        assert_eq!(line("é\r\n").text, "é");
        assert_eq!(line("50%|\u{8}x").text, "50%|x");
    }
}
