//! Properties that every format keeps for any record: text from outside stays text.

use std::collections::BTreeSet;

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};

use super::outcome::Judged;
use super::terminal::{Palette, Screen, clean};
use super::*;
use crate::gate::GateReport;
use crate::record::sample::{self, assert_snapshot};
use crate::record::{Record, RepeatedRun, Semantics, Verdict, VerdictStatus};

/// A command that ran three times, one that failed, and a check of a capture.
fn records() -> Vec<Record> {
    let mut repeated = sample::command();
    let end = repeated.end.clone().unwrap();
    let run = |at: u64| RepeatedRun {
        started_ns: at * 300_000_000,
        wall_ns: 240_000_000 + at * 1_000_000,
        end: end.clone(),
        phases: repeated.phases.iter().map(|phase| bare(phase, at)).collect(),
    };
    repeated.runs = (0..3).map(run).collect();
    vec![repeated, sample::failing()]
}

/// A phase as a repeat keeps it, with its own peak.
fn bare(phase: &plimsoll_memory::meter::PhaseReadings, at: u64) -> plimsoll_memory::meter::PhaseReadings {
    let mut phase = plimsoll_memory::meter::PhaseReadings {
        timeline: Vec::new(),
        processes: Vec::new(),
        mappings: Vec::new(),
        ..phase.clone()
    };
    for reading in phase.readings.values_mut() {
        reading.bytes = plimsoll_memory::ByteSize::new(reading.bytes.bytes() + at * (1 << 20));
    }
    phase
}

#[test]
fn every_format_of_a_judgement() {
    let report = crate::gate::sample_gate();
    assert_snapshot("report_gate_junit", &gate::junit(&report));
    assert_snapshot("report_gate_annotations", &gate::annotations(&report));
    assert_snapshot("report_gate_openmetrics", &gate::openmetrics(&report, &[]));
    let issues: serde_json::Value = serde_json::from_str(&gate::gitlab(&report)).unwrap();
    assert_eq!(issues.as_array().unwrap().len(), gate::annotations(&report).lines().count());
    let page = gate::html(&report, &[]);
    assert_snapshot("report_gate_html", page::body(&page));
}

#[test]
fn every_format_as_other_tools_read_it() {
    let records = records();
    assert_snapshot("report_junit", &junit(&records));
    assert_snapshot("report_annotations", &annotations(&records));
    assert_snapshot("report_gitlab", &gitlab(&records));
    assert_snapshot("report_bencher", &bencher(&records[..1]));
    assert_snapshot("report_github_benchmark", &github_benchmark(&records[..1]));
    assert_snapshot("report_csv", &csv(&records[..1]));
    assert_snapshot("report_openmetrics", &openmetrics(&records));
}

/// Names and messages that contain markup of one of the formats.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = [
        "<script>alert(1)</script>",
        "</script>",
        "]]>",
        "<![CDATA[",
        "&lt;",
        "&",
        "\"",
        "'",
        "`",
        "``",
        "|",
        "\\",
        "*",
        "_",
        "[a](http://b)",
        "![x](y)",
        "@all",
        "#1",
        "\n",
        "\r\n",
        "\t",
        "\0",
        "\u{1b}[31m",
        "\u{202e}",
        "\u{fffe}",
        "\u{ffff}",
        "%0A::error::",
        "::error title=x::y",
        "%",
        ",",
        ":",
        "=cmd|' /C calc'!A0",
        "+1",
        "-1",
        "@SUM(A1)",
        "# EOF\n",
        "\"}",
        "{",
        "}",
        "$x$",
        "~~",
        "é",
        "日本",
        " ",
        "a",
        "peak",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1..5)
        .prop_map(|parts| parts.concat())
}

/// A record in which every text from outside is one of `words`.
fn poisoned(words: &[String]) -> Record {
    let mut words = words.iter().cycle().cloned();
    let mut next = || words.next().expect("there are words");
    let mut record = sample::failing();
    let entries = &mut sample::capture(&mut record).entries;
    let fresh: Vec<String> = entries.iter().map(|_| next()).collect();
    entries.all_mut().iter_mut().zip(&fresh).for_each(|(entry, name)| entry.name.clone_from(name));
    record.results.entries.all_mut().iter_mut().zip(fresh).for_each(|(result, name)| result.name = name);
    sample::capture(&mut record).operator = next();
    for phase in &mut record.phases {
        phase.phase = next();
        phase.processes[0].name = next();
        phase.mappings[0].name = next();
        phase.unavailable.values_mut().for_each(|why| *why = next());
    }
    for verdict in &mut record.verdicts {
        verdict.message = next();
        if verdict.ceiling.is_none() {
            verdict.subject = next();
        }
    }
    record.command = vec![next(), next()];
    // Versions are shown in order of their names.
    record.environment.versions.insert(format!("z{}", next()), next());
    record
}

