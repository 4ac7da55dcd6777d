//! What `tests/diagnose/learn.py` learns from: the words around all that may be a failure or growth.

use std::{env, fs};

use super::classify;
use super::scan::{Scanner, Sink, Window};
use super::stated;
use super::telemetry::Position;
use super::window::Lines;
use super::wording;

/// Prints the words around each line that may report a failure, whatever the guards say of it.
struct Candidates<'a>(&'a str);

impl Sink for Candidates<'_> {
    fn wants(&mut self, _: u64) -> bool {
        true
    }
    fn window(&mut self, window: Window<'_>) {
        let lines = Lines::of(&window);
        for at in (0..lines.len()).filter(|at| wording::matches(&lines, *at)) {
            print("document", self.0, &lines, at);
        }
    }
    fn head(&mut self, _: &[u8]) {}
    fn factor(&mut self, _: &[u8]) {}
    fn measures(&mut self, _: u64, _: u64) -> bool {
        false
    }
    fn telemetry(&mut self, _: Position, _: &[u8]) {}
}

fn print(table: &str, name: &str, lines: &Lines, at: usize) {
    let words: Vec<String> = classify::all(lines, at).into_iter().collect();
    println!("\u{1}{table}\u{2}{name}\u{2}{}", words.join("\u{2}"));
}

/// Prints a line for each candidate of the texts in the folder `PLIMSOLL_TEXTS`: table, name of the file, words.
#[test]
#[ignore = "prints what tests/diagnose/learn.py learns from"]
fn prints_the_words_around_candidates() {
    for entry in fs::read_dir(env::var_os("PLIMSOLL_TEXTS").expect("a folder")).unwrap() {
        let entry = entry.unwrap();
        let (name, text) = (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
        let (mut candidates, mut scanner) = (Candidates(&name), Scanner::default());
        scanner.push(&text, &mut candidates);
        scanner.settle(&mut candidates);
        let lines = Lines::whole(&text);
        for at in (0..lines.len()).filter(|at| wording::mentions(&lines, *at)) {
            print("mention", &name, &lines, at);
        }
        if let Some(at) = stated::rises(&text, &lines) {
            print("steady", &name, &lines, at);
        }
    }
}
