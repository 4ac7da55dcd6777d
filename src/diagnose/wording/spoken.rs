//! What people say when memory ran out: `the finetune died tonight with a cuda oom`, `der Kernel hat Postgres beendet`.
//!
//! Such words stand in documents as well, so a line counts only if those around it are worded like a report, and only if
//! no program's message was found in the text.

use std::ops::Range;

use super::super::classify::{CAUSE, CAUSES, MENTION, Passages, around, is_unspaced};
use super::super::sighting::{Cause, Sighting};
use super::super::verdict::Verdict;
use super::{recovered, regex};

/// The odds below which ordinary words are a report, as a logarithm in hundredths.
const REPORTS: i32 = -150;
/// What the columns of the table of causes stand for, and what they state of a device: its columns, then those of a host.
const COLUMNS: [(Cause, Option<Verdict>); CAUSES] = [
    (Cause::Device, Some(Verdict::Capacity)),
    (Cause::Library, None),
    (Cause::Device, Some(Verdict::Fragmentation)),
    (Cause::Device, Some(Verdict::SingleHugeRequest)),
    (Cause::Device, Some(Verdict::OtherProcess)),
    (Cause::Device, Some(Verdict::ProcessCap)),
    (Cause::Device, Some(Verdict::PrivatePool)),
    (Cause::Device, Some(Verdict::FirstBackward)),
    (Cause::Device, Some(Verdict::OptimizerStep)),
    (Cause::Device, Some(Verdict::Eval)),
    (Cause::Device, Some(Verdict::LongestBatch)),
    (Cause::HostAlloc, None),
    (Cause::Limit, None),
    (Cause::Machine, None),
    (Cause::Killed, None),
    (Cause::SharedMemory, None),
    (Cause::Ray, None),
    (Cause::LoaderKilled, None),
];
/// The column of too little memory.
const OF_CAPACITY: usize = 0;
/// The first column of a host.
const OF_A_HOST: usize = 11;
/// Why memory of a device ran out is said if it is this likely: else that there was too little.
const SURE: f64 = 0.5;

/// What a text says by itself: the line that is worded most like a report, if the words are enough like one. Lines
/// with the numbers `dismissed` report nothing by their form.
pub(in super::super) fn recognise(passages: &Passages, dismissed: &[u64]) -> Option<Sighting> {
    let is_dismissed = |at: usize| dismissed.contains(&passages.lines[at].number);
    let of = |at: usize| {
        let range = around(passages.lines, at);
        let [odds] = MENTION.odds_of(passages, range.clone(), &[]);
        let lines = range.filter(|at| odds < REPORTS && speaks(passages, *at));
        // What reports nothing by its form is shown if no other line says it.
        let shown = |at: &usize| (is_dismissed(*at), MENTION.odds_of(passages, *at..*at + 1, &[]));
        Some((odds, at, lines.min_by_key(shown)?))
    };
    // If some of the lines report nothing, the others do so seldom; and so do lines of programs, whose failures have
    // wordings of their own.
    let limit = |line: usize| match dismissed.is_empty() && is_sentence(passages.lines[line].message()) {
        true => REPORTS,
        false => 2 * REPORTS,
    };
    let all = candidates(passages).filter_map(of);
    let (_, at, line) = all.filter(|(odds, _, line)| *odds < limit(*line)).min()?;
    let column = column(passages, around(passages.lines, at));
    // The memory of a device may be fine if that of the host is not.
    let of_a_device = |text: &str| regex!(r"(?i)\bv?(?:gpu|cuda|vram|video)\b").is_match(text);
    let denied = |text: &str| denies(text) && (column < OF_A_HOST || !of_a_device(text));
    if passages.lines.iter().any(|line| denied(line.message())) || failed_otherwise(passages) {
        return None;
    }
    let (cause, stated) = &COLUMNS[column];
    let meaning = "Somebody reports this in ordinary words: the text has no message of a program that is known.";
    let sighting = Sighting::new(cause.clone(), &passages.lines[line]);
    Some(Sighting { weak: true, stated: *stated, meaning: Some(meaning), ..sighting })
}

