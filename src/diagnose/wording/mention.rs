//! Lines that only mention an event: rows that a database answers, classes that a heap or a loader lists, and comments of
//! a configuration.

use super::super::window::{Line, Lines};
use super::{manual, regex};

/// How many lines below a row the count of its rows may be.
const ROWS: usize = 200;
/// How far below the head of a trace its error may be, in lines.
const TRACE: usize = 16;
/// The fewest lines of an output that the message of a commit quotes.
const OUTPUT: usize = 3;
/// How many lines of a test may be above a line that it printed, and below it.
const TEST: usize = 48;
/// How many lines around a comment may be settings.
const SETTINGS: usize = 8;
/// How many lines of a question may be above the one in question.
const QUESTION: usize = 12;
/// How many lines around a line may be of the same page of results.
const RESULTS: usize = 40;

/// Why line `at` is not an event, judged by the document that it belongs to.
pub(super) fn dismissed(lines: &Lines, at: usize) -> Option<&'static str> {
    let text = lines[at].text.as_str();
    if class(text) || counted(text) || answered(lines, at) || exported(lines, at) {
        return Some("a row of data");
    }
    if tallied(lines, at) {
        return Some("a row of data");
    }
    if logged(lines, at) {
        return Some("a commit");
    }
    if passed(lines, at) || in_a_run(lines, at) {
        return Some("a line of a test run");
    }
    if property(lines, at) {
        return Some("a text for users, in a file of texts");
    }
    if commented(lines, at) {
        return Some("a comment");
    }
    if searched(lines, at) {
        return Some("a text that was searched for, fetched or described");
    }
    if titled(lines, at) {
        return Some("the title of an issue or a page");
    }
    if chosen(lines, at) {
        return Some("a list to choose from");
    }
    if coded(lines, at) {
        return Some("a list of errors in a manual");
    }
    if posed(lines, at) {
        return Some("a question of a test");
    }
    if evaluated(lines, at) {
        return Some("a value that an interpreter printed");
    }
    manual::dismissed(lines, at)
}

/// A class in the histogram of a heap, or one that was loaded: every heap has a few errors that were never thrown.
fn class(text: &str) -> bool {
    regex!(
        r"^\s*\d+:\s+\d+\s+\d+\s+[\w.$/\[;]+(?:\s\([^)]*\))?$|^\s*(?:0x)?[0-9a-f]{8,16}\s+[\d,]+\s+[\d,]+\s+[A-Z][\w.`+<>,\[\]]*$|\[class,load\w*\s*\]|^\s*\[Loaded \S+ from |\b\w+(?:\.[\w$]+)+:? \d+ instances?\b"
    )
    .is_match(text.trim_end())
}

