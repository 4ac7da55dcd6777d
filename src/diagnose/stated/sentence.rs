//! Sentences in which people state how memory moved: `RSS grew from 300 MB to 4 GB overnight`, `leaks 50 MB an hour`,
//! `4.6 GB before the update, 11.8 GB since`. One with its amounts is a report of growth; one without them is a claim,
//! which figures of the same text may prove.

use regex::Captures;

use super::amount::{Amount, amounts};
use super::{GROWN, MORE, regex};
use crate::verdict::Verdict;
use crate::window::{Line, Lines};
use crate::wording::{Position, position};

/// How many lines below the amount of an older version that of the newer one may be.
const APART: usize = 12;
/// How many sentences a course may take.
const GOES_ON: usize = 3;
/// Longer lines are not sentences of a report.
pub(super) const LONGEST_SENTENCE: usize = 2000;
/// A total that is too small to be called a leak by itself.
const LITTLE: f64 = (100 << 20) as f64;

/// What a line says: growth or a regression, and whether it has the amounts; of a text whose title is `title`.
pub(super) fn said(text: &str, title: &str) -> Vec<(Verdict, bool)> {
    let mut found = Vec::new();
    if text.len() > LONGEST_SENTENCE {
        return found;
    }
    let of_memory = is_of_memory(text) || is_of_memory(title);
    let (mut starts, mut from) = (Vec::new(), 0);
    for sentence in sentences(text) {
        let start = from;
        from += sentence.len();
        starts.push(start);
        // It may go on from the sentences before.
        let course = (0..starts.len().min(GOES_ON)).any(|back| courses(&text[starts[starts.len() - 1 - back]..from]));
        let course = course.then_some((Verdict::HostGrowth, true, 0));
        let amounts = amounts(sentence);
        let stated = [course, growth(sentence, &amounts), newer(sentence, &amounts)];
        for (verdict, proven, at) in stated.into_iter().flatten() {
            // Figures that prove a claim say what it is about.
            if (!proven || of_memory && is_prose(sentence)) && !dismissed(verdict, text, start + at, sentence) {
                found.push((verdict, proven));
            }
        }
    }
    found
}

/// Whether `text` is written by a person: most of it is words.
fn is_prose(text: &str) -> bool {
    let (mut words, mut numbers, mut in_list) = (0, 0, false);
    for token in text.split_whitespace() {
        let digits = token.contains(|c: char| c.is_ascii_digit());
        // A list of numbers is one thing.
        numbers += usize::from(digits && !in_list);
        in_list = digits && token.ends_with(',');
        words += usize::from(!digits && token.contains(char::is_alphabetic));
    }
    let arrows = text.contains("->") || text.contains('\u{2192}');
    words >= 3 && words >= 2 * numbers || arrows
}

/// Whether a time begins `text`, as it does a line of a log.
pub(super) fn is_logged(text: &str) -> bool {
    // `[21:04] <name> what somebody says in a chat`
    !regex!(r"^\W*\d{1,2}:\d\d(?::\d\d)?\W+<[\w@+-]+> ").is_match(text)
        && regex!(r"^\W*(?:\d{4}[-/]\d\d[-/]\d\d|\d{1,2}:\d\d|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d)").is_match(text)
}

