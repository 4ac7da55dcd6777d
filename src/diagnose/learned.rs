//! What `tests/diagnose/learn.py` learns from: the words around all that may be a failure or growth.

use std::collections::BTreeSet;
use std::{env, fs};

use super::classify::{Passages, all, all_of, around};
use super::scan::{Scanner, Sink, Window};
use super::stated;
use super::telemetry::Position;
use super::window::Lines;
use super::wording;

/// Prints the words around each line that may report a failure, whatever the guards say of it.
struct Candidates<'a> {
    name: &'a str,
    /// Whether one does, by what the guards say.
    found: bool,
}

impl Sink for Candidates<'_> {
    fn wants(&mut self, _: u64) -> bool {
        true
    }
    fn window(&mut self, window: Window<'_>) {
        let lines = Lines::of(&window);
        for at in (0..lines.len()).filter(|at| wording::matches(&lines, *at)) {
            print("document", self.name, &all(&lines[around(&lines, at)]));
            let mut found = Vec::new();
            wording::recognise(&lines, at, false, &mut found);
            self.found |= found.iter().any(|sighting| sighting.cause.is_event());
        }
    }
    fn head(&mut self, _: &[u8]) {}
    fn factor(&mut self, _: &[u8]) {}
    fn measures(&mut self, _: u64, _: u64) -> bool {
        false
    }
    fn telemetry(&mut self, _: Position, _: &[u8]) {}
}

fn print(table: &str, name: &str, words: &BTreeSet<String>) {
    let words: Vec<&str> = words.iter().map(|word| &word[..]).collect();
    println!("\u{1}{table}\u{2}{name}\u{2}{}", words.join("\u{2}"));
}

/// Prints a line for each candidate of the texts in the folder `PLIMSOLL_TEXTS`: table, name of the file, words.
#[test]
#[ignore = "prints what tests/diagnose/learn.py learns from"]
fn prints_the_words_around_candidates() {
    for entry in fs::read_dir(env::var_os("PLIMSOLL_TEXTS").expect("a folder")).unwrap() {
        let entry = entry.unwrap();
        let (name, text) = (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
        let (mut candidates, mut scanner) = (Candidates { name: &name, found: false }, Scanner::default());
        scanner.push(&text, &mut candidates);
        scanner.settle(&mut candidates);
        let lines = Lines::whole(&text);
        if let Some(at) = stated::rises(&text, &lines) {
            print("steady", &name, &all(&lines[around(&lines, at)]));
        }
        if text.len() > stated::LONGEST_TEXT {
            continue;
        }
        let passages = Passages::of(&lines);
        for at in wording::mentions(&passages) {
            let words = all_of(&passages, around(&lines, at), &[]);
            print("cause", &name, &words);
            // Only what no wording finds is judged by its words alone.
            if !candidates.found {
                print("mention", &name, &words);
            }
        }
        let stated = candidates.found || !stated::read(&text, &lines).is_empty();
        for at in stated::candidates(&passages) {
            let range = around(&lines, at);
            let words = all_of(&passages, range.clone(), &stated::signs(&lines[range]));
            print("trend", &name, &words);
            if !stated {
                print("quiet", &name, &words);
            }
        }
    }
}
