//! What people say to each other, recognised by the lines beside it.

use super::super::window::{Line, Lines};
use super::regex;

/// How many lines away the next turn of a conversation may be.
const TURNS: usize = 3;

/// Whether line `at` is a turn of a conversation: `name: words`, beside a turn of someone else, and one of the two asks
/// or answers as people do. A pasted error has its class, a figure or a process.
pub(super) fn holds(lines: &Lines, at: usize) -> bool {
    let Some((own, words)) = turn(&lines[at]) else { return false };
    if pasted(words) {
        return false;
    }
    let others: Vec<(&str, &str)> = lines.beside(at, TURNS).filter_map(turn).collect();
    others.iter().any(|(name, _)| *name != own) && (talks(words) || others.iter().any(|(_, words)| talks(words)))
}

/// Whether `words` were pasted from a log: the class or the level of an error, a program's name, a figure, a process.
pub(super) fn pasted(words: &str) -> bool {
    regex!(
        r"(?:Error|Exception)(?:: |$)|\b(?i:error|fatal|panic|warning)\b[:\]]|^terminate called|^[\w./-]+: \S|\d ?(?:bytes|[KMG]i?B)\b|\b(?i:pid|process) \d|\d{4,}|^\["
    )
    .is_match(words)
}

/// Who speaks, and the words.
fn turn(line: &Line) -> Option<(&str, &str)> {
    let found = regex!(r"^(?:\[?\d\d?:\d\d(?::\d\d)?\]?\s+)?[<@]?(?P<name>[A-Za-z][\w.-]{1,20})>?: (?P<words>\S.*)$")
        .captures(line.text.trim())?;
    let (name, words) = (found.name("name")?.as_str(), found.name("words")?.as_str());
    let level = regex!(
        r"(?i)^(?:errors?|warn(?:ing)?|info|debug|fatal|panic|notes?|hint|detail|help|caused|caused by|reason|message|status|state|log|stderr|stdout|kernel|trace|critical|alert|notice|file|line|name|node|host|container|pod|job|task|step|worker|rank|device|gpu\d*|exit\w*|result|output|last|context|statement)$|error$|exception$"
    );
    (!level.is_match(name)).then_some((name, words))
}

/// Whether `words` ask, answer or speak of the speaker.
fn talks(words: &str) -> bool {
    regex!(
        r"(?i)[a-z]{2,}[^.:]*\?\s*$|^(?:yes|yeah|yep|nope|sure|thanks?|thx|hmm+|lol|same here|me too|ja|oui|ok so)\b[ ,.!]|^(?:no|ok|okay|right|oh|ah|well|maybe|probably|usually),|\b(?:i'm|i've|i'd|we're|we've|don't know|i think|i guess)\b"
    )
    .is_match(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_beside_a_question_is_said_and_a_message_of_a_program_is_not() {
        for (text, at) in [
            ("priya: what happens at the limit, is it throttled?\ntom: OOMKilled, only the CPU is throttled\n", 1),
            ("tom: OOMKilled, I think\npriya: ok so exit code 137 then\n", 1),
            ("ana: does it run out of memory?\nbo: yes, it leaks\n", 0),
        ] {
            assert!(holds(&Lines::hot(text), at), "{text}");
        }
        for (text, at) in [
            ("loader: reading 12 files\nsolver: out of memory\n", 1),
            ("loader: reading 12 files\nwifi_malloc: no memory left\n", 1),
            ("ana: is this known?\nbo: slurmstepd: error: Detected 1 oom_kill event in StepId=12.0\n", 1),
            ("error: out of memory\nhint: is the limit too low?\n", 0),
            ("ana: is this known?\nbo: RuntimeError: CUDA out of memory\n", 1),
        ] {
            assert!(!holds(&Lines::hot(text), at), "{text}");
        }
    }
}