/// Whether the sentence, whose statement is at `at` of `text`, is about something else than what happened to memory.
fn dismissed(verdict: Verdict, text: &str, at: usize, sentence: &str) -> bool {
    // What was mended, and what is meant to be so or might be.
    let mended = regex!(
        r"(?i)^\W*fix(?:e[sd])?\b|\b(?:fix(?:es|ing)?|(?:is|was|been|got|now|be|then) fixed|fixed (?:in|by|an?|the|this|that|with|it)|resolv(?:e[sd]|ing)|solve[sd]?|no longer|not any ?more|reduc(?:e[sd]?|ing|tion)|improv(?:e[sd]?|ing|ements?)|sav(?:es|ed|ing)|prevent\w*|avoid\w*|patch(?:ed|es)|address(?:es|ed)|used to (?:grow|leak|increase|rise|climb))\b"
    );
    let meant = regex!(
        r"(?i)\b(?:can|could|may|might|would|should|will|must|to|does not|doesn't|don't|did not|didn't|not|never|without|no|while|when|by|on) (?:(?:be|ever|really|even|any|much) |\w+ly ){0,3}(?:grow|ris|climb|increas|leak|creep|accumulat|balloon)|\b(?:suppose|imagine|for example|for instance|such as|assum(?:e|ing)|typical(?:ly)?|as expected|by design|limit|quota|budget|allowance|ceiling|threshold|alert|possible|potential|made-up|hypothetical|--\w)\b|\be\.g\."
    );
    // More of the work needs more memory.
    let scaled = regex!(
        r"(?i)\b(?:batch[ _-]?size|sequence length|seq_len|context (?:length|size|window)|resolution|num_workers|(?:larger|bigger|longer|more) (?:batch|input|image|prompt|sequence|context|model|dataset|file|data|worker|thread|row|user)\w*)\b"
    );
    let alike = regex!(
        r"(?i)\b(?:memory leak|leaks|leaking|since|after upgrading|same|constant|identical|fixed|equal|unchanged)\b"
    );
    let levels = regex!(
        r"(?i)\b(?:level(?:s|ed|ling)? (?:off|out)|plateau\w*|settle[sd]?|warm(?:s|ed|ing)? up|nothing to worry|from then on|flatten\w*|stabili[sz]e[sd]?)\b"
    );
    let denied = regex!(r"(?i)\b(?:not|never|no|without|n't|instead of|does|did|expect\w*|should)\b");
    let stored = regex!(
        r"(?i)\b(?:disk|bundle|(?:file|image|binary|package|index|table|database|archive|artifact|wheel) sizes?|downloads?|storage|backups?|log files?)\b"
    );
    mended.is_match(sentence)
        || verdict == Verdict::HostGrowth && levels.is_match(sentence) && !denied.is_match(sentence)
        || meant.is_match(sentence)
        || (scaled.is_match(sentence) && !alike.is_match(sentence))
        || (stored.is_match(sentence) && !is_of_memory(sentence))
        || matches!(position(text, at), Position::Talk(reason) if reason != "an example")
}

