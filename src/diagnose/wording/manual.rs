//! The messages that a manual, a runbook or a page of help is about: they happened to nobody who reads it.

use super::super::window::{Line, Lines};
use super::regex;

/// How many lines of an example may be above the one in question.
const EXAMPLE: usize = 12;
/// How many lines a sentence may take.
const SENTENCE: usize = 3;
/// How many lines around a line may be of the same step of a runbook.
const STEP: usize = 20;

/// Why line `at` is not an event, if a manual is about it.
pub(super) fn dismissed(lines: &Lines, at: usize) -> Option<&'static str> {
    if foretold(lines, at) {
        return Some("what may happen");
    }
    if planned(lines, at) {
        return Some("a line of a test run");
    }
    let manual = defined(lines, at)
        || announced(lines, at)
        || supposed(lines, at)
        || goes_on(lines, at)
        || entry(lines, at)
        || of_an_option(lines, at)
        || to_fill_in(lines, at);
    manual.then_some("a manual")
}

/// Whether line `at` belongs to what a command prints that its reader has yet to fill in (`kubectl describe pod
/// <POD_NAME>`), in a text that says what to do then. People hide names in what they paste, but need no advice in it.
fn to_fill_in(lines: &Lines, at: usize) -> bool {
    let open = |line: &Line| {
        regex!(
            r"^\W{0,4}(?:\w+=\S* )?(?:sudo )?(?:kubectl|oc|docker|podman|crictl|nerdctl|ssh|dmesg|journalctl|sacct|scontrol|bjobs|qstat|aws|gcloud|az|helm|ps|cat|grep|pmap|gdb|jcmd|nvidia-smi)\b.*(?:<(?:[A-Z][A-Z0-9_-]+|(?:your-|my-)?[a-z]+(?:[-_ ][a-z]+)*)>|\[(?:name|pod|container|namespace|node|id|pid|job)[\w-]*\])"
        )
        .is_match(&line.text)
    };
    let advises = |line: &Line| {
        regex!(
            r"(?i)^\W*(?:step \d+\b|why:|runbook\b|expected output\b|(?:common |possible |likely )?(?:causes|resolutions?|solutions|fixes|remedies|symptoms)\W*$|if (?:(?:the|a|an|your|this|its) )?(?:exit code|output|reason|pod|container|process|kernel|line|state|status|result|value|command)s?\b|if (?:there is|it (?:is|shows|says)|no|multiple|nothing)\b)"
        )
        .is_match(&line.text)
    };
    // Who reports a failure says how it came about.
    let reports = |line: &Line| {
        regex!(r"(?i)\b(?:to reproduce|reproduc(?:es?|tion|ible)|what happened|actual (?:behaviou?r|results?)|bug report|my \w+|(?:I|we) (?:get|got|see|saw|ran|run|have|am|was|were)|help)\b")
            .is_match(&line.text)
    };
    let near = &lines[at.saturating_sub(STEP)..lines.len().min(at + STEP)];
    lines[at.saturating_sub(EXAMPLE)..at].iter().any(open) && near.iter().any(advises) && !near.iter().any(reports)
}

/// Whether line `at` is what a test wanted: the text below the example goes on with `as it should`.
fn planned(lines: &Lines, at: usize) -> bool {
    let below = lines[at + 1..].iter().take(SENTENCE).find(|line| !line.text.trim_matches([' ', '`']).is_empty());
    below.is_some_and(|line| {
        regex!(r"^(?:, )?(?:just )?as (?:it should|(?:was |is )?(?:expected|planned|intended|designed|wanted))\b")
            .is_match(&line.text)
    })
}

/// Whether line `at` goes on with a sentence about what may happen: the line above ends with `will be`.
fn foretold(lines: &Lines, at: usize) -> bool {
    lines[at].text.starts_with(|c: char| c.is_lowercase())
        && at.checked_sub(1).is_some_and(|above| {
            regex!(r"\b(?:will|would|may|might|can|could|should|shall) (?:then |now |also |always )?(?:be|get)$")
                .is_match(lines[above].text.trim_end())
        })
}

