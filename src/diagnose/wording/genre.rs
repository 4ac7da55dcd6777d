//! Texts that were never about one machine: programmes of events, lists of titles, advertisements, songs, questions and
//! answers. The lines around a message show what kind of text it is in.

use super::super::window::{Line, Lines};
use super::{Pattern, page, regex};

/// How far around a line the marks of such a text may be, in lines.
const AROUND: usize = 12;

/// Why line `at` is no event, by the kind of the text around it.
pub(super) fn dismissed(lines: &Lines, at: usize) -> Option<&'static str> {
    let text = lines[at].text.as_str();
    let near = || lines[at.saturating_sub(AROUND)..lines.len().min(at + AROUND)].iter();
    let any = |mark: &Pattern| near().any(|line| mark.is_match(&line.text));
    // A talk with its time, beside the breaks of its day.
    let breaks = || {
        regex!(
            r"(?i)^\W*\d{1,2}[:.h]\d\d\W+(?:(?:opening |closing )?keynote|coffee|lunch|break|registration|welcome|dinner|lightning talks?|panel|workshop)\s*(?::|\(|$)"
        )
    };
    if regex!(r"^\W*\d{1,2}[:.h]\d\d\s").is_match(text) && any(breaks()) {
        return Some("a title of something else");
    }
    // A work among others, with what it is.
    let works = || {
        regex!(
            r"(?i)^\W*[^()\n]{3,60} \((?:an? )?(?:film|movie|novel|book|album|song|thriller|comic|poems?|podcast|short story|audio ?book|board game)\b"
        )
    };
    let listed = || regex!(r"^\s*(?:[-*\x{2022}]|\d+\.) ").is_match(text);
    if text.contains('(') && works().is_match(text) || listed() && any(works()) {
        return Some("a title of something else");
    }
    if any(regex!(r"(?i)^\W*(?:verse|chorus|refrain|bridge)\W*\d?\W*$")) {
        return Some("a title of something else");
    }
    // Who sells or looks for something.
    let sells = regex!(
        r"(?i)\bfree trial\b|\bno credit card\b|\b(?:book|request|get) a demo\b|\bour customers (?:save|cut|love)\b|\bwe offer:|\((?:m/[fw]/[dx]|all genders)\)|\b(?:apply|sign up) (?:now|today)\b"
    );
    if any(sells) {
        return Some("an advertisement");
    }
    // The subject of a discussion, in a list of them.
    let index = || {
        regex!(
            r"(?i)^\W*(?:today's topics\W*$|board index\b|topics?\s{2,}.*\b(?:replies|views|posts)\b|(?:subject|title|thread)s?\s{2,}.*\b(?:author|replies|views|date)\b)"
        )
    };
    let above = lines[at.saturating_sub(AROUND)..at].iter();
    if regex!(r"^\s*\d+\. |\S {2,}\d+(?: {2,}|$)").is_match(text)
        && above.rev().any(|line| index().is_match(&line.text))
    {
        return Some("the title of an issue or a page");
    }
    let voted = regex!(r"(?i)\b(?:un)?answered\b|\b\d+ (?:votes?|answers|upvotes|replies)\b");
    if near().filter(|line| voted.is_match(&line.text)).count() > 1 {
        return Some("the title of an issue or a page");
    }
    // The text of a link.
    if regex!(r"(?i)^\s*(?:<dt>|<li>)?<a\s[^>]*href=[^>]*>[^<]*</a>\s*$").is_match(text) {
        return Some("the title of an issue or a page");
    }
    // One term in many languages.
    if text.matches(" \u{2014} ").count() + text.matches(" \u{2013} ").count() > 3 {
        return Some("a text for users, in a file of texts");
    }
    if asked(lines, at) {
        return Some("a title or a question of a page");
    }
    page::described(lines, at)
}

/// Whether line `at` is a question of a list of questions and answers, or one of these answers.
fn asked(lines: &Lines, at: usize) -> bool {
    const BLOCK: usize = 3;
    let question = |line: &Line| {
        regex!(
            r"^\W*(?:\x{95ee}|Q|\x{8cea}\x{554f}|\x{8cea}|\x{412}\x{43e}\x{43f}\x{440}\x{43e}\x{441}|Frage|Pregunta|Domanda|P|F) ?\d{0,3}[:.\x{ff1a}] ?\S.*[?\x{ff1f}]\W*$"
        )
        .is_match(&line.text)
    };
    let answer = |line: &Line| {
        regex!(r"^\W*(?:\x{7b54}|A|\x{56de}\x{7b54}|\x{41e}\x{442}\x{432}\x{435}\x{442}|Antwort|Respuesta|Risposta|R) ?\d{0,3}[:.\x{ff1a}] ?\S")
            .is_match(&line.text)
    };
    let around = |to: usize| lines[at.saturating_sub(to)..lines.len().min(at + to + 1)].iter();
    question(&lines[at]) && around(BLOCK).any(answer) || answer(&lines[at]) && around(1).any(question)
}

#[cfg(test)]
mod tests {
    use super::super::dismisses;
    use super::*;

    #[test]
    fn texts_about_no_machine_are_known_by_the_lines_around() {
        let is = |text: &str, what: &str| dismisses(dismissed, text, what);
        for (text, what) in [
            ("09:00  Keynote\n10:00  \"CUDA out of memory\": a field guide\n", "CUDA"),
            ("* Swap (novel, 312 pages)\n* Out of Memory (film, 98 min)\n* Cannot Allocate Memory: Poems\n", "Cannot"),
            ("(chorus)\nOut of memory, out of time,\n", "Out of"),
            ("It warns before \"Out of memory\".\nStart your free trial today.\n", "Out of"),
            ("Today's Topics:\n\n   1. mpirun: Cannot allocate memory with 512 ranks\n", "Cannot"),
            ("Topic                      Replies   Views\nORA-04031 again            2      190   Mon\n", "ORA"),
            ("<DT><A HREF=\"https://example.org\">Exit code 137 - Wiki</A>\n", "Exit"),
            ("out of memory \u{2014} m\u{e9}moire insuffisante \u{2014} sin memoria \u{2014} a \u{2014} b\n", "out of"),
            (
                "\u{95ee}\u{ff1a}137 \u{4e00}\u{5b9a}\u{662f} OOMKilled \u{5417}\u{ff1f}\n\u{7b54}\u{ff1a}\u{4e0d}\u{3002}\n",
                "OOMKilled",
            ),
        ] {
            assert!(is(text, what), "{text}");
        }
        for (text, what) in [
            ("09:00  registration service restarted\n10:00  worker ran out: CUDA out of memory\n", "CUDA"),
            ("09:00:12 worker started\n10:00:31 CUDA out of memory\n", "CUDA"),
            ("* step 1 (forward, 98 ms)\n* Out of memory (rank 3)\n", "Out of"),
            ("A: it worked last week\nCUDA out of memory\n", "CUDA"),
        ] {
            assert!(!is(text, what), "{text}");
        }
    }
}