/// The lines of a text in order of their contents: some are shown in order of the texts from outside.
fn sorted_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// A judgement in which every text from outside is one of `words`.
fn poisoned_gate(words: &[String]) -> GateReport {
    let mut words = words.iter().cycle().cloned();
    let mut next = || words.next().expect("there are words");
    let mut report = crate::gate::sample_gate();
    report.baseline = Some(next());
    report.message = next();
    for subject in &mut report.subjects {
        subject.subject.label = next();
        subject.baseline.iter_mut().for_each(|baseline| baseline.started = next());
        subject.failure.iter_mut().chain(&mut subject.note).for_each(|note| *note = next());
        subject.verdicts.iter_mut().for_each(|verdict| verdict.message = next());
        subject.conditions.iter_mut().for_each(|change| (change.before, change.after) = (next(), next()));
        for (at, figure) in subject.figures.iter_mut().enumerate() {
            figure.name = format!("{}{at}", next());
            figure.note.iter_mut().for_each(|note| *note = next());
            figure.comparison.iter_mut().for_each(|comparison| comparison.message = next());
        }
    }
    report
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn hostile_names_stay_names(words in prop::collection::vec(hostile(), 1..12)) {
        let mut command = sample::repeated();
        if let Semantics::Command(semantics) = &mut command.semantics {
            semantics.label.clone_from(&words[0]);
        }
        let records = [poisoned(&words), command];
        let judged = Judged::records(&records);
        check_junit(&junit(&records), &judged)?;
        check_annotations(&annotations(&records), &judged)?;
        check_issues(&gitlab(&records), &judged)?;
        check_figures(&records)?;
        check_csv(&records)?;
        check_openmetrics(&openmetrics(&records))?;
        check_markdown(&markdown(&records))?;
        check_html(&html(&records))?;
        let cleaned = poisoned(&words.iter().map(|word| clean(word)).collect::<Vec<_>>());
        for screen in [Screen::new(10_000, Palette::plain()), Screen::new(60, Palette::colour())] {
            let shown = [&records[0], &cleaned].map(|record| sorted_lines(&terminal::record(record, None, &screen)));
            prop_assert_eq!(&shown[0], &shown[1], "the terminal's own commands and lines alone");
        }
    }

    #[test]
    fn hostile_names_stay_names_in_a_judgement(words in prop::collection::vec(hostile(), 1..12)) {
        let (report, records) = (poisoned_gate(&words), [poisoned(&words)]);
        let judged = Judged::gate(&report);
        check_junit(&gate::junit(&report), &judged)?;
        check_annotations(&gate::annotations(&report), &judged)?;
        check_issues(&gate::gitlab(&report), &judged)?;
        check_openmetrics(&gate::openmetrics(&report, &records))?;
        check_markdown(&gate::markdown(&report))?;
        check_html(&gate::html(&report, &records))?;
        let cleaned = poisoned_gate(&words.iter().map(|word| clean(word)).collect::<Vec<_>>());
        for screen in [Screen::new(10_000, Palette::plain()), Screen::new(60, Palette::colour())] {
            let shown = [&report, &cleaned].map(|report| sorted_lines(&terminal::gate(report, &screen)));
            prop_assert_eq!(&shown[0], &shown[1], "the terminal's own commands and lines alone");
        }
    }
}

