use super::*;
use crate::record::sample::assert_snapshot;
use plimsoll_diagnose::snapshot::{Options, Snapshot};

/// A snapshot in PyTorch's format, as `tests/python/make_snapshot.py --entries 400 --frames 3 --oom` writes it.
fn snapshot() -> Snapshot {
    let bytes = include_bytes!("../../../tests/fixtures/snapshot.pickle");
    Snapshot::read("snapshot.pickle", &bytes[..], Options { top: 6, ..Options::default() }).unwrap()
}

#[test]
fn the_page_needs_nothing_else_and_holds_no_foreign_markup() {
    let mut snapshot = snapshot();
    let mut findings = snapshot.findings().unwrap();
    findings.name = "</script><script>alert(1)</script>".to_owned();
    let mut timeline = snapshot.timeline(0, 200).unwrap().unwrap();
    timeline.stacks[0].name = "</script><b>".to_owned();
    let page = page(&findings, &[timeline]);
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains("<b></b>") && !page.contains("alert(1)</script>"));
    for foreign in ["http://", "https://", "src=", "@import", "url("] {
        let found =
            page.match_indices(foreign).filter(|(at, _)| !page[*at..].starts_with("http://www.w3.org/2000/svg"));
        assert_eq!(found.count(), 0, "{foreign}");
    }
}

#[test]
fn a_flame_graph_is_drawn() {
    let root = snapshot().flame_graph(0).unwrap().unwrap();
    assert_snapshot("snapshot_flame_graph", &flame_graph(&root, "snapshot.pickle <peak>"));
}

#[test]
fn the_tables_of_the_page() {
    let findings = snapshot().findings().unwrap();
    let page = page(&findings, &[]);
    assert_snapshot("snapshot_page", crate::report::page::body(&page));
}