/// Whether `text` has a course of its own: `512 -> 640 -> 770 -> 901 MB`, or three and more amounts, each above the one
/// before and with its time.
fn courses(text: &str) -> bool {
    // Each sentence is read with those before it, and most have no number.
    if !text.contains(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let drawn = || {
        regex!(
            r"(?i)\d[\d.,]* ?(?:[kmgt]i?b|[kmg]i)?(?: ?(?:\([^)]{1,12}\) ?)?(?:->|=>|\x{2192}|,|/) ?\d[\d.,]* ?(?:[kmgt]i?b|[kmg]i)?){3,} ?(?:[kmgt]i?b|[kmg]i)\b"
        )
        .find(text)
    };
    let marked = |text: &str| text.contains(['>', '\u{2192}', '/']);
    let values = |list: &str| {
        let written = regex!(r"\d+(?:\.\d+)?").find_iter(list);
        written.filter_map(|value| value.as_str().parse().ok()).collect::<Vec<f64>>()
    };
    if let Some(found) = marked(text).then(drawn).flatten() {
        return marked(found.as_str()) && rises(&values(found.as_str()));
    }
    // `memory_allocated() after each batch: 702, 905, 1108, 1311, 1514`
    let plain = regex!(r"\b\d[\d.]*(?:(?:, (?:then |and )?| -> | \x{2192} )\d[\d.]*){4,}\b");
    if let Some(found) = plain.find(text).filter(|_| is_of_memory(text)) {
        return rises(&values(found.as_str()));
    }
    let amounts: Vec<f64> = amounts(text).iter().map(|one| one.bytes).collect();
    let far = amounts.len() == 2 && amounts[1] >= 5.0 * amounts[0];
    if !(far || amounts.windows(3).any(rises)) {
        return false;
    }
    let times = regex!(
        r"(?i)\b(?:after (?:\d+|an?|one|two|three|four|five|six|ten|a few|about an?) ?(?:hours?|hrs?|h|days?|weeks?|minutes?|epochs?|steps?|iterations?|requests?|rounds?|runs?)|(?:one|an?|two|three|\d+|some|a few) (?:hour|day|week|month|minute)s? later|after (?:one|two|three|four|five)\b|(?:on|by) (?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:first|second|third|\w+th) (?:epoch|hour|day|run|round|request|iteration|step)|epoch \d+|at \d+ ?(?:h|hours|min)|at (?:number|image|file|request|iteration|item|step|call|frame|molecule|sample|document) \d+|after (?:\d+|ten|twenty|thirty|forty|fifty|(?:a|one) hundred)(?: (?:\w+ )?(?:cycles|times|calls|files|images|messages|jobs|reloads|visits|changes|saves))?|in the (?:morning|evening|afternoon)|by (?:lunch|noon|night|the evening|the end)|at night|when i (?:log in|come back|leave|look)|(?:right|directly|shortly) after|after (?:a |the )?(?:re)?(?:start|load|boot|login)\w*|next day|day \d+|(?:(?:mon|tue(?:s)?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?(?: \w+)?|mo|di|mi|do|fr|\d+ ?h) \d[\d.,]* ?[kmgt]i?b)\b"
    );
    times.find_iter(text).count() >= 2
}

/// Whether each value is above the one before, and the last by enough.
fn rises(values: &[f64]) -> bool {
    values.len() > 2 && values.windows(2).all(|two| two[1] > two[0]) && values[values.len() - 1] >= GROWN * values[0]
}

/// Growth while the work goes on, whether the sentence has its amounts, and the byte from which it says so.
fn growth(sentence: &str, amounts: &[Amount]) -> Option<(Verdict, bool, usize)> {
    let grows = regex!(
        r"(?i)\b(?:gr[eo]w(?:s|ing|n|th)?|ris(?:e|es|ing|en)|rose|climb(?:s|ed|ing)?|increas(?:e|es|ed|ing)|cre(?:eps?|pt|eping)|balloon(?:s|ed|ing)?|leak(?:s|ed|ing|age)?|accumulat(?:e|es|ed|ing)|(?:goes|go|going|went|gone) (?:steadily |slowly |gradually |constantly )?up|builds? up|building up|(?:went|goes|gone) from|pil(?:e|es|ing) up|stacks? up|inch(?:es|ing|ed) up|bloats?|swells?|gains?)\b"
    );
    let grown = grows.find(sentence);
    let added = rate(sentence, amounts);
    let plus = || amounts.iter().any(|amount| sentence[..amount.start].ends_with(['+']));
    let proven = added && (grown.is_some() || plus())
        || amounts.windows(2).any(|two| moves(sentence, &two[0], &two[1], grown.is_some()))
        || grown.is_some()
            && amounts.iter().any(|amount| amount.bytes >= LITTLE && is_reached_in_time(&sentence[amount.end..]));
    let claimed = regex!(
        r"(?i)\b(?:leak(?:s|ed|ing|age)?|more and more|not (?:being )?(?:freed|released|returned)|never (?:freed|released|given back|stabili[sz]es?|drops?|goes down|comes? (?:back|down)|stops (?:growing|rising|increasing))|not given back|(?:does not|doesn't|do not|don't) (?:give|return) (?:\w+ ){0,2}back|gives? nothing back|never (?:collected|lets? go)|only goes one way|los(?:es|ing) memory|keeps (?:something|a bit|some of it)|leaves? [^.]{0,40}\bbehind|(?:each|every) (?:day|hour|week|time|run) more|more (?:memory|ram|vram) (?:each|every)|lost (?:for|with|per) (?:each|every)|eat(?:s|ing) (?:up )?(?:the|all|more)\b|isn't (?:freed|released|returned|given back)|stays? behind|(?:kept|held|retained) forever|needs? a restart every|(?:never|not|n't) (?:handed|given|paid) back|(?:re(?:start|boot)(?:ing|s|ed)?|logging out|log(?:ging)? off|reload(?:ing|s)?) (?:\w+ ){0,3}(?:brings?|gets?|frees?|releases?|returns?|resets?|clears?|recovers?|helps)\b|goes? on (?:falling|rising|growing|climbing)|up and up|the longer it runs|(?:eat|uses?|take)s?(?: up)? (?:ram|memory) like crazy|straight line|eat(?:s|ing)? (?:up )?(?:my|ram|memory)\b|(?:endless|infinite) loop|over and over|again and again|always the same|one and the same|left alone|(?:leak|effect|growth|increase) (?:is gone|is absent|vanish(?:es)?|disappears?|goes away|stops)|stay (?:where it is|flat|constant) after|(?:goes|going) straight up|(?:higher|more|larger) (?:every|each) time|expect(?:ed)? an? (?:flat|constant)|gone per|bloats?|pil(?:e|es|ing) up|bring it down)\b"
    );
    // More of it with more of something else is no growth.
    let scales = |rest: &str| regex!(r"(?i)^[^.]{0,40}\b(?:with|when|as|if|by|for|because|due)\b").is_match(rest);
    let alone = grown.is_some_and(|grown| is_of_memory(sentence) && !scales(&sentence[grown.end()..]));
    let with_size =
        |rest: &str| regex!(r"(?i)^[^.]{0,20}\bwith (?:N\b|the (?:number|size|count)\b|more\b)").is_match(rest);
    let scaled = grown.is_some_and(|grown| with_size(&sentence[grown.end()..]));
    let claim = claimed.find(sentence).or(grown.filter(|_| alone || !scaled && lasts(sentence)));
    // A sentence about nothing but what each piece of the work leaves.
    let left = || {
        regex!(
            r"(?i)\b(?:lost|kept|gone|held|retained|eaten|stays?|remains?|costs?)\b|^\W*(?:(?:so|thus|that(?:'s| is)|i\.e\.),? )?(?:about|roughly|some|around|approximately|precisely|exactly|nearly|~)? ?\d"
        )
    };
    // What each of them needs is not lost.
    let needed = || regex!(r"(?i)\b(?:per|each|every|a) (?:connection|user|session|client|row|thread|model|token)\b");
    if claim.is_none() && !proven && added && left().is_match(sentence) && !needed().is_match(sentence) {
        return Some((Verdict::HostGrowth, false, 0));
    }
    let at = claim.or(grown).map_or(0, |found| found.start());
    (proven || claim.is_some()).then_some((Verdict::HostGrowth, proven, at))
}

/// Whether a sentence says that something goes on.
fn lasts(sentence: &str) -> bool {
    regex!(
        r"(?i)\b(?:after (?:about |around |roughly |only |just )?(?:~ ?)?(?:\d[\d.,]*|an?|one|two|three|four|five|six|ten|several|some|a few|a couple of|many|each|every) ?(?:\w+ )?(?:seconds?|minutes?|mins?|hours?|hrs?|h|days?|d|weeks?|months?|nights?|epochs?|steps?|iterations?|iters?|requests?|calls?|batches|runs?|cycles?|loops?|files?|messages?|connections?|jobs?|queries|restarts?|rounds?)|overnight|over (?:time|night|the (?:course|day|night|weekend|week|hours|days|run)|(?:\d+|an?|one|two|three|several|a few) (?:minutes?|hours?|days?|weeks?|epochs?))|within (?:\d+|an?|one|two|three|several|a few|minutes|hours|days)|in (?:about |under |only |just |the (?:first|last) )?(?:\d+|an?|one|two|three|several|a few) ?(?:minutes?|mins?|hours?|hrs?|h|days?|weeks?)|gradual(?:ly)?|slow(?:ly)?|steadi(?:ly)?|steady|continu\w+|constant(?:ly)?|keeps?|kept|each|every|per|until|eventually|indefinitely|forever|unbounded\w*|without (?:bound|end|limit|stopping)|linear(?:ly)?|monoton\w+|never (?:comes?|goes|drops|falls|released|freed|shrinks|gets)|(?:not|never|n't|isn't|aren't) (?:being )?(?:released|freed|returned|given back|go(?:es)? down)|by the end|bit by bit|little by little|more and more|day by day|step by step|with (?:the )?(?:epochs?|steps?|iterations?|time|each|every)|all the time|days? (?:later|after)|hours? later|in (?:that|this|the same) (?:time|period)|since then|in the meantime|long[- ]running)\b|\bover \d+ ?h\b"
    )
    .is_match(sentence)
}

/// Whether memory moved from the first amount to the second while the work went on: `from 300 MB to 4 GB overnight`,
/// `400 MB at start, 5 GB after six hours`.
fn moves(sentence: &str, first: &Amount, second: &Amount, grown: bool) -> bool {
    if second.bytes < GROWN * first.bytes {
        return false;
    }
    let (before, between, behind) =
        (&sentence[..first.start], &sentence[first.end..second.start], &sentence[second.end..]);
    let to = regex!(
        r"(?i)^\W{0,3}(?:\([^)]*\) ?)?(?:\w+ ){0,4}?(?:to|until|->|=>|\x{2192}|then|and|before)\b?[^.]{0,60}$|^\s?(?:->|=>|\x{2192}|\x{2013}|-)\s?$"
    );
    if grown && to.is_match(between) && lasts(sentence) {
        return true;
    }
    let begins = regex!(
        r"(?i)\b(?:starts?|started|starting|begins?|began|beginning|initial(?:ly)?|at first|fresh(?:ly)?|in the (?:first|beginning)|first (?:epoch|step|hour|minutes?|request)|(?:after|at|on) (?:a )?(?:start|boot|restart|launch|deploy)\w*)\b[^.]{0,80}$"
    );
    let ends = regex!(
        r"(?i)\b(?:after|then|later|by|until|now|ends?|ended|reach(?:es|ed)?|gradual(?:ly)?|eventual(?:ly)?|final(?:ly)?|increas\w+|grows?|grew|ris(?:es|ing)|climbs?|goes up|before (?:it|the))\b"
    );
    second.bytes >= 1.5 * first.bytes
        && (begins.is_match(before) || begins.is_match(between) && ends.is_match(between))
        && (ends.is_match(between) || lasts(behind))
}

/// Whether a time follows an amount: `14 GB after 2 days`.
fn is_reached_in_time(behind: &str) -> bool {
    regex!(
        r"(?i)^\W{0,2}(?:\w+ ){0,3}?(?:after|in|within|over) (?:about |around |only |just |less than |~ ?)?(?:\d[\d.]*|an?|one|two|three|four|five|several|a few|some|the) ?(?:minutes?|hours?|hrs?|h|days?|d|weeks?|nights?|weekend)\b|^\W{0,2}(?:\w+ ){0,2}?overnight\b"
    )
    .is_match(behind)
}

/// Whether an amount is what is added with each piece of the work, or in a time: `50 MB per hour`, `each call leaks 2 MB`.
fn rate(sentence: &str, amounts: &[Amount]) -> bool {
    if amounts.is_empty() {
        return false;
    }
    let behind = regex!(
        r"(?i)^\s?(?:of (?:\w+ )?(?:memory|ram|vram|rss|heap) )?(?:(?:are|is|were|was|gets?) )?(?:lost|kept|gone|left|held|retained|eaten|leaked)? ?(?:/ ?|per |an? |each |every |for (?:each|every) |(?:with|on|from|after) (?:each|every) )(?:\d+ |(?:\w+ )?)?(?:minutes?|mins?|hours?|hrs?|h|days?|d|weeks?|requests?|calls?|iterations?|iters?|epochs?|steps?|batch(?:es)?|connections?|sessions?|messages?|files?|images?|frames?|cycles?|runs?|jobs?|tasks?|quer(?:y|ies)|loops?|rounds?|pages?|reloads?|tabs?|invocations?|transactions?|items?|uploads?|users?|builds?|tests?|episodes?|inferences?|generations?|restarts?|events?|changes?|toggles?|swaps?|switch(?:es)?|saves?|clicks?|visits?|clips?|pictures?|prints?)\b"
    );
    let before = regex!(
        r"(?i)\b(?:each|every|per) (?:\w+ ){0,2}?(?:request|call|iteration|epoch|step|batch|connection|session|message|file|image|frame|cycle|run|job|task|query|loop|round|page|reload|invocation|transaction|item|upload|user|build|test|episode|hour|minute|day|change|toggle|swap|switch|save|click|visit|picture|print)\b[^.]{0,40}\b(?:leaks?|adds?|costs?|grows?|increases?|rises?|climbs?|loses?|keeps?)\b[^.]{0,40}$"
    );
    amounts.iter().any(|amount| behind.is_match(&sentence[amount.end..]) || before.is_match(&sentence[..amount.start]))
}

/// More memory in a newer version, whether the sentence has the amounts of both, and the byte from which it says so.
fn newer(sentence: &str, amounts: &[Amount]) -> Option<(Verdict, bool, usize)> {
    // The address of a machine is no version.
    let addresses = regex!(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b");
    let masked = addresses.replace_all(sentence, |found: &Captures<'_>| "_".repeat(found[0].len()));
    let sentence = masked.as_ref();
    let updated = regex!(
        r"(?i)\b(?:upgrad(?:e|ed|es|ing)|updat(?:e|ed|es|ing)|self-update|new(?:er|est)? (?:version|release|build|image)|latest (?:version|release|build)|switch(?:ed|ing)?|migrat(?:ed|ing|ion)|moving to|moved to|bump(?:ed|ing)?|regression|regressed|release|version|commit|bisect|first bad|merge[d]?|since|compared (?:to|with)|v?\d+\.\d+(?:\.\d+)*)\b"
    );
    let more_by = regex!(
        r"(?i)\d ?[kmg]i?b (?:more|larger|higher|bigger) (?:than|with|in|on|since|after)\b|\b(?:twice|double|(?:\d+(?:\.\d+)?|two|three|four|five)(?:x| times)) (?:the |as much |more )?(?:memory|ram|vram)\b|\b(?:takes?|needs?|uses?) more of the (?:gpu|card|memory|ram)\b"
    );
    // A test that compares with its baseline.
    let worse = regex!(r"(?i)\bmemory\b[^.\d]{0,60}\bis \d+(?:\.\d+)?% (?:worse|higher) \(max allowed\b");
    if let Some(found) = worse.find(sentence) {
        return Some((Verdict::Regression, true, found.start()));
    }
    // `2.1 GB` is no version.
    let mut bare = sentence.to_owned();
    amounts.iter().rev().for_each(|amount| bare.replace_range(amount.start..amount.end, ""));
    if !updated.is_match(&bare) {
        return more_by.find(sentence).map(|found| (Verdict::Regression, false, found.start()));
    }
    if versioned(sentence, amounts) {
        return Some((Verdict::Regression, true, 0));
    }
    let old = regex!(
        r"(?i)(?:\b(?:previously|formerly|before(?:hand)?|used to (?:be|take|use|need|run at|sit at|have)?|up from|compared (?:to|with)|instead of|rather than|vs\.?|versus|whereas|while|from|old(?:er)?(?: version)?|(?:last|previous|earlier) (?:version|release|build))\b[^\d]{0,40}|\b(?:with|in|on|under|using) (?:\w+ )?v?\d+(?:\.\d+)+[^\d]{0,40})(?:\d+(?:\.\d+)*[^\d]{1,30})?$"
    );
    let grown = amounts.windows(2).any(|two| {
        let (head, between) = (&sentence[..two[0].start], &sentence[two[0].end..two[1].start]);
        let first_is_old = old.is_match(head);
        let second_is_old = old.is_match(between) && !regex!(r"(?i)\b(?:to|now|after|since)\b").is_match(between);
        match (first_is_old, second_is_old) {
            (_, true) => two[0].bytes >= MORE * two[1].bytes,
            (true, false) => two[1].bytes >= MORE * two[0].bytes && between.len() < 120,
            (false, false) => false,
        }
    });
    let more = regex!(
        r"(?i)\b(?:(?:more|higher|increased|extra|additional|twice|double|triple|huge|excessive|elevated|larger) (?:\w+ ){0,3}?(?:memory|ram|vram|rss|heap|footprint|consumption)|(?:memory|ram|vram|rss|heap|footprint|peak|buffer)\b[^.]{0,60}\b(?:larger|bigger|doubl(?:e[ds]?|ing)|tripl(?:e[ds]?|ing)|explod(?:es|ed)|jump(?:s|ed)?|went up|goes up|gone up|increas(?:e[ds]?|ing)|higher|twice|regress(?:ion|ed)|gr[eo]wn?|rose|skyrocket\w*|shot up|up by))\b|\bmemory (?:regression|jump|bloat)\b|\bfirst bad\b"
    );
    let claim = more.find(sentence).or_else(|| more_by.find(sentence)).map(|found| found.start());
    (grown || claim.is_some()).then_some((Verdict::Regression, grown, claim.unwrap_or(0)))
}

/// Whether the sentence has amounts of two versions or commits, and that of the newer one is more.
fn versioned(sentence: &str, amounts: &[Amount]) -> bool {
    let named = regex!(
        r"(?i)\b(?:v?(?P<version>\d+(?:\.\d+){1,3})|(?:version|release|build) (?P<whole>\d+)|(?P<old>old|previous|good)|(?P<new>new|current|latest|main|master|bad))\b"
    );
    let [first, second] = amounts else { return false };
    let of = |from: usize, to: usize| named.captures_iter(&sentence[from..to]).last();
    let (Some(a), Some(b)) = (of(0, first.start), of(first.end, second.start)) else { return false };
    let version = |name: &regex::Captures<'_>| -> Option<Vec<u32>> {
        name.name("version").or(name.name("whole"))?.as_str().split('.').map(|part| part.parse().ok()).collect()
    };
    let newer = match (version(&a), version(&b)) {
        (Some(a), Some(b)) if a != b => b > a,
        (None, _) if a.name("old").is_some() => b.name("old").is_none(),
        (_, None) if b.name("old").is_some() => false,
        _ => return false,
    };
    let (before, after) = if newer { (first, second) } else { (second, first) };
    after.bytes >= MORE * before.bytes
}

/// The line below line `at` that has the amount after an update, if line `at` has that before it: `Before upgrading:
/// memory (idle): 210 MB`.
pub(super) fn after_an_update(lines: &Lines, at: usize) -> Option<&Line> {
    let side = |text: &str| {
        let words = regex!(
            r"(?i)^\W*(before|after|old|new|previous|current)\b[^\d]{0,40}(?:upgrad|updat|version|release|patch|change|switch|migrat|commit|bump|build|v?\d+\.\d+)"
        );
        let side = words.captures(text)?[1].to_ascii_lowercase();
        let amounts = amounts(text);
        let [amount] = &amounts[..] else { return None };
        Some((matches!(side.as_str(), "before" | "old" | "previous"), amount.bytes))
    };
    let (true, before) = side(lines[at].message())? else { return None };
    let mut below = lines[at + 1..].iter().take(APART);
    below.find(|line| side(line.message()).is_some_and(|(old, after)| !old && after >= MORE * before))
}

/// The sentences of `text`, which follow each other without a gap.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let short = |end: &regex::Match<'_>| {
            regex!(r"(?i)\b(?:e\.g|i\.e|approx|vs|ca|resp|etc)$").is_match(&rest[..end.start()])
        };
        let end = regex!(r"[.!?;]\s+").find_iter(rest).find(|end| !short(end)).map_or(rest.len(), |end| end.end());
        let (sentence, others) = rest.split_at(end);
        rest = others;
        (!sentence.is_empty()).then_some(sentence)
    })
}