/// Whether the line above the example that line `at` belongs to introduces what people may see: it breaks off in the
/// middle of a condition (`If you see`), or names typical output.
fn announced(lines: &Lines, at: usize) -> bool {
    let indented = |line: &&Line| line.text.starts_with('\t') || line.text.starts_with("    ");
    let mut above = lines[at.saturating_sub(EXAMPLE)..at].iter().rev();
    let head = if indented(&&lines[at]) {
        above.find(|line| !indented(line) && !line.is_fence())
    } else if above.clone().any(Line::is_fence) {
        above.find(|line| line.is_fence());
        above.next()
    } else {
        above.next()
    };
    // A whole sentence introduces nothing, and lines of a log are longer.
    let open = |line: &&Line| line.text.len() < 240 && !line.text.trim_end().ends_with(['.', '!', ')', ']', '"']);
    head.filter(open).is_some_and(|head| {
        regex!(
            r"(?:^|[\s(*])(?:If|if|When|Whenever|In case|in case) (?:you|your \w+|the \w+|users?)(?: \w+){0,4}? (?:sees?|gets?|encounters?|receives?|hits?|faces?|runs? into|fails? with|crash(?:es)? with|prints?|reports?|says|shows?)(?: [\w`]+){0,6}:?\**$|(?i:\b(?:typical|common|usual|possible|sample|example|expected) (?:\w+ )?(?:messages?|errors?|outputs?|logs?|lines?|symptoms?)(?: (?:is|are|look|looks|like|include|includes|may|be|this))*:?$)|\b[Oo]utput shows\b[^.]*:$|\b(?:is|are|looks?|something) (?:similar to|like) (?:this|the following):$|\b[Yy]ou (?:will|should|may|might|can|could) (?:then )?(?:see|get|find|notice)\b[^.]*:$|\b(?:[Ff]or (?:example|instance)|such as|e\.g\.),?:?$|(?i:\b(?:messages?|errors?|outputs?|logs?|lines?|reports?|symptoms?) (?:then |usually |often |may |will )?looks? like:?$)|^(?:The|This|Its) (?:first|second|third|last|next|following|other) (?:line|part|block|entry|row|field)s?\b[^:]*:$"
        )
        .is_match(head.text.trim_end())
    })
}

/// Whether line `at` belongs to an example, indented below a sentence that breaks off and is about what could happen:
/// `in the worst case you can have several, and then the server gets`.
fn supposed(lines: &Lines, at: usize) -> bool {
    let indented = |line: &Line| line.text.starts_with([' ', '\t']);
    let Some(head) = lines[at.saturating_sub(EXAMPLE)..at].iter().rposition(|line| !indented(line)) else {
        return false;
    };
    let head = at.saturating_sub(EXAMPLE) + head;
    let open = regex!(r"\b(?:gets?|sees?|shows?|says|prints?|reports?|throws?|raises?|returns?|with|like):?$");
    if !indented(&lines[at]) || !open.is_match(lines[head].text.trim_end()) {
        return false;
    }
    let words: Vec<&str> = lines[head.saturating_sub(SENTENCE)..=head].iter().map(|line| line.text.trim()).collect();
    let words = words.join(" ");
    let sentence = words.rsplit(['.', '!', '?']).next().unwrap_or_default();
    regex!(r"(?i)\b(?:worst case|can|may|might|would|could|in theory)\b").is_match(sentence)
        && !regex!(r"\b(?:I|we|We|my|our|got|was|were|had|saw|did)\b|\d").is_match(sentence)
}

/// Whether line `at` is, or goes on with, a sentence of a manual.
fn goes_on(lines: &Lines, at: usize) -> bool {
    if described(lines[at].message()) {
        return true;
    }
    let mut below = &lines[at];
    for line in lines[at.saturating_sub(SENTENCE)..at].iter().rev() {
        let broken = line.number + 1 == below.number
            && below.text.starts_with(|c: char| c.is_lowercase())
            && line.text.trim_end().ends_with(|c: char| c.is_lowercase() || c == ',');
        if !broken {
            return false;
        }
        if described(&line.text) {
            return true;
        }
        below = line;
    }
    false
}

/// An entry of a reference: the name of an error, and below it, indented, when it is raised.
fn entry(lines: &Lines, at: usize) -> bool {
    regex!(
        r"^\s*(?:\.\. \w+:: |(?:exception|class|error|struct|enum) )?[A-Za-z_][\w.]*(?:Error|Exception)(?:\(.*\))?:?$"
    )
    .is_match(&lines[at].text)
        && lines.get(at + 1).is_some_and(|below| {
            regex!(r"^\s{2,}(?:Raised|Thrown|Returned|Signals|Indicates|(?:Subclass|Base class) of) ")
                .is_match(&below.text)
        })
}

/// Whether line `at` is indented below an option of a command, among others.
fn of_an_option(lines: &Lines, at: usize) -> bool {
    const OPTIONS: usize = 3;
    let names = |line: &&Line| {
        regex!(
            r"^\s*-{1,2}[A-Za-z][\w-]*(?:[ =]<?[\w.-]+>?)?(?:(?:,? | or )-{1,2}[A-Za-z][\w-]*(?:[ =]<?[\w.-]+>?)?)*\s*$"
        )
        .is_match(&line.text)
    };
    let near = &lines[at.saturating_sub(EXAMPLE)..lines.len().min(at + EXAMPLE)];
    lines[at].text.starts_with([' ', '\t'])
        && lines[at.saturating_sub(SENTENCE)..at].iter().any(|line| names(&line))
        && near.iter().filter(names).count() >= OPTIONS
}

