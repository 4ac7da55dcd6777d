//! The sources use plain English: phrases that must be read twice do not occur.

use std::path::Path;
use std::process::Command;
use std::{fs, str};

/// Forbidden beginnings of documentation paragraphs, because a reader sees a paragraph alone, in an index or a schema.
const WITHOUT_A_SUBJECT: [&str; 4] = ["It", "That", "Those", "The same"];

/// Phrases that read like a translation: write "reports" or "shows" instead of the first, and a number or "this many"
/// instead of the fifth.
const TWISTED: [&str; 9] =
    ["tell", "tells", "told", "telling", "so many", "as ever", "all the same", "of those that", "gives back"];

/// The sources of the project, by git, with their texts.
pub fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = Command::new("git").args(["ls-files", "-z", "*.rs"]).current_dir(root).output().unwrap();
    let names = str::from_utf8(&listed.stdout).unwrap().split_terminator('\0');
    names.filter_map(|name| Some((name.to_owned(), fs::read_to_string(root.join(name)).ok()?))).collect()
}

/// The text of a documentation line.
fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
}

/// The forbidden first words of `line`.
fn without_a_subject(line: &str) -> Option<&'static str> {
    WITHOUT_A_SUBJECT
        .into_iter()
        .find(|turn| line.strip_prefix(turn).is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric())))
}

#[test]
fn every_paragraph_of_documentation_names_its_subject() {
    let sources = sources();
    if sources.is_empty() {
        return; // an archive without git
    }
    let (mut found, mut paragraphs) = (Vec::new(), 0);
    for (name, text) in &sources {
        let mut before = None;
        for (number, line) in text.lines().enumerate() {
            let words = documentation(line);
            let begins = before.is_none_or(|before: &str| before.is_empty() || before.starts_with('#'));
            if let Some(words) = words.filter(|_| begins) {
                paragraphs += 1;
                found.extend(without_a_subject(words).map(|turn| format!("{name}:{}: {turn} ..", number + 1)));
            }
            before = words;
        }
    }
    assert!(paragraphs > 5_000, "only {paragraphs} paragraphs of documentation were read");
    assert!(found.is_empty(), "name the subject instead:\n{}", found.join("\n"));
}

/// The comments of a source, in lower case: consecutive lines are one, with the number of the first.
fn comments(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in text.lines().enumerate() {
        let words = line.trim_start().strip_prefix("//").map(|line| line.trim_start_matches(['/', '!']).trim());
        match (words, found.last_mut()) {
            (Some(words), Some((_, comment))) if open => *comment += &format!(" {}", words.to_lowercase()),
            (Some(words), _) => found.push((number + 1, words.to_lowercase())),
            (None, _) => {}
        }
        open = words.is_some_and(|words| !words.is_empty());
    }
    found
}

/// Whether `text` contains `phrase` as whole words.
fn has_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let is_part = |next: Option<char>| next.is_some_and(|next| next.is_alphanumeric() || "_-".contains(next));
        !is_part(text[..at].chars().next_back()) && !is_part(text[at + phrase.len()..].chars().next())
    })
}

#[test]
fn comments_are_plain() {
    let (mut found, mut read) = (Vec::new(), 0);
    for (name, text) in sources() {
        for (number, comment) in comments(&text) {
            read += 1;
            let twisted = TWISTED.into_iter().filter(|phrase| has_phrase(&comment, phrase));
            found.extend(twisted.map(|phrase| format!("{name}:{number}: {phrase}")));
        }
    }
    assert!(read == 0 || read > 5_000, "only {read} comments were read");
    assert!(found.is_empty(), "say it in plain words:\n{}", found.join("\n"));
}

#[test]
fn phrases_are_found_across_lines_and_as_whole_words() {
    let text = "let told = 1;\n/// Shows so\n/// many rows.\n//\n// A teller is paid.\n";
    let comments = comments(text);
    assert_eq!(comments.len(), 2, "{comments:?}");
    assert!(comments[0].0 == 2 && has_phrase(&comments[0].1, "so many"));
    assert!(!has_phrase(&comments[1].1, "tell") && !has_phrase("foretold", "told"));
}

#[test]
fn turns_are_known_as_whole_words() {
    assert_eq!(without_a_subject("It holds."), Some("It"));
    assert_eq!(without_a_subject("The same, but smaller."), Some("The same"));
    assert_eq!(without_a_subject("Iterates over entries."), None);
    assert_eq!(without_a_subject("The sameness of entries."), None);
}