/// Checks that the XML is well-formed and uses only the elements and attributes of Jenkins' schema, in their places.
fn check_junit(text: &str, judged: &[Judged<'_>]) -> Result<(), TestCaseError> {
    let document = roxmltree::Document::parse(text).map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?;
    let root = document.root_element();
    prop_assert_eq!(root.tag_name().name(), "testsuites");
    let number =
        |node: roxmltree::Node<'_, '_>, name: &str| node.attribute(name).and_then(|text| text.parse::<f64>().ok());
    let mut of_root = 0.0;
    for (suite, judged) in root.children().filter(roxmltree::Node::is_element).zip(judged) {
        prop_assert_eq!(suite.tag_name().name(), "testsuite");
        let known = ["name", "tests", "failures", "errors", "skipped", "time", "timestamp"];
        // A subject of several records has no time of its own.
        let known = if judged.record.is_some() { &known[..] } else { &known[..5] };
        prop_assert!(known.iter().all(|name| suite.has_attribute(*name)) && suite.attributes().count() == known.len());
        if let Some(stamp) = suite.attribute("timestamp") {
            prop_assert!(stamp.len() == 19 && &stamp[10..11] == "T", "{}", stamp);
        }
        let cases: Vec<_> = suite.children().filter(roxmltree::Node::is_element).collect();
        let found = &judged.findings;
        prop_assert_eq!(cases.len(), found.len());
        let (mut failures, mut errors) = (0.0, 0.0);
        for (case, finding) in cases.iter().zip(found) {
            prop_assert_eq!(case.tag_name().name(), "testcase");
            prop_assert_eq!(case.attribute("name"), Some(&*clean(&finding.subject)));
            prop_assert_eq!(case.attribute("classname"), suite.attribute("name"));
            prop_assert_eq!(case.attributes().count(), 2);
            let below: Vec<_> = case.children().filter(roxmltree::Node::is_element).collect();
            prop_assert_eq!(below.len(), usize::from(finding.status != VerdictStatus::Pass));
            for problem in below {
                let names: BTreeSet<_> = problem.attributes().map(|attribute| attribute.name()).collect();
                prop_assert_eq!(names, BTreeSet::from(["message", "type"]));
                prop_assert_eq!(problem.attribute("message"), Some(&*clean(&finding.message)));
                match problem.tag_name().name() {
                    "failure" => failures += 1.0,
                    "error" => errors += 1.0,
                    other => prop_assert!(false, "{other}"),
                }
            }
        }
        prop_assert_eq!(number(suite, "tests"), Some(cases.len() as f64));
        prop_assert_eq!((number(suite, "failures"), number(suite, "errors")), (Some(failures), Some(errors)));
        of_root += cases.len() as f64;
    }
    prop_assert_eq!(number(root, "tests"), Some(of_root));
    Ok(())
}

/// Checks that there is one line per finding and that no text starts another command.
fn check_annotations(text: &str, judged: &[Judged<'_>]) -> Result<(), TestCaseError> {
    let bad =
        judged.iter().flat_map(|judged| &judged.findings).filter(|found| found.status != VerdictStatus::Pass).count();
    prop_assert_eq!(text.lines().count(), bad);
    for line in text.lines() {
        let rest = line.strip_prefix("::error title=").or_else(|| line.strip_prefix("::warning title="));
        let rest = rest.ok_or_else(|| TestCaseError::fail(line.to_owned()))?;
        let (title, message) = rest.split_once("::").ok_or_else(|| TestCaseError::fail(line.to_owned()))?;
        prop_assert!(!title.contains([':', ',']) && !message.is_empty(), "{}", line);
        // The runner knows every escape.
        for (at, _) in rest.match_indices('%') {
            prop_assert!(["%25", "%3A", "%2C"].iter().any(|escape| rest[at..].starts_with(escape)), "{}", rest);
        }
    }
    Ok(())
}

fn parsed(text: &str) -> Result<serde_json::Value, TestCaseError> {
    serde_json::from_str(text).map_err(|error| TestCaseError::fail(error.to_string()))
}

fn check_issues(text: &str, judged: &[Judged<'_>]) -> Result<(), TestCaseError> {
    let issues = parsed(text)?;
    let prints: BTreeSet<_> = issues.as_array().unwrap().iter().map(|issue| issue["fingerprint"].to_string()).collect();
    let subjects = judged.iter().flat_map(|judged| {
        let bad = judged.findings.iter().filter(|found| found.status != VerdictStatus::Pass);
        bad.map(|found| (&judged.name, &found.subject))
    });
    prop_assert_eq!(prints.len(), subjects.collect::<BTreeSet<_>>().len());
    Ok(())
}

fn check_figures(records: &[Record]) -> Result<(), TestCaseError> {
    for benchmark in parsed(&bencher(records))?.as_object().unwrap().values() {
        for measure in benchmark.as_object().unwrap().values() {
            prop_assert!(measure["value"].is_f64());
        }
    }
    for benchmark in parsed(&github_benchmark(records))?.as_array().unwrap() {
        prop_assert!(benchmark["name"].is_string() && benchmark["unit"].is_string() && benchmark["value"].is_f64());
    }
    Ok(())
}

/// Checks that all rows have the same length and that a spreadsheet evaluates no cell.
fn check_csv(records: &[Record]) -> Result<(), TestCaseError> {
    let text = csv(records);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let mut rows = 0;
    for row in reader.records() {
        let row = row.map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?;
        prop_assert!(row.iter().all(|cell| !cell.trim_start().starts_with(['=', '+', '-', '@'])), "{:?}", row);
        prop_assert!(row[9].parse::<f64>().is_ok(), "{:?}", row);
        rows += 1;
    }
    prop_assert_eq!(
        rows,
        records.iter().flat_map(crate::record::figures).map(|figure| figure.values.len()).sum::<usize>()
    );
    Ok(())
}

/// Checks the grammar of OpenMetrics line by line, and that no sample occurs twice.
fn check_openmetrics(text: &str) -> Result<(), TestCaseError> {
    prop_assert!(text.ends_with("\n# EOF\n") && text.matches("\n# EOF\n").count() == 1, "{}", text);
    let label = r#"[a-z_]+="(?:[^"\\\n]|\\["\\n])*""#;
    let sample = regex::Regex::new(&format!(r"^([a-z_][a-z0-9_]*)\{{{label}(?:,{label})*\}} [0-9.e+-]+$")).unwrap();
    let (mut family, mut seen, mut families) = ("", BTreeSet::new(), BTreeSet::new());
    for line in text.lines().take_while(|line| *line != "# EOF") {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family = rest.strip_suffix(" gauge").unwrap_or_default();
            prop_assert!(families.insert(family), "{} comes again", family);
        } else if let Some(rest) = line.strip_prefix("# UNIT ") {
            let (name, unit) = rest.split_once(' ').unwrap_or_default();
            prop_assert!(name == family && name.ends_with(&format!("_{unit}")), "{}", line);
        } else if !line.starts_with("# HELP ") {
            let captures = sample.captures(line).ok_or_else(|| TestCaseError::fail(line.to_owned()))?;
            prop_assert_eq!(&captures[1], family);
            let labels = line.rsplit_once("} ").map_or(line, |(labels, _)| labels);
            prop_assert!(seen.insert(labels), "{} comes again", labels);
        }
    }
    Ok(())
}

/// Checks that all markup is the document's own, that nothing is a link, and that the rows of tables are complete.
fn check_markdown(text: &str) -> Result<(), TestCaseError> {
    let mut cells = 0;
    let mut columns = 0;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => {
                let known = [
                    "<details><summary>Memory by phase, conditions</summary>",
                    "<details><summary>1 subject holds</summary>",
                    "<details><summary>Every run</summary>",
                    "<sub>",
                    "</sub>",
                    "</details>",
                ];
                prop_assert!(known.contains(&html.trim()), "{}", html);
            }
            Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::Emphasis | Tag::Strikethrough) => {
                prop_assert!(false, "{}", text);
            }
            Event::Start(Tag::Table(alignments)) => columns = alignments.len(),
            Event::Start(Tag::TableRow | Tag::TableHead) => cells = 0,
            Event::Start(Tag::TableCell) => cells += 1,
            Event::End(pulldown_cmark::TagEnd::TableRow) => prop_assert_eq!(cells, columns),
            _ => {}
        }
    }
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let bars = line.replace("\\|", "").matches('|').count();
        prop_assert!((4..=10).contains(&bars), "{}", line);
    }
    Ok(())
}

