//! The manual is consistent: links lead somewhere, the book has every page, and README stays short.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every page that a person reads: those at the top and those of the manual.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<_> =
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].iter().map(|name| root().join(name)).collect();
    for folder in ["docs", "docs/ci"] {
        let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        pages.extend(entries.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    }
    pages
}

/// The text without code blocks.
fn prose(text: &str) -> String {
    let mut code = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The targets of inline links.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ', '\n']).next())
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
    let slug = |heading: &String| {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        title
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    headings.iter().map(slug).collect()
}

#[test]
fn every_link_to_a_file_or_a_heading_leads_there() {
    let mut broken = Vec::new();
    let mut checked = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&prose(&text)) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            checked += 1;
            let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let leads = match anchor {
                None => target.exists(),
                Some(anchor) => {
                    fs::read_to_string(&target).is_ok_and(|text| anchors(&text).iter().any(|a| a == anchor))
                }
            };
            if !leads {
                broken.push(format!("{}: {link}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(checked > 100, "only {checked} links were found");
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn the_book_has_every_page() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed: Vec<_> = links(&summary).collect();
    for page in pages() {
        let Ok(name) = page.strip_prefix(root().join("docs")) else { continue };
        let name = name.to_str().unwrap();
        assert!(name == "SUMMARY.md" || listed.contains(&name), "docs/SUMMARY.md does not list {name}");
    }
}

/// The maximum line length of prose; tables, code blocks, headings and markup may be longer.
const WIDTH: usize = 120;

#[test]
fn lines_of_prose_fit_a_screen() {
    let mut long = Vec::new();
    for page in pages().into_iter().filter(|page| !page.ends_with("CHANGELOG.md")) {
        let mut code = false;
        for (number, line) in fs::read_to_string(&page).unwrap().lines().enumerate() {
            let start = line.trim_start();
            code ^= start.starts_with("```");
            let is_prose = !code && !start.starts_with(['|', '#', '<']);
            if is_prose && line.chars().count() > WIDTH {
                long.push(format!("{}:{}", page.strip_prefix(root()).unwrap().display(), number + 1));
            }
        }
    }
    assert!(long.is_empty(), "lines of more than {WIDTH} columns:\n{}", long.join("\n"));
}

#[test]
fn readme_stays_short() {
    let words = fs::read_to_string(root().join("README.md")).unwrap().split_whitespace().count();
    assert!(words <= 1_500, "README.md has {words} words, and 1,500 are enough: details belong to docs/");
}