pub(super) fn is_of_memory(text: &str) -> bool {
    regex!(r"(?i)\b(?:\w*memory\w*|peaks?|leak(?:s|ed|ing)?|mem|rss|ram|vram|heap|footprint|working set|resident|private bytes|process|task manager|activity monitor|htop|gpu[ _](?:usage|mem))\b")
        .is_match(text)
}

pub(super) fn is_of_a_device(text: &str) -> bool {
    // `system RAM (not VRAM)`
    let named = regex!(
        r"(?i)(not (?:the )?)?\b(?:gpus?|vram|cuda|device memory|video memory|hbm\w*|nvidia-smi|tpu|nv_gpu\w*|cupy|vma|vulkan|empty_cache|(?:allocated|reserved|active|requested)_bytes\.\w+\.(?:current|peak))\b"
    );
    named.captures_iter(text).any(|found| found.get(1).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<(Verdict, bool)> {
        super::said(text, "")
    }

    #[test]
    fn growth_with_its_amounts_is_proven() {
        for text in [
            "RSS grows from 300 MB to 4.1 GB overnight.",
            "The memory of the worker climbed from 1.2 to 6 GB within two days",
            "leaks about 50 MB of memory per hour under load",
            "Every request leaks some 2 MB of heap.",
            "It starts at 400 MB of RAM and after six hours it is at 5.1 GB.",
            "RSS memory leak (14 GB after 2 days)",
            "Memory after each save: 512 -> 640 -> 770 -> 901 MB",
            "GPU memory was 11.2 GB in the first epoch, 13.4 GB in the tenth and in epoch 58 it is 18.7 GB.",
        ] {
            assert!(said(text).contains(&(Verdict::HostGrowth, true)), "{text}: {:?}", said(text));
        }
        let text = "When I train, the cuda memory is 4GB in the first epoch, but gradually it increases to 11GB.";
        assert!(said(text).contains(&(Verdict::HostGrowth, true)));
    }

    #[test]
    fn growth_without_amounts_is_a_claim() {
        for text in ["Memory leak in the exporter", "The heap keeps growing while it is idle"] {
            assert_eq!(said(text), [(Verdict::HostGrowth, false)], "{text}");
        }
        assert_eq!(said("The agent uses twice the memory since the update"), [(Verdict::Regression, false)]);
    }

    #[test]
    fn more_than_in_an_older_version_is_a_regression() {
        for text in [
            "I see it at 11.8 GB of RAM, while with 2.9.12 it was running at about 4.6 GB.",
            "Memory went from 1.2 GB in 3.1 to 2.9 GB in 3.2.",
            "Since the upgrade it uses 5 GB of memory, up from 1.5 GB.",
            "RAM usage is 900 MB in 5.1.0, previously 400 MB",
            "6.1.9 sits at around 420 MB of memory in total, 6.2.0 at 1.25 GB and stays there.",
        ] {
            assert!(said(text).contains(&(Verdict::Regression, true)), "{text}: {:?}", said(text));
        }
        let text = "Before updating: memory with relayd 4.1.3 (idle): ~210 MB\nAfter updating: memory: ~1.1 GB";
        assert!(after_an_update(&Lines::hot(text), 0).is_some());
    }

    #[test]
    fn what_was_mended_or_may_be_is_none() {
        for text in [
            "Fixed a leak in which RSS grew from 300 MB to 4 GB overnight",
            "Memory can grow from 300 MB to 4 GB within hours",
            "RSS no longer grows by 50 MB per hour",
            "Memory rises from 8 GB to 20 GB with a larger batch size after one step",
            "The release reduces memory from 5 GB in 3.1 to 2 GB in 3.2",
            "The download increases from 300 MB to 4 GB every day",
            "Memory throughput increases from 300 MB/s to 900 MB/s over time",
        ] {
            assert!(said(text).iter().all(|(_, proven)| !proven), "{text}: {:?}", said(text));
        }
    }
}