/// Checks that the page is well-formed XML between the frame's void elements: no text from outside became an element.
fn check_html(page: &str) -> Result<(), TestCaseError> {
    let body = format!("<main>{}</main>", page::body(page));
    // JSON may contain what XML may not, so its element is cut out first.
    let document = body.replace(" hidden>", " hidden=\"\">").replace(" open>", " open=\"\">");
    let parsed =
        roxmltree::Document::parse(&document).map_err(|error| TestCaseError::fail(format!("{error}: {document}")))?;
    for node in parsed.descendants().filter(roxmltree::Node::is_element) {
        let known = [
            "main", "article", "section", "div", "span", "p", "b", "i", "small", "strong", "code", "pre", "h1", "h2",
            "h3", "a", "table", "thead", "tbody", "tr", "th", "td", "ol", "li", "details", "summary", "dl", "dt", "dd",
            "svg", "path", "circle", "rect", "line", "script", "wbr",
        ];
        prop_assert!(known.contains(&node.tag_name().name()), "{:?}", node.tag_name());
        if node.tag_name().name() == "script" {
            prop_assert_eq!(node.attribute("type"), Some("application/json"));
            serde_json::from_str::<serde_json::Value>(node.text().unwrap_or_default())
                .map_err(|error| TestCaseError::fail(error.to_string()))?;
        }
        let ruled_out = |name: &str| name == "style" || name.starts_with("on");
        prop_assert!(!node.attributes().any(|attribute| ruled_out(attribute.name())), "the page's policy has none");
    }
    Ok(())
}

#[test]
fn documents_do_not_grow_with_verdicts_and_words() {
    let mut record = sample::command();
    let Semantics::Command(command) = &mut record.semantics else { panic!("it is a command's") };
    command.command = vec!["word".to_owned(); 100_000];
    record.semantics_digest = record.semantics.digest();
    let ceiling = record.verdicts.iter().find(|verdict| verdict.ceiling.is_some()).unwrap().clone();
    let failed = Verdict::new("mine", VerdictStatus::Fail, "it fails");
    record.verdicts = [vec![ceiling; 20_000], vec![failed; 20_000]].concat();
    let text = terminal::record(&record, None, &Screen::new(80, Palette::plain()));
    assert!(text.contains("… and 39500 more verdicts; the record has them all"));
    let records = [record];
    for (format, text) in [("terminal", text), ("markdown", markdown(&records)), ("html", html(&records))] {
        assert!(text.len() < 1 << 20, "{format}: {}", text.len());
    }
}
