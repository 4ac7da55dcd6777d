//! Documents from records.

use std::fs;

use crate::support::{Scene, plimsoll, run};

#[test]
fn a_page_of_a_run_is_written_whole_or_not_at_all() {
    let scene = Scene::new(2);
    let record = scene.record();
    let (code, _, err) =
        run(plimsoll().args(["run", "--peak-rss", "1B", "--record"]).arg(&record).args(["--", "true"]));
    assert_eq!(code, 1, "{err}");

    let page = scene.path("page.html");
    let (code, out, err) = run(plimsoll().arg("report").arg(&record).arg("--html").arg(&page));
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""));
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.contains("peak_rss") && text.contains("FAILED") && text.trim_end().ends_with("</html>"));
    let (code, out, _) = run(plimsoll().arg("report").arg(&record).args(["--html", "-"]));
    assert!(code == 0 && out == text, "a page is a function of its records");

    let (code, _, err) = run(plimsoll().arg("report").arg(&record).arg("--html").arg(scene.path("missing/page.html")));
    assert_eq!(code, 2);
    assert!(err.contains("missing/page.html"), "{err}");
    fs::write(scene.path("no-record.json"), "{}").unwrap();
    let (code, _, err) = run(plimsoll().arg("report").arg(scene.path("no-record.json")).arg("--html").arg(&page));
    assert!(code == 2 && err.contains("no-record.json"), "{err}");
    assert_eq!(fs::read_to_string(&page).unwrap(), text, "the old page is whole");
    let (code, out, _) = run(plimsoll().arg("report").arg(&record));
    assert!(code == 0 && out.contains("✗ ceiling peak_rss"), "without a format it is shown here: {out}");
}

#[test]
fn a_run_writes_every_format_and_a_step_summary_grows() {
    let scene = Scene::new(1);
    let summary = scene.path("summary.md");
    fs::write(&summary, "before\n").unwrap();
    let formats = [
        ("--html", "page.html", "</html>"),
        ("--junit", "junit.xml", "</testsuites>"),
        ("--gitlab", "quality.json", "]"),
        ("--bencher", "bencher.json", "}"),
        ("--github-benchmark", "benchmark.json", "]"),
        ("--csv", "figures.csv", ",1,"),
        ("--openmetrics", "metrics.txt", "# EOF\n"),
    ];
    for _ in 0..2 {
        let mut command = plimsoll();
        command.env("GITHUB_STEP_SUMMARY", &summary).args(["run", "--peak-rss", "1B", "--annotations", "-"]);
        command.arg("--markdown").arg(&summary);
        for (flag, name, _) in formats {
            command.arg(flag).arg(scene.path(name));
        }
        let (code, out, err) = run(command.args(["--", "sh", "-c", "echo of its own"]));
        assert_eq!(code, 1, "{err}");
        let (own, annotation) = out.split_once('\n').unwrap();
        assert_eq!(own, "of its own");
        assert!(
            annotation.starts_with("::error title=sh%3A ceiling peak_rss failed::peak_rss <= 1 B is broken"),
            "{out}"
        );
    }
    for (flag, name, end) in formats {
        let text = fs::read_to_string(scene.path(name)).unwrap();
        assert!(text.contains(end), "{flag}: {text}");
    }
    let text = fs::read_to_string(&summary).unwrap();
    assert!(text.starts_with("before\n") && text.matches("### ❌ `sh`: FAILED").count() == 2, "{text}");
}

#[test]
fn a_document_that_cannot_be_written_is_told_before_the_run() {
    let scene = Scene::new(1);
    let mark = scene.path("ran");
    let folder = scene.path("");
    for place in [scene.path("missing/junit.xml"), folder.clone()] {
        let (code, _, err) = run(plimsoll().args(["run", "--junit"]).arg(&place).args(["--", "touch"]).arg(&mark));
        assert!(code == 2 && err.contains("cannot write"), "{err}");
        assert!(!mark.exists(), "the command was not started");
    }
}
