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
    let (code, _, err) = run(plimsoll().arg("report").arg(&record));
    assert!(code == 2 && err.contains("--html"), "{err}");
}
