//! [`DiagnosisText`]: what the diagnosis of a command found, in words, for documents other than the terminal's.

use std::fmt::Write;

use super::page::{Body, escaped, prose};
use super::terminal::{ADVICE, EVIDENCE, SHOWN, advice_lines, groups, numbers, what};
use crate::record::Record;
use plimsoll_diagnose::{Event, Findings};

/// The text for one group of events that differ only in where they happened.
pub(super) struct DiagnosisText {
    /// The verdict.
    pub(super) verdict: String,
    /// What ran out, and where.
    pub(super) what: String,
    pub(super) explanation: String,
    /// What to do first.
    pub(super) advice: Vec<String>,
    /// Further advice.
    pub(super) more: Vec<String>,
    /// The figures on one line; empty if there are none.
    pub(super) numbers: String,
    /// Lines of evidence with their places in the input.
    pub(super) evidence: Vec<String>,
}

impl DiagnosisText {
    /// The first groups of events in `findings`.
    pub(super) fn all(findings: &Findings) -> Vec<Self> {
        groups(&findings.events).iter().take(SHOWN).map(|group| Self::of(group)).collect()
    }

    fn of(group: &[&Event]) -> Self {
        let event = group[0];
        let line =
            |evidence: &plimsoll_diagnose::Evidence| format!("{}:{}: {}", evidence.file, evidence.line, evidence.text);
        let mut advice: Vec<String> = advice_lines(event).collect();
        // Advice whose estimated saving suffices ends the list.
        let estimated = event.advice.iter().any(|advice| advice.fits.is_some());
        let more = if estimated { Vec::new() } else { advice.split_off(advice.len().min(ADVICE)) };
        Self {
            verdict: event.verdict.to_string(),
            what: what(group),
            explanation: event.explanation.clone(),
            advice,
            more,
            numbers: numbers(&event.numbers),
            evidence: event.evidence.iter().take(EVIDENCE).map(line).collect(),
        }
    }

    /// Everything as plain text.
    pub(super) fn text(&self) -> String {
        let Self { verdict, what, explanation, advice, more, numbers, evidence } = self;
        let mut text = format!("{verdict}: {what}\n{explanation}\n");
        for (at, line) in advice.iter().chain(more).enumerate() {
            let _ = writeln!(text, "{}. {line}", at + 1);
        }
        if !numbers.is_empty() {
            let _ = writeln!(text, "numbers: {numbers}");
        }
        for line in evidence {
            let _ = writeln!(text, "{line}");
        }
        text
    }
}

/// Writes the diagnosis of `record` to its page.
pub(super) fn html(out: &mut Body, record: &Record) {
    let Some(findings) = &record.diagnosis else { return };
    out.push_str("<h2>Diagnosis</h2>\n");
    if findings.events.is_empty() {
        out.push_str("<p class=\"soft\">No memory event in the command's output or exit.</p>\n");
    }
    for found in DiagnosisText::all(findings) {
        let class = if findings.failed() { "bad" } else { "warn" };
        let mut text = format!(
            "<p><b class=\"{class}\">{}</b> {}</p>\n<p>{}</p>\n",
            escaped(&found.verdict),
            escaped(&found.what),
            prose(&found.explanation)
        );
        if !found.advice.is_empty() {
            text.push_str("<ol>\n");
            found.advice.iter().for_each(|line| text.push_str(&format!("<li>{}</li>\n", prose(line))));
            text.push_str("</ol>\n");
        }
        if !found.more.is_empty() {
            let (count, from) = (found.more.len(), found.advice.len() + 1);
            let _ = write!(text, "<details><summary>{count} more</summary>\n<ol start=\"{from}\">\n");
            found.more.iter().for_each(|line| text.push_str(&format!("<li>{}</li>\n", prose(line))));
            text.push_str("</ol>\n</details>\n");
        }
        if !found.numbers.is_empty() {
            let _ = writeln!(text, "<p class=\"soft\">{}</p>", escaped(&found.numbers));
        }
        found.evidence.iter().for_each(|line| text.push_str(&format!("<p><code>{}</code></p>\n", escaped(line))));
        out.push_str(&text);
    }
}

#[cfg(test)]
mod tests {
    use crate::record::sample::{self, assert_snapshot};
    use crate::report::{html, junit, markdown, terminal};
    use plimsoll_diagnose::Analysis;
    use plimsoll_memory::text::{Palette, Screen};

    fn diagnosed() -> crate::record::Record {
        let mut analysis = Analysis::default();
        analysis.begin("output");
        analysis.push(
            b"  loss.backward()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total \
              capacity of 79.15 GiB of which 1.20 GiB is free. Process 7 has 77.90 GiB memory in use. Of the allocated memory \
              70.10 GiB is allocated by PyTorch, and 7.10 GiB is reserved by PyTorch but unallocated.\n",
        );
        analysis.end();
        let mut record = sample::command();
        record.diagnosis = Some(Box::new(analysis.findings(None)));
        record
    }

    #[test]
    fn pages_and_comments_show_three_pieces_of_advice_and_fold_the_rest() {
        let mut record = diagnosed();
        let event = &mut record.diagnosis.as_mut().unwrap().events[0];
        let one = event.advice[0].clone();
        event.advice = (1..=5)
            .map(|number| plimsoll_diagnose::Advice { what: format!("advice {number}"), ..one.clone() })
            .collect();
        for (document, fold) in [
            (html(std::slice::from_ref(&record)), "<details><summary>2 more</summary>"),
            (markdown(std::slice::from_ref(&record)), "<details><summary>2 more</summary>"),
        ] {
            let at = |words: &str| document.find(words).unwrap_or_else(|| panic!("{words}: {document}"));
            assert!(at("advice 3") < at(fold) && at(fold) < at("advice 4") && at("advice 4") < at("advice 5"));
        }
    }

    #[test]
    fn every_document_says_the_cause_and_what_to_do() {
        let record = diagnosed();
        let shown = terminal::record(&record, None, &Screen::new(110, Palette::plain()));
        let from = shown.find(" ✗ fragmentation").unwrap_or_else(|| panic!("{shown}"));
        assert_snapshot("terminal_record_diagnosis", &shown[from..]);
        let (page, xml) = (html(std::slice::from_ref(&record)), junit(std::slice::from_ref(&record)));
        let text = markdown(std::slice::from_ref(&record));
        for (document, name) in [(&page, "page"), (&xml, "JUnit"), (&text, "Markdown")] {
            assert!(document.contains("fragmentation"), "{name}: {document}");
            assert!(document.contains("expandable") && document.contains("output:2"), "{name}: {document}");
        }
        let mut quiet = record;
        quiet.diagnosis = Some(Box::new(Analysis::default().findings(None)));
        assert!(terminal::record(&quiet, None, &Screen::new(110, Palette::plain())).contains("no memory event"));
        assert!(!junit(std::slice::from_ref(&quiet)).contains("diagnosis"));
    }
}