/// A phrase in quotes with its share or its count, as a statistic of texts prints it.
fn counted(text: &str) -> bool {
    regex!(r#"["'][^"']+["'] \((?:0?\.\d+|\d+(?:\.\d+)? ?%|\d+ ?x|\d+ (?:times|hits|matches|occurrences))\)$"#)
        .is_match(text.trim_end())
}

/// Whether line `at` is one of several texts that were counted, as `uniq -c` prints them: each behind its number, and
/// the numbers are aligned to the right and do not run on.
fn tallied(lines: &Lines, at: usize) -> bool {
    let count = |line: &Line| -> Option<(u64, usize)> {
        let rest = line.text.trim_start();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let indent = line.text.len() - rest.len();
        let words = rest[digits..].strip_prefix(' ').filter(|words| words.starts_with(|c: char| c.is_alphabetic()))?;
        (words.len() > 3 && digits > 0).then(|| rest[..digits].parse().ok().map(|count| (count, indent + digits)))?
    };
    let Some((own, end)) = count(&lines[at]).filter(|(_, end)| *end >= 4) else { return false };
    let beside = [at.checked_sub(1), Some(at + 1)];
    let mut counts = beside.into_iter().flatten().filter_map(|index| count(lines.get(index)?)).peekable();
    counts.peek().is_some() && counts.all(|(count, other)| other == end && count.abs_diff(own) != 1)
}

/// Whether line `at` belongs to the message of a commit: it is indented, and the commit's hash is above.
fn logged(lines: &Lines, at: usize) -> bool {
    let own = |line: &Line| line.text.starts_with("    ") || line.text.trim().is_empty();
    let head = |line: &Line| regex!(r"^(?:Author|AuthorDate|Commit|CommitDate|Date|Merge): ").is_match(&line.text);
    // The trace of a failure was pasted.
    let traced = || lines[at.saturating_sub(TRACE)..at].iter().any(|line| line.text.contains("Traceback (most recent"));
    // Or another output, further in than the message: it has several lines.
    let output = |line: &Line| line.text.starts_with("      ");
    let around = &lines[at.saturating_sub(OUTPUT - 1)..lines.len().min(at + OUTPUT)];
    let pasted = || around.windows(OUTPUT).any(|lines| lines.iter().all(output));
    own(&lines[at])
        && !traced()
        && !pasted()
        && lines[at.saturating_sub(ROWS)..at]
            .iter()
            .rev()
            .find(|line| !own(line) && !head(line))
            .is_some_and(|line| regex!(r"^commit [0-9a-f]{7,40}\b").is_match(&line.text))
}

/// Whether line `at` is a row of a table of issues: its head names their titles.
fn titled(lines: &Lines, at: usize) -> bool {
    let head = regex!(
        r"^(?:[A-Z][A-Z_-]* +)+(?:TITLE|SUMMARY|SUBJECT)\b|^(?:ISSUE|TICKET|TITLE|SUMMARY|SUBJECT)(?: {2,}[A-Z][A-Z_-]*){2,}"
    );
    let gaps = |line: &Line| line.text.contains("  ");
    gaps(&lines[at])
        && lines[at.saturating_sub(ROWS)..at]
            .iter()
            .rev()
            .take_while(|line| gaps(line))
            .any(|line| head.is_match(&line.text))
}

/// Whether line `at` is an item of a menu: numbered items under a head that asks to choose one.
fn chosen(lines: &Lines, at: usize) -> bool {
    let item = |line: &Line| regex!(r"^\s*(?:\d+[).]|\[\d+\]) ").is_match(&line.text);
    item(&lines[at])
        && lines[..at].iter().rev().find(|line| !item(line)).is_some_and(|head| {
            regex!(r"(?i)^\W*(?:please )?(?:select|choose|pick|enter|options|menu|which)\b[^.]*[:?]$")
                .is_match(head.text.trim_end())
        })
}

/// Whether line `at` is a row of a table that a database answered: the number of rows stands below.
fn answered(lines: &Lines, at: usize) -> bool {
    let row = |line: &Line| line.text.contains(['|', '\u{2502}']) || regex!(r"^\s*[-+=]{4,}\s*$").is_match(&line.text);
    let count =
        |line: &Line| regex!(r"^\s*(?:\(\d+ rows?\)|\d+ rows? in set\b|\d+ rows? selected)").is_match(&line.text);
    row(&lines[at]) && lines[at + 1..].iter().take(ROWS).find(|line| !row(line)).is_some_and(count)
}

/// Whether line `at` is a row of comma-separated values without a time, under a head of names.
fn exported(lines: &Lines, at: usize) -> bool {
    let fields = |text: &str| {
        let mut quoted = false;
        let commas = text.chars().filter(|c| {
            quoted ^= *c == '"';
            *c == ',' && !quoted
        });
        commas.count() + 1
    };
    let (own, text) = (fields(&lines[at].text), lines[at].text.as_str());
    if own < 3 || text.contains(", ") && !text.contains('"') || regex!(r"\d{1,2}:\d\d:\d\d").is_match(text) {
        return false;
    }
    let above = lines[at.saturating_sub(ROWS)..at].iter().rev();
    let head = above.take_while(|line| fields(&line.text) == own).last();
    head.is_some_and(|head| {
        regex!(r#"^"?[A-Za-z][\w -]{0,30}"?(?:,"?[A-Za-z][\w -]{0,30}"?){2,}$"#).is_match(head.text.trim_end())
    })
}

/// Whether line `at` was printed by a test that passed: its beginning is above, and its success below.
fn passed(lines: &Lines, at: usize) -> bool {
    let began = regex!(r"^\[ RUN +\] |^=== RUN ");
    let ended = regex!(r"^\[ +(OK|FAILED|SKIPPED) +\] |^\s*--- (PASS|FAIL|SKIP): ");
    let mark = |line: &&Line| {
        let text = line.text.trim_start();
        let may = text.starts_with("[ ") || text.starts_with("=== ") || text.starts_with("--- ");
        may && (began.is_match(&line.text) || ended.is_match(&line.text))
    };
    let above = lines[at.saturating_sub(TEST)..at].iter().rev().find(mark);
    above.is_some_and(|line| began.is_match(&line.text))
        && lines[at + 1..].iter().take(TEST).find(mark).is_some_and(|line| {
            let how = ended.captures(&line.text);
            how.is_some_and(|how| how.iter().skip(1).flatten().any(|how| ["OK", "PASS"].contains(&how.as_str())))
        })
}

/// Whether line `at` was printed by tests of which none failed: the beginning of their run is above, and its end below.
fn in_a_run(lines: &Lines, at: usize) -> bool {
    let begins =
        regex!(r"^Running ExUnit with seed|^Randomized with seed \d|^=+ test session starts =+|^Run options: ");
    let ends = regex!(
        r"\b[1-9]\d* (?:tests?|examples?|runs), (?:\d+ assertions, )?0 failures\b|^=+ (?:\d+ (?:passed|skipped|deselected|warnings?)(?:, )?)+ in [\d.]+s"
    );
    let above = lines[at.saturating_sub(TEST)..at].iter().any(|line| begins.is_match(line.text.trim_start()));
    above && lines[at + 1..].iter().take(TEST).any(|line| ends.is_match(line.text.trim_start()))
}

/// Whether line `at` is one of several texts for users, each with its key, as in a file of translations.
fn property(lines: &Lines, at: usize) -> bool {
    let is = |line: &Line| {
        regex!(r"^\s*[A-Za-z]\w*[._-][\w.-]*\s?=\s?[^\s=\d]+(?: [^\s=]+)+$").is_match(line.text.trim_end())
    };
    let around = at.saturating_sub(3)..lines.len().min(at + 4);
    is(&lines[at]) && lines[around].iter().filter(|line| is(line)).count() >= 2
}

/// Whether line `at` is a comment between the settings of a program.
fn commented(lines: &Lines, at: usize) -> bool {
    let is = |line: &Line| line.text.trim_start().starts_with(['#', ';']) || line.text.starts_with("-- ");
    let setting = |line: &Line| {
        regex!(
            r"^(?:FROM|ARG|ENV|RUN|COPY|ADD|WORKDIR|USER|EXPOSE|ENTRYPOINT|CMD|HEALTHCHECK) \S|^-X(?:X:|m[sxn]|log)|^(?i:SET \w+ = |INSERT INTO |ALTER |CREATE |SELECT |UPDATE |GRANT )|^\s*[a-z][a-z0-9]*[._-][\w.-]*(?:\s*[=:]\s*\S.*|(?:\s+[\w%./:*-]+){1,4})$|^\s*[a-z][\w.-]*(?:\s*=\s*\S.*|\s+(?:\d+ ?\w{0,3}|yes|no|on|off|true|false|/\S*))$"
        )
        .is_match(line.text.trim_end())
    };
    let raised = regex!(r"^[#;\s]*(?:[\w.]*(?:Error|Exception)|ERROR|FATAL)\b");
    let around = at.saturating_sub(SETTINGS)..lines.len().min(at + SETTINGS);
    is(&lines[at])
        && (!raised.is_match(&lines[at].text) || dies(lines, at))
        && lines[around].iter().filter(|line| !is(line) && setting(line)).count() >= 2
}

/// Whether the comment above line `at` says that something happens without a setting, and the message goes on with it.
fn dies(lines: &Lines, at: usize) -> bool {
    at.checked_sub(1).is_some_and(|above| {
        regex!(r"(?i)^[#;\s]*(?:without|otherwise|or else|if not|needed|because|else)\b.*\b(?:with|dies|fails|ends|crashes|exits)\W*$")
            .is_match(&lines[above].text)
    })
}

/// Whether line `at` is in a list of exit codes: lines around it have a number and lower-case words, too.
fn coded(lines: &Lines, at: usize) -> bool {
    let code = |line: &Line| {
        regex!(r"^\s*-?\d{1,3}(?:\s+|: +|\s+[-=\x{2013}\x{2014}] +)[a-z][a-zA-Z ,;()/'-]*$").is_match(&line.text)
    };
    let around = at.saturating_sub(3)..lines.len().min(at + 4);
    code(&lines[at]) && lines[around].iter().filter(|line| code(line)).count() >= 3
}

/// Whether line `at` is one of numbered questions, stands below the number of one, or begins with what a candidate shall
/// do.
fn posed(lines: &Lines, at: usize) -> bool {
    let head = |line: &Line| {
        regex!(r"^\s*(?:Question|Exercise|Problem|Q\.?) ?\d{1,3} ?(?:\(\d+ (?:points?|marks?|pts?\.?)\))?[.:]?$")
            .is_match(line.text.trim_end())
    };
    let above = lines[at.saturating_sub(QUESTION)..at].iter().rev();
    let own = regex!(
        r"^\s*(?:(?:Q|Question |Exercise |Task )\d{1,3}[.:)] [A-Z]|(?:\d{1,3}[.)] )?(?:Name|List|Explain|Describe|Discuss) (?:(?:one|two|three|four|five|some|the|at least \w+) )?(?:reasons?|ways?|causes?|differences?|steps?|why|how|what)\b)"
    );
    own.is_match(&lines[at].text) || above.take_while(|line| !line.text.trim().is_empty()).any(head)
}

/// Whether line `at` is the value of an expression that was typed into an interpreter, above it.
fn evaluated(lines: &Lines, at: usize) -> bool {
    regex!(r#"^(?:Out\[\d+\]: |=> |\$\d+ = )?(?:'[^']*'|"[^"]*"|:\w+)$"#).is_match(lines[at].text.trim_end())
        && at.checked_sub(1).is_some_and(|above| {
            regex!(r"^(?:>>> |In \[\d+\]: |(?:irb|pry)\S*> |julia> |ghci> |> \w|\d+[%>] )").is_match(&lines[above].text)
        })
}

/// Whether line `at` is on a page of results of a search: it counts them, or shows the places of several.
fn searched(lines: &Lines, at: usize) -> bool {
    let near = || lines[at.saturating_sub(RESULTS)..lines.len().min(at + RESULTS)].iter();
    let place = |line: &&Line| regex!(r"^\s*(?:https?://)?[\w.-]+\.[a-z]{2,}\S* \x{203a} \S").is_match(&line.text);
    near().filter(place).count() > 1
        || near().any(|line| regex!(r"(?i)^(?:About )?[\d,.]+ results (?:\(|for\b)").is_match(line.text.trim_start()))
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
    fn rows_of_an_answer_and_of_a_heap_are_data() {
        for (text, what) in [
            (
                "| 1 | std::bad_alloc | w-1 |\n| 2 | OOMKilled | w-2 |\n+---+------+------+\n2 rows in set (0.00 sec)\n",
                "bad_alloc",
            ),
            (" 1 | OOMKilled | w-2\n(1 row)\n", "OOM"),
            (
                "Key,Summary,Status\nOPS-12,\"OOMKilled after deploy\",Done\nOPS-13,\"OutOfMemoryError in x\",Open\n",
                "Error",
            ),
            ("=== RUN   TestPool\npool: out of memory\n--- PASS: TestPool (0.00s)\n", "out of"),
            ("Running ExUnit with seed: 4\n[error] out of memory\n3 tests, 0 failures\n", "out of"),
            ("== test session starts ==\nout of memory\n==== 2 passed, 1 skipped in 0.31s ====\n", "out of"),
            ("[ RUN      ] Pool.Dies\npool: out of memory\n[       OK ] Pool.Dies (1 ms)\n", "out of"),
            ("error.full=The disk is full.\nerror.oom=Not enough memory to go on.\n", "memory"),
            ("ISSUE    EVENTS  TITLE\nWEB-12   311     OutOfMemoryError: Java heap space\n", "OutOf"),
            (
                "commit 4b1c9e77\nAuthor: a\n\n    Halve the batch\n\n    When a step is out of memory, halve it.\n",
                "out of",
            ),
            ("Choose an error:\n  1) disk full\n  2) out of memory\n", "out of"),
            ("most frequent: \"out of memory\" (0.98)\n", "out of"),
            ("Q8. Name two reasons why a pod is out of memory.\n", "out of"),
            ("Explain why the job ran out of memory.\n", "out of"),
            ("Question 14 (4 points)\nA job ends with `out of memory`.\n", "out of"),
            ("Jobs that exceed their request will be\nended by Slurm with the state OUT_OF_MEMORY.\n", "OUT_OF"),
            ("   3:           102          11424  java.lang.OutOfMemoryError (java.base@17.0.9)\n", "OutOf"),
            (" 417:   2   64  java.lang.OutOfMemoryError\n", "OutOf"),
            ("Exit codes\n126 not executable\n137 killed, often out of memory\n139 segmentation fault\n", "out of"),
            (">>> os.strerror(12)\n'out of memory'\n", "out of"),
            ("00007ffd5a1b2c38        3          384 System.OutOfMemoryException\n", "OutOf"),
            ("[0.011s][info][class,load] java.lang.OutOfMemoryError source: jrt:/java.base\n", "OutOf"),
            ("[Loaded java.lang.OutOfMemoryError from /usr/lib/jvm/lib/rt.jar]\n", "OutOf"),
        ] {
            assert!(is(text, what), "{text}");
        }
        for text in [
            "|  reason  |  OutOfMemoryError: Container killed due to memory usage  |\n+----------+------+\n",
            "java.lang.OutOfMemoryError: Java heap space\n",
            "a, b, c\n1, 2, OutOfMemoryError: x\n",
            "[ RUN      ] Pool.Dies\nOutOfMemoryError\n[  FAILED  ] Pool.Dies (1 ms)\n",
            "[ RUN      ] A\n[       OK ] A (1 ms)\nOutOfMemoryError\n[ RUN      ] B\n[       OK ] B\n",
            "Running ExUnit with seed: 4\nOutOfMemoryError\n3 tests, 1 failure\n",
            "lr=0.1\nerror=OutOfMemoryError: x\n",
            "commit 4b1c9e77\nAuthor: a\n\n    ci: more heap\n\n      $ make docs\n      OutOfMemoryError: x\n      Aborted\n",
            "NAME   READY  STATUS\nweb-1  0/1    OutOfMemoryError\n",
            "2 errors:\n  1) x\n  2) OutOfMemoryError: y\n",
            "reason: \"OutOfMemoryError\" (137)\n",
            "12: java.lang.OutOfMemoryError: Java heap space\n",
            ">>> train()\nOutOfMemoryError\n",
        ] {
            assert!(!is(text, "OutOf"), "{text}");
        }
    }

    #[test]
    fn comments_between_settings_are_no_events() {
        for text in [
            "maxmemory 2gb\nmaxmemory-policy allkeys-lru\n#   (error) OOM command not allowed when used memory > 'maxmemory'\n",
            "vm.overcommit_memory = 2\n# fork: Cannot allocate memory\nvm.swappiness = 10\n",
            "; Out of memory\nmemory_limit = 128M\nmax_execution_time = 30\n",
        ] {
            assert!(
                is(
                    text,
                    text.split_once("# ").or(text.split_once("; ")).map_or("", |(_, own)| own
                        .lines()
                        .next()
                        .unwrap_or_default()
                        .trim())
                ),
                "{text}"
            );
        }
        for text in [
            "# python train.py\n# Out of memory\n# done\n",
            "lr = 0.1\nbatch_size = 4\n# RuntimeError: Out of memory\n",
            "lr = 0.1\nbatch_size = 4\nOut of memory\n",
        ] {
            assert!(!is(text, "Out of memory"), "{text}");
        }
    }
}