/// Whether a trace in the text ends in an error that is not of memory: what failed is known.
pub(in super::super) fn failed_otherwise(passages: &Passages) -> bool {
    let trace = regex!(r#"^File ".*", line \d+"#);
    let error = regex!(r"^(?:\w+\.)*[A-Z]\w*(?:Error|Exception): ");
    let of_memory = regex!(r"(?i)mem|alloc|oom|kill|shm|shared|\b(?:cuda|hip)\w* (?:runtime )?error|resource|exit");
    let mut lines = passages.lines.iter().map(|line| line.message().trim()).skip_while(|text| !trace.is_match(text));
    lines.any(|text| error.is_match(text) && !of_memory.is_match(text))
}

/// The column of what ran out, by the words of a part of a text.
fn column(passages: &Passages, range: Range<usize>) -> usize {
    let odds = CAUSE.odds_of(passages, range, &[]);
    let most = odds.into_iter().max().unwrap_or(0);
    let shares = odds.map(|odds| (f64::from(odds - most) / 100.0).exp());
    let likeliest = |columns: Range<usize>| {
        let share = shares[columns.clone()].iter().sum::<f64>();
        (share, columns.max_by(|a, b| shares[*a].total_cmp(&shares[*b])).expect("a side has columns"))
    };
    let (of_device, device) = likeliest(0..OF_A_HOST);
    let (of_host, host) = likeliest(OF_A_HOST..CAUSES);
    match of_device > of_host {
        true if shares[device] < SURE * of_device => OF_CAPACITY,
        true => device,
        false => host,
    }
}

/// Lines around which memory may be said to have run out.
pub(super) fn candidates(passages: &Passages) -> impl Iterator<Item = usize> {
    passages.places().filter(|at| around(passages.lines, *at).any(|at| speaks(passages, at)))
}

/// Whether line `at` may say so: not of an earlier year or run, nor of what the program does instead.
fn speaks(passages: &Passages, at: usize) -> bool {
    let earlier = regex!(
        r"(?i)\b(?:this|the (?:new|current)) (?:one|run|job) is (?:still )?(?:fine|ok|good)\b|\bha(?:s|ve) not (?:come back|recurred|happened again) since\b"
    );
    let line = &passages.lines[at];
    passages.is_of_memory(at)
        && !recovered::in_words(line.message())
        && !regex!(r"^\W*(?:19|20)\d\d: ").is_match(&line.text)
        && !earlier.is_match(line.message())
}

/// Whether `text` says that it was not memory: `No oom-killer line, memory was fine`.
pub(in super::super) fn denies(text: &str) -> bool {
    let denial = regex!(concat!(
        r"(?i)\b(?:not|isn't|wasn't|never|nothing to do with) (?:a |the |about |due to |caused by |because of |from |related to )?(?:lack of |out of |low )?(?:memory|ram|vram|oom)(?:[^\w -]|$)",
        r"|\b(?:no|zero|without (?:an|any|a single)) (?:oom(?:[- ]?kill\w*|s)?|memory pressure|sign of memory|trace of (?:an )?oom)\b",
        r"|\b(?:memory|ram|vram|heap|swap|private bytes|rss|working set)(?: usage| use| graph)?(?: \w+)? (?:is|was|were|looks?|looked|stays?|stayed|remains?|remained|sits|sat)? ?(?:steady|fine|okay|flat|normal|stable|healthy|boring|ample|(?:well|far|way) (?:below|under|within)|not the (?:problem|issue|cause|culprit))\b",
        r"|\b(?:oom\w*|R1[45](?:/R1[45])?|memory (?:errors?|warnings?|alerts?)) never (?:appear|happen|occur|came|come|show|fir|trigger)\w*",
        r"|(?P<not>\b(?:not|isn't|wasn't|never|nicht|kein\w*|nie) (?:have |even )?)?\b(?:(?:plenty of|lots of|enough|half of the|most of the) (?:free )?(?:memory|ram|vram)(?: was| is)? (?:free|left|available|unused)|plenty of (?:memory|ram|vram)|(?:genug|reichlich|gen\x{fc}gend) (?:freie[rn]? )?(?:\w*speicher|ram)|(?:have|has|had|got) (?:\w+ and )?(?:memory|ram|vram|shm)(?: and \w+)? enough)\b",
        r"|(?:speicher|\bram)\w* (?:ist|war|w\x{e4}re|gab es) (?:noch |es )?(?:genug|reichlich|ausreichend|jede menge|unauff\x{e4}llig|locker)\b|\bkein\w* (?:\w*speicher|oom)\w*(?:problem|mangel)",
        r"|(?:pas|aucun\w*) (?:un |de )?(?:probl\x{e8}me|souci|manque) de (?:m\x{e9}moire|ram)|m\x{e9}moire [^.;]{0,20}\b(?:suffisante|normale|stable|tranquille)\b",
        r"|\bno (?:es|era|fue) (?:la |un problema de |por |falta de )?(?:memoria|ram)\b|memoria [^.;]{0,20}\b(?:de sobra|estable|normal)\b|\bn\x{e3}o (?:\x{e9}|era|foi) (?:a |falta de |por )?(?:mem\x{f3}ria|ram)\b|\bnon (?:\x{e8}|era) (?:la |un problema di |colpa della )?(?:memoria|ram)\b",
        r"|не в памяти|памяти (?:хватает|хватало|достаточно|полно|навалом)|不是(?:内存|显存)|(?:内存|显存)(?:充足|正常|够|还剩|没问题)|メモリ(?:は|に|も)(?:余裕|問題な|十分)|메모리(?:는|도) (?:충분|여유)",
    ));
    denial.captures(text).is_some_and(|found| found.name("not").is_none())
}

/// Whether a person may have written `text`: it has words enough.
fn is_sentence(text: &str) -> bool {
    const WORDS: usize = 8;
    let letters = |word: &&str| word.trim_matches(|c: char| c.is_ascii_punctuation()).chars().all(char::is_alphabetic);
    let ideographs = text.chars().filter(|c| is_unspaced(*c)).count();
    text.split_whitespace().filter(letters).count() >= WORDS || ideographs >= WORDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Lines;

    fn recognised(text: &str) -> Option<Sighting> {
        recognise(&Passages::of(&Lines::hot(text)), &[])
    }

    #[test]
    fn what_ran_out_is_known_by_the_words_of_people() {
        for (text, expected, stated) in [
            (
                "Last night the finetune died on my 3090 with a cuda oom, I restarted it with a smaller batch.",
                Cause::Device,
                Some(Verdict::Capacity),
            ),
            (
                "My training dies with a CUDA out of memory in the very first loss.backward(), the forward pass still fits.",
                Cause::Device,
                Some(Verdict::FirstBackward),
            ),
            (
                "My CUDA OOM had a simple reason: somebody else's job sits on GPU 2 with 60 GB, so my training died at its start.",
                Cause::Device,
                Some(Verdict::OtherProcess),
            ),
            ("Our pod went over its limit of 8G at 16:05 and was killed, third time this week.", Cause::Limit, None),
            (
                "Last night our MySQL was down for an hour: the kernel killed it because the machine had no memory left.",
                Cause::Machine,
                None,
            ),
            (
                "Gestern Abend ist mir Photoshop abgest\u{fc}rzt, weil der Arbeitsspeicher voll war, mein Plakat ist weg.",
                Cause::HostAlloc,
                None,
            ),
        ] {
            let found = recognised(text).map(|sighting| (sighting.cause, sighting.stated));
            assert_eq!(found, Some((expected, stated)), "{text}");
        }
    }

    #[test]
    fn what_was_not_memory_is_no_report() {
        for text in [
            "The node rebooted last night, and it was not memory.",
            "No oom-killer line in the journal.",
            "Memory was fine, the disk was full.",
            "R14/R15 never appeared, neither before nor after.",
            "No space left on device, but I have RAM and shm enough",
            "Der Build ist rot, die Platte ist voll, Arbeitsspeicher ist reichlich frei.",
            "不是显存的问题",
        ] {
            assert!(denies(text), "{text}");
        }
        for text in [
            "Nicht gen\u{fc}gend Arbeitsspeicher",
            "There was not enough memory available",
            "m\u{e9}moire insuffisante",
            "It did not have plenty of memory",
        ] {
            assert!(!denies(text), "{text}");
        }
    }

    #[test]
    fn an_error_of_another_kind_is_what_failed() {
        let otherwise = |error: &str| {
            let text = format!("Which file?\n    File \"a.py\", line 3, in f\n    {error}\nit was a file of 0 bytes\n");
            failed_otherwise(&Passages::of(&Lines::hot(&text)))
        };
        assert!(otherwise("PIL.UnidentifiedImageError: cannot identify image file"));
        assert!(otherwise("RuntimeError: mat1 and mat2 must have the same dtype, but got BFloat16 and Float"));
        assert!(!otherwise("RuntimeError: DataLoader worker (pid 7) exited unexpectedly"));
        assert!(!otherwise("MemoryError: Unable to allocate 3 GiB"));
        assert!(!otherwise("nothing was printed"));
    }

    #[test]
    fn what_people_report_counts_and_what_they_explain_does_not() {
        let reports = |text: &str| recognised(text).is_some();
        assert!(reports(
            "The nightly import died at 02:10 again, the kernel killed postgres, the VM has 8 GB. Restarted it.\n"
        ));
        assert!(!reports(
            "What does it mean if the kernel kills a process? You should usually raise the memory limit.\n"
        ));
    }
}
