//! Refusals that a program survives: it prints what it does instead, and continues.

use super::super::window::Lines;
use super::regex;

pub(super) const REASON: &str = "the program says that it continues without the memory";

/// How many lines before and after a message may announce what the program does instead.
const BEFORE: usize = 2;
const BEHIND: usize = 4;
/// How many lines after a message may show whether the program continued.
const ON: usize = 40;

/// Whether the rest of a message announces an alternative.
pub(super) fn in_words(rest: &str) -> bool {
    regex!(
        r"(?i)^[^\n]{0,160}?[\s,;.(:-](?:fall(?:ing|s)? back|fell back|fallback to|re-?trying (?:with|using|on|in|after|without|at)|will (?:be )?(?:retr(?:y|ied)|skip(?:ped)?|ignored?|continue|use)|(?:skipping|ignoring|disabling|continuing|proceeding)\b|(?:re)?trying (?:with )?(?:an? |the )?(?:smaller|lower|slower|cheaper|less|another|other|different|next|reduced|alternative)\b|using (?:the |an? )?(?:default|fall-?back|small|slow|conservative|system|host|cpu|swap|disk|plain|normal|regular)\w*\b|\w+ing [\w -]{1,40} instead)|^[^\n]{0,160}?[,;] (?:using (?:the|an?|only|\d)|offloading|spilling|switching|splitting|moving) "
    )
    .is_match(rest)
}

/// Whether lines around line `at` announce another try with less memory, and later lines show that the program
/// continued.
pub(super) fn around(lines: &Lines, at: usize) -> bool {
    let again = regex!(
        r"(?i)\b(?:attempting to recover|recover(?:ed|ing) from|skip(?:ping|ped) (?:this |the )?(?:batch|step|sample|image|file|frame|document|update|iteration)|re-?try(?:ing)?(?: again)?(?: \w+)? (?:with|using|on|at|without)|fall(?:ing|s)? back (?:to|on)|fell back to|(?:reduc|decreas|lower|halv|shrink)(?:ing|ed) (?:the |its )?(?:\w+ ){0,2}(?:batch|chunk|tile|block|window|size|resolution|context)|switch(?:ing|ed) to (?:tiled|cpu|the cpu|low|smaller)|\btrying (?:batch|chunk|tile|block|window)\b|\bauto[_ -]?batch\b|\bfind(?:ing)? (?:the )?(?:largest|maximum|optimal|best) batch)"
    );
    let on = regex!(
        r"(?i)\b(?:success\w*|succeeded|done|complet\w+|finished|saved|exported|rendered|recovered|stopped: `max)\b|\b200 OK\b|\bmodel loaded\b|\blistening (?:on|at)\b|\bserver is (?:listening|ready|running|up)\b|\bstartup complete\b|\btokens per second\b|\d%\||\bit/s\b|\bs/it\b|\bloss\b|\b(?:step|epoch|iter(?:ation)?|batch|request|frame|image|tile)s?\W{1,3}\d"
    );
    let failed = regex!(
        r"^Traceback |(?:^|\s)[\w.]*(?:Error|Exception)(?::|$)|(?i)\b(?:aborted|aborting|core dumped|killed|exited with|giving up|gave up|still out of memory|failed again|failed after|fatal)\b"
    );
    let line = lines[at].message();
    // Memory that cannot be pinned is used unpinned: the driver's error follows the warning.
    let pinned = regex!(r"(?i)^\w+: (?:warning: )?failed to allocate (?:\S+ \w+ of )?pinned memory");
    if lines.before(at).next().is_some_and(|line| pinned.is_match(line.message())) {
        return true;
    }
    // A thrown exception ends the program, unless a later line shows otherwise.
    let said = lines.before(at).take(BEFORE).any(|line| again.is_match(line.message()))
        || lines.after(at).take(BEHIND).any(|line| again.is_match(line.message()))
        || again.is_match(line);
    let behind = || lines.after(at).take(ON).map(|line| line.message()).filter(|text| !again.is_match(text));
    said && behind().any(|text| on.is_match(text)) && !behind().any(|text| failed.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_instead_is_known_by_its_words() {
        for text in [
            "CNMEM_STATUS_OUT_OF_MEMORY, falling back to pinned system memory",
            "out of memory; retrying with a smaller tile",
            "Cannot allocate memory, will use the page cache",
            "out of memory (skipping)",
        ] {
            assert!(in_words(text), "{text}");
        }
        for text in ["out of memory", "out of memory: reduce the batch size and try again"] {
            assert!(!in_words(text), "{text}");
        }
    }

    #[test]
    fn a_program_that_goes_on_has_recovered_and_one_that_ends_has_not() {
        let text = "CUDA out of memory\nretrying with batch size 4\nstep 12: loss 0.5\n";
        assert!(around(&Lines::hot(text), 0));
        for end in ["RuntimeError: CUDA out of memory", "giving up"] {
            assert!(!around(&Lines::hot(&format!("{text}{end}\n")), 0), "{end}");
        }
        assert!(!around(&Lines::hot("CUDA out of memory\nstep 12: loss 0.5\n"), 0));
    }
}