/// Whether line `at` is a few words alone, and an indented sentence below explains them.
fn defined(lines: &Lines, at: usize) -> bool {
    regex!(r"^[a-z][a-z]*(?: [a-z-]+){1,7}$").is_match(lines[at].text.trim_end())
        && lines.get(at + 1).is_some_and(|below| {
            regex!(r"^(?: {2,}|\t)(?:The|This|A|An|There|Your|It|When|If|Some|No) \w[^:]*\s[\w.,]+$")
                .is_match(below.text.trim_end())
        })
}

/// A sentence of a manual about what a setting, a counter or a message is for.
fn described(text: &str) -> bool {
    regex!(
        r"^(?:This|These|The) (?:(?:[\w-]+ )?(?:values?|flags?|files?|options?|parameters?|settings?|variables?|switch(?:es)?|entr(?:y|ies)|fields?|functions?|methods?|features?|polic(?:y|ies)|propert(?:y|ies)|keys?|metrics?|counters?|messages?|errors?|exceptions?|status|signal) )?(?:contains?|enables?|disables?|controls?|determines?|specif(?:y|ies)|defines?|indicates?|means|lists|describes?|allows?|selects?|toggles?|configures?|counts)\b|^(?:If|When) (?:this |it )?(?:is )?set to\b|^(?:Enables?|Disables?|Controls|Determines|Specifies|Defines|Toggles|Configures) (?:or (?:en|dis)ables? )?(?:whether|how|what|which|if|the|a|an|panic\w*|out)\b"
    )
    .is_match(text)
}

#[cfg(test)]
mod tests {
    use super::super::dismisses;
    use super::*;

    /// Whether the line that holds `what` is dismissed.
    fn is(text: &str, what: &str) -> bool {
        dismisses(dismissed, text, what)
    }

    #[test]
    fn the_messages_that_a_manual_is_about_are_no_events() {
        for text in [
            "Node limits its heap. If you see\n\n    FATAL ERROR: JavaScript heap out of memory\n\nset NODE_OPTIONS\n",
            "If your job fails with:\n```\nslurmstepd: out of memory\n```\nask for more.\n",
            "If you get the following error:\n    x: 1\n    out of memory\n",
            "This enables or disables panic on out of memory feature.\n",
            "--limit or -m\n    The limit.\n-M, --no-evict\n    Say out of memory rather than evict.\n-k\n    Lock pages.\n",
            "When set to 1, the kernel panics when out of memory.\n",
            "This enables or disables killing the task that\nis running when the kernel is in\nout of memory situations.\n",
            "The output shows that the container was killed:\n\n    state:\n      reason: out of memory\n",
            "Typical messages are\n\n    RuntimeError: out of memory\n",
            "The cause is the batch. The message looks like\n```\nRuntimeError: out of memory\n```\nLower it.\n",
            "The last line names the victim:\n\n    kernel: out of memory\n\nThe rest is the state.\n",
            "I ran it, and the parent prints\n\n    worker 3: out of memory\n\nas it should.\n",
            "Expected output:\n\n    kernel: out of memory\n\nIf there is none, go on.\n",
            "Step 1: ask for the state\nkubectl get pod <POD> -n <NS> -o json\n{\"reason\":\"out of memory\"}\n",
            "If a pod was killed, its state says so.\nkubectl describe pod [name]\nReason: out of memory\nCommon causes:\n",
        ] {
            assert!(is(text, "out of memory"), "{text}");
        }
        assert!(is("exception MemoryError\n    Raised when an operation runs out.\n", "MemoryError"));
        for text in [
            "I run it and get\n\n    FATAL ERROR: JavaScript heap out of memory\n",
            "When I run train.py I get:\n    out of memory\n",
            "The worker is out of memory\n",
            "137 out of memory\n",
            "$ kubectl describe pod <redacted>\nReason: out of memory\n",
            "Step 1: train\n$ kubectl describe pod web-1\nReason: out of memory\n",
            "To reproduce:\nStep 1: train\nStep 2: kubectl describe pod <pod-name>\nReason: out of memory\n",
            "kubectl describe pod <pod-name>\nReason: out of memory\nIf you need the whole log, ask.\n",
            "This enables the cache.\nout of memory\n",
            "$ run\n--limit\n    out of memory\n",
            "The output is:\n\n    RuntimeError: out of memory\n",
        ] {
            assert!(!is(text, "out of memory"), "{text}");
        }
    }
}
