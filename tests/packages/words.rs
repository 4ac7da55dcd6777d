//! The sources use plain English: phrases that must be read twice do not occur.

use std::path::Path;
use std::process::Command;
use std::{fs, str};

/// Forbidden beginnings of documentation paragraphs, because a reader sees a paragraph alone, in an index or a schema.
const WITHOUT_A_SUBJECT: [&str; 4] = ["It", "That", "Those", "The same"];

/// The sources of the project, by git, with their texts.
fn sources() -> Vec<(String, String)> {
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

#[test]
fn turns_are_known_as_whole_words() {
    assert_eq!(without_a_subject("It holds."), Some("It"));
    assert_eq!(without_a_subject("The same, but smaller."), Some("The same"));
    assert_eq!(without_a_subject("Iterates over entries."), None);
    assert_eq!(without_a_subject("The sameness of entries."), None);
}
