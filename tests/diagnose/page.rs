//! The manual's page of wordings is generated from the table.

use std::fmt::Write;
use std::path::Path;

use plimsoll::diagnose::{Kind, known_wordings};

use crate::support::findings;

fn page() -> String {
    let mut text = "# Wordings that `diagnose` knows\n\n\
        <!-- Generated from the table of wordings: PLIMSOLL_UPDATE_DOCS=1 cargo test --features full --test diagnose page -->\n\n\
        `plimsoll diagnose` reads logs of any kind. PyTorch's allocators, XLA, the Linux kernel, Slurm, Ray and shells have\n\
        readers of their own; every other wording is a row of the table below, which is in `src/diagnose/wording/table/`. A\n\
        new wording is a new row: a pattern, what it means, an example, its source. The generic rows at the end match what\n\
        any program may print; the words around decide whether a device or the host ran out.\n"
        .to_owned();
    let mut family = "";
    for wording in known_wordings() {
        if wording.family != family {
            family = wording.family;
            let _ = write!(text, "\n## {family}\n\n");
        }
        let who = if wording.software.is_empty() { "any" } else { wording.software };
        let _ = write!(text, "- **{who}**, {}: {}\n\n  ```text\n", wording.side, sentence(wording.meaning));
        wrapped(wording.example, 112).iter().for_each(|line| {
            let _ = writeln!(text, "  {line}");
        });
        text.push_str("  ```\n\n");
        if !wording.source.is_empty() {
            let _ = write!(text, "  Source: {}\n\n", wording.source);
        }
    }
    text
}

fn sentence(meaning: &str) -> String {
    let end = if meaning.ends_with('.') { "" } else { "." };
    format!("{meaning}{end}")
}

fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(columns).map(|line| line.iter().collect()).collect()
}

#[test]
fn the_page_of_wordings_is_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/wordings.md");
    if std::env::var_os("PLIMSOLL_UPDATE_DOCS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == page(), "{} is out of date: PLIMSOLL_UPDATE_DOCS=1 writes it", path.display());
}

#[test]
fn every_example_is_an_event_or_is_none_as_its_row_says() {
    let mut wrong = Vec::new();
    for wording in known_wordings() {
        let found = findings(wording.example.as_bytes());
        let right = match (wording.side, found.kind) {
            ("nothing", kind) => kind == Kind::None,
            ("device", kind) => kind == Kind::VramOom,
            ("device or host", kind) => matches!(kind, Kind::VramOom | Kind::HostAllocFail),
            ("host", kind) => kind == Kind::HostAllocFail,
            ("limit", kind) => kind == Kind::CgroupOom,
            ("machine", kind) => kind == Kind::HostOom,
            ("nearly full device", kind) => kind == Kind::Report,
            ("shared memory", kind) => kind == Kind::Shm,
            (_, kind) => kind == Kind::SigkillUnattributed,
        };
        if !right {
            wrong.push(format!("{} of {}: {:?}", wording.example, wording.family, found.kind));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
