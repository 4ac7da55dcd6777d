//! What a sentence does with the wording in it: it reports the event, or quotes, asks for, compares with or describes
//! such words. The form of the sentence decides, whatever the wording names.

use super::super::window::{Line, Lines};
use super::regex;

/// How many lines above a line may open the comment or the string that it belongs to.
const OPENED: usize = 120;

/// How many lines above a line the command that printed it may be.
const OUTPUT: usize = 30;

pub(super) const QUOTED: &str = "advice or documentation about such errors";

/// Why the wording between `before` and `after` belongs to code, a query or an example, whatever numbers it has.
pub(super) fn shown(before: &str, after: &str) -> Option<&'static str> {
    let after = after.trim_start();
    // A text that is still to be filled in.
    if regex!(
        r#"^[^\n]{0,200}?[\s("'=](?:\{(?:[a-zA-Z_][a-zA-Z_.]*)?(?::[^{}\s]{0,8})?\}|%(?:\d+\$)?[-+#0]*(?:\.?\d+)?(?:hh|h|ll|l|z|j|t)?[dusxXpfgiv]\b|%\([a-z_]+\)[sdf]|[$#]\{[\w.]+\}|<(?:size|pid|name|bytes|amount|num|number|count|process|limit|n|N|[a-z]+[-_ ](?:pid|name|id|number|size))>)(?:[\s)"',.;:]|[KMG]i?B|$)"#
    )
    .is_match(after)
    {
        return Some("a line of code");
    }
    // A value that is compared with, or searched for.
    if regex!(
        r#"(?x)(?:(?:==|!=|=~|!~|\|=|\|~|<>|\b(?:not\ )?(?i:in|like|ilike|rlike|regexp|has_any|has_cs|startswith|endswith)\b
                |\b(?:grep|egrep|zgrep|rg|ag|findstr|Select-String|LIKE)(?:\ +-{1,2}[\w=]+)*)\s*[(\[]?\s*@?(?:["'][^"']*["'],\s*)*["'`/%]
            # People write that a log `has` a line.
            |\b(?:not\ )?(?i:has|contains|matches|includes)\b\s*[(\[]?\s*@?(?:["'][^"']*["'],\s*)*["'/%])[^"'`]*$"#
    )
    .is_match(before)
    {
        return Some("a text that was searched for, fetched or described");
    }
    // A statement of a query language, whose texts are in quotes.
    if regex!(r"\b(?:UPDATE \S+ SET|INSERT INTO \S+|SELECT\b.*\bFROM \S+|DELETE FROM \S+|WHERE)\b[^\n]*'[^']*$")
        .is_match(before)
    {
        return Some("a statement of a query language");
    }
    // A condition of a query, on a line of its own.
    if regex!(r"^\s*(?i:and|or|where|on|having|when|case)\b[^\n]*(?:=|<>|\b(?i:in|like)) ?\(?'[^']*$").is_match(before)
    {
        return Some("a statement of a query language");
    }
    // A text and what it is translated or mapped to.
    if regex!(r#"^[^"'\x{201d}\x{bb}\n]{0,80}["'\x{201d}\x{bb}]\s*(?:\x{2192}|\x{21d2})\s"#).is_match(after)
        || regex!(r#"["'\x{201d}\x{bb}]\s*(?:\x{2192}|\x{21d2})\s*["'\x{201c}\x{ab}][^"'\x{201d}\x{bb}]*$"#)
            .is_match(before)
    {
        return Some("a text for users, in a file of texts");
    }
    // A part of a longer name: an option, a branch, a file.
    if regex!(r"^[a-z]+(?:-[a-z]+){2,}").is_match(after) && before.ends_with(['-', '/', '_']) {
        return Some("a name: of a package, a branch or a page");
    }
    if before.rfind("<!--").is_some_and(|open| !before[open..].contains("-->")) {
        return Some("a comment");
    }
    // The value of a command's option.
    if regex!(r#"\s--?[A-Za-z][\w-]*[= ](?:"[^"]*|'[^']*)$"#).is_match(before)
        && !regex!(r"(?i)\b(?:error|failed|exception|fatal)\b").is_match(before)
    {
        return Some("a command that was typed");
    }
    // The name of a type, behind the word that declares or catches it.
    if regex!(r"(?:^exception|(?:^|\s)(?:class|struct|enum|interface|trait|extends|implements|throws|import|instanceof|new|except|catch|rescue|raises?|@throws))\s+\(?(?:\w+(?:\.|::|\\))*$").is_match(before)
        && regex!(r"^[\w.:]+\s*(?:$|[;,{()])").is_match(after)
    {
        return Some("a line of code");
    }
    // A longer name that only holds the words, and what is said of it.
    let set = regex!(r"^[A-Z]\w*\s+(?:is|=|:=|was|set|enabled|disabled|on|off|true|false)\b").is_match(after);
    if set
        && (before.ends_with(|c: char| c.is_ascii_alphanumeric()) || regex!(r"^[A-Z][a-z]+\w*On[A-Z]").is_match(after))
    {
        return Some("a setting");
    }
    // A label that announces an example.
    if regex!(
        r"^\W*(?i:examples?|samples?|typical (?:errors?|outputs?|messages?)|e\.g|(?:search )?patterns?|regex|query|keywords?|symptoms?|synopsis|scenario|expected(?: \w+)?|faq|see also)\W{0,3}:\W"
    )
    .is_match(before)
    {
        return Some("an example");
    }
    None
}

/// Why the sentence around the wording, whose dots within names were taken out, does not report it; a message with its
/// numbers is a report anyway.
pub(super) fn mentioned(before: &str, after: &str) -> Option<&'static str> {
    let clause = before.rsplit(['.', ';', '!']).next().unwrap_or_default();
    let happened = regex!(
        r"(?i)\b(?:exited|failed|terminated|died|killed|crashed|aborted|ended|stopped|got|was|were|has|had|have|threw|raised|returned|reported|said|received|caught|panicked|rejected|did|could|encountered|hit|ran|gave|finished|completed|started|restarted|evicted|lost)\b"
    );
    let quote = opened(clause);
    // A condition, of which nothing says that it was met.
    if regex!(r"(?i)^\W*(?:if|whenever|in case) (?:your|the|an?|any|you|it|this|that|we|one)\b").is_match(clause)
        && !happened.is_match(clause)
    {
        return Some(QUOTED);
    }
    // Words that lead to a quotation without a mark of their own, in a clause in which nothing has happened.
    if let Some(open) = quote {
        let head = clause[..open].trim_end();
        let speaks = regex!(
            r"(?i)\b(?:reports?|says?|shows?|prints?|throws?|raises?|returns?|causes?|makes?|aborts?|fails?|crash(?:es)?|dies?|ends?|exits?|leads?|results?|produces?|triggers?|yields?|gives?|emits?|logs?|displays?|contains?|reads?|sees?|seeing|getting|gets?|detects?|match(?:es)?|finds?|means?|called|named|titled|labell?ed|keywords?|phrases?|strings?|texts?|patterns?|entry|entries|lines?|word|words|term|status|state|reason)$|\b(?:reports?|says|shows|prints|throws|raises|returns|causes|makes|aborts|fails|crashes|dies|ends|exits|leads|results|produces|triggers|yields|gives|emits|logs|displays|contains|sees|detects|matches|finds|means)\b"
        );
        if plain(head) >= 2
            && head.ends_with(|c: char| c.is_alphabetic())
            && !happened.is_match(head)
            && speaks.is_match(head)
        {
            return Some(QUOTED);
        }
    }
    // What a kind of thing does, as its description has it.
    let does = regex!(
        r"(?i)\b(?:throws|raises|(?:aborts|crashes|dies|ends|exits|abort|crash|die|end|exit) with|leads? to|results? in|causes|triggers|produces|emits|yields)\s+(?:(?:an?|the)\s+)?(?:[\w:]+\s){0,2}[\x22'`\x{201c}*]*(?:\w+::|[\w.]+(?:Error|Exception): ?)?$"
    );
    // The launcher of DeepSpeed says that a process `exits with return code = -9`.
    let coded = regex!(r"^\W*(?i:return|exit|error|signal|code|status|-?\d)").is_match(after);
    if !coded && does.is_match(clause) && !happened.is_match(clause) {
        return Some(QUOTED);
    }
    // A sentence in which nothing has happened.
    let words = before.rsplit(['.', ';', '!', '?', ':', '|', ']', '=', '>']).next().unwrap_or_default();
    let rest = after.split(['.', ';', '!', '\n']).next().unwrap_or_default();
    // What a case brings about has not happened, and a participle behind an article is no verb.
    let rest = regex!(r"(?i)\b(?:once|when|whenever|if|until|as soon as)\b").split(rest).next().unwrap_or_default();
    let words = &*regex!(r"(?i)\b(?:an?|any|each|every) \w+ed\b").replace_all(words, "one");
    let fails = regex!(
        r"(?i)\b(?:cannot|can't|unable|unexpected|unhandled|exceptions?|errors?|fatal|exit codes?|due to|caused|\w+ing$|terminating|aborting|exiting|killing|stopping)\b"
    );
    if plain(words) >= 3
        && !words.contains(|c: char| c.is_ascii_digit())
        && [words, rest].iter().all(|text| !happened.is_match(text))
        && !fails.is_match(words)
    {
        return Some(QUOTED);
    }
    // What everyone knows, and what a text is about.
    if regex!(r"(?i)\b(?:every(?:one|body)?|everyone's|many|most|often|usually|people|users|familiar|famous|infamous|dreaded|classic|notorious|beginners?|newcomers?)\b[^.!?]*$").is_match(before)
        && plain(before) >= 3
        && !before.contains(|c: char| c.is_ascii_digit())
        || regex!(r"\b[Ii]n this (?:post|article|tutorial|guide|video|chapter|section|talk|lesson|blog|document|page|notebook)\b").is_match(after)
    {
        return Some(QUOTED);
    }
    // What the words stand for.
    if regex!(r"^[\w\s-]{0,40}(?:\([^)]*\)\s*)?[\x22'`*\x{201d}]*\s*\b(?:is|are|refers? to|describes?|denotes?)\s+(?:an?|the|when|where|what|one of)\s+(?:\w+ly |often |common )*[a-z]{3,}").is_match(after)
        && !before.contains(':')
    {
        return Some(QUOTED);
    }
    // One of several examples, and what a sentence before goes on to be about.
    if regex!(r"\((?:e[._]g\.|i[._]e\.|such as|for example|like|namely|including)[^()]*$").is_match(before)
        && regex!(r"^[^()]*\)").is_match(after)
        || regex!(r"^\s*\(?$").is_match(before)
            && regex!(r"(?i)^\(?out of memory\)\. (?:The|This|That|It|In|These|If) [a-z]").is_match(after)
    {
        return Some(QUOTED);
    }
    // What may not happen any more, who may meet it, and what was asked about it or read of others.
    if regex!(r"(?i)^[^.;]{0,60}\b(?:can't|cannot|can no longer|won't|will never) (?:come up|happen|occur|appear)\b|^[^\n]{0,160}\bwhat would you do\?").is_match(after)
        || regex!(r"(?i)\b(?:users?|people|whoever|anyone|those) who (?:meet|see|get|hit|run into)\b[^.;]*$|\bif (?:you|one) (?:go|set|use|put|ask|try|type|want)\b[^.;\n]{0,90}$|\basked why\W*$|\b(?:older|other|similar) posts? (?:with|about)\b[^.;]*$|\bit(?:'d| would) (?:give|throw|raise|print|show|return)\b[^.;]{0,60}$").is_match(before)
    {
        return Some(QUOTED);
    }
    // What a page should say.
    if regex!(r"(?i)\b(?:should|could|to|please|let's) (?:add|say|explain|document|mention|note|clarify|state|write) that\b[^.;]*$").is_match(before) {
        return Some(QUOTED);
    }
    // What a program handles now.
    let handles = regex!(
        r"(?i)\b(?:handl\w+|fix\w*|check\w* for|test\w* for|detect\w*|surviv\w+|recover\w* from|simulat\w+)(?: \w+){0,2} ?$"
    );
    let state = regex!(
        r"(?i)^(?P<error>errors? (?:on|in|for) )?(?:an? )?out[- ]of[- ]memory (?:condition|situation|scenario|case)s?\b"
    );
    if state.captures(after).is_some_and(|state| state.name("error").is_some() || handles.is_match(before)) {
        return Some(QUOTED);
    }
    // How many fewer there are.
    if regex!(r"^\w*?(?:s\b|\(s\)|[\x22'`\x{201d}]? (?:incidents|errors|exceptions|crashes|kills|events|problems|issues|failures|alerts|tickets)\b)").is_match(after)
        && regex!(r"(?i)(?:^|\s)(?:fewer|less|no more|zero|reduc\w+|eliminat\w+|say goodbye to|rid of)(?: (?:of|in|all|your|the))? [\x22'`\x{201c}]?[\w.]*$").is_match(before)
    {
        return Some(QUOTED);
    }
    // What would be, or is only imagined.
    if regex!(r"(?i)\b(?:as if|as though|imagine|suppose|assum(?:e|ing)|let's say|hypothetical(?:ly)?|would have|what if|in theory|by design)\b[^:]{0,120}$").is_match(clause) {
        return Some(QUOTED);
    }
    // A guess at why something ended, which it did in any case.
    if regex!(r"(?i)\b(?:suspicion|suspected|hypothesis|theory)\b[^.;]{0,80}$").is_match(before)
        || regex!(r"(?i)\b(?:killed|exited|ended|died|terminated|disappeared|lost)\b[^.;\n]{0,80}\b(?:likely|possibly|probably|perhaps|maybe)\s+(?:(?:due to|because of|by|from)\s+)?(?:running\s+)?$")
            .is_match(before)
    {
        return Some("a guess: nothing shows that memory was the reason");
    }
    // What is over.
    if regex!(r"(?i)^[^\n]{0,160}?\b(?:(?:was|is|has been|have been|got|now) (?:now )?(?:fixed|resolved|solved|gone)\b|(?:fixed|solved|resolved) (?:by|in|with|since|after)\b|went away\b|(?:works?|trains?|runs?|builds?|passes) (?:now|fine|again)\b)").is_match(after)
        || regex!(r"(?i)\b(?:fix(?:es|ed)?|resolv(?:es|ed)|solv(?:es|ed)|closes|prevents?|avoids?|workaround for|mitigates?|reduces)\b(?: \w+){0,4} [\x22'`\x{201c}(]*(?:\w+: ?)?$").is_match(clause)
    {
        return Some("release notes");
    }
    // A question; a program that guesses does so in brackets.
    if before.contains('\u{bf}')
        || regex!(r#"^[^.!;?\n]{0,200}(?:\S\?["'*_\x{201d}]*(?:\s|$)|\s\?$)"#).is_match(after)
            && !regex!(r"^[^?\n]*\([^)?\n]*\?").is_match(after)
            && !after.starts_with("Killed")
    {
        return Some("words of a conversation");
    }
    None
}

/// How many of the words of `text` are plain ones.
fn plain(text: &str) -> usize {
    text.split_whitespace()
        .filter(|word| word.trim_end_matches(',').chars().all(|c| c.is_alphabetic() || c == '\''))
        .count()
}

/// Where the quotation begins that is open at the end of `text`.
fn opened(text: &str) -> Option<usize> {
    let curly = [('\u{201c}', '\u{201d}'), ('\u{201e}', '\u{201c}'), ('\u{ab}', '\u{bb}')].into_iter().filter_map(
        |(open, close)| {
            let at = text.rfind(open)?;
            (!text[at + open.len_utf8()..].contains(close)).then_some(at)
        },
    );
    let plain = ['"', '`'].into_iter().filter_map(|mark| {
        let at = text.rfind(mark)?;
        (text.matches(mark).count() % 2 == 1).then_some(at)
    });
    curly.chain(plain).max()
}

/// Whether line `at` is within a comment of a page, or within a text that documents code: it was opened above.
pub(super) fn enclosed(lines: &Lines, at: usize) -> bool {
    let above = &lines[at.saturating_sub(OPENED)..at];
    let comment = || {
        above.iter().rev().find_map(|line| {
            let (open, close) = (line.text.rfind("<!--"), line.text.rfind("-->"));
            (open.is_some() || close.is_some()).then(|| open > close)
        })
    };
    let docstring = || {
        let marks = |text: &str| text.matches("\"\"\"").count() + text.matches("'''").count();
        let first = above.iter().position(|line| marks(&line.text) > 0);
        let code = |line: &&Line| {
            regex!(r"^\s*(?:async )?(?:def|class) \w+|^\s*[a-z_]\w*\s*=\s*[fr]?(?:\x22{3}|'{3})").is_match(&line.text)
        };
        first.is_some_and(|first| {
            above[first.saturating_sub(6)..].iter().any(|line| code(&line))
                && above.iter().map(|line| marks(&line.text)).sum::<usize>() % 2 == 1
        })
    };
    comment().unwrap_or(false) || docstring()
}

/// Whether line `at` was printed by a command that shows a text, a program or its history, and runs nothing: the nearest
/// prompt above has the command.
pub(super) fn printed(lines: &Lines, at: usize) -> bool {
    let prompt = |text: &str| {
        regex!(r"^\S{0,60}[$#%] (?:sudo )?(?P<command>[a-z][\w./-]*(?: .*)?)$|^> (?P<other>[a-z][\w./-]* -.*)$")
            .captures(text.trim_end())
            .and_then(|found| found.name("command").or(found.name("other")).map(|command| command.as_str().to_owned()))
    };
    // A line that was pasted behind `#` looks like a prompt.
    let Some(command) = lines[at.saturating_sub(OUTPUT)..at].iter().rev().find_map(|line| prompt(&line.text)) else {
        return false;
    };
    // A log has prefixes of its own; the shell, or the command itself, may fail.
    if lines[at].message().len() < lines[at].text.len() {
        return false;
    }
    let own = lines[at].text.trim_start_matches('-');
    let speaker = own.split(':').next().unwrap_or_default();
    if regex!(r"^(?:[a-z]*sh|fatal|error)$").is_match(speaker) || command.split(' ').next() == Some(speaker) {
        return false;
    }
    regex!(
        r"^(?:strings|nm|objdump|readelf|man|apropos|whatis|info|ls|find|tree|locate|errno|history|alias|crontab|tldr|perldoc|pydoc|godoc|cargo doc|git (?:log|show|diff|grep|blame|status)|gh (?:issue|pr) (?:list|view)|helm (?:template|show|get)|kubectl (?:explain|get (?:prometheusrules?|rules?|cm|configmaps?))|systemctl cat|apt(?:-get)? changelog|npm view|\S+ (?:--help|help)|(?:cat|less|more|head|tail|bat|sed|grep|egrep|rg|awk)\b.*\.(?:py|c|h|cc|cpp|cu|rs|go|java|kt|js|ts|rb|php|md|rst|adoc|html?|po|pot|properties|ya?ml|toml|ini|conf|cfg|service|xml|sql|tf|proto))\b"
    )
    .is_match(&command)
}

/// Whether line `at` is an entry of a catalogue of errors: its cause and its remedy are below, or its name and number
/// above.
pub(super) fn listed(lines: &Lines, at: usize) -> bool {
    let name = |line: &Line| regex!(r"^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$").is_match(line.text.trim());
    let number =
        |line: &Line| regex!(r"^-?\d{1,6} \(0[xX][0-9A-Fa-f]+\)$|^0[xX][0-9A-Fa-f]+$").is_match(line.text.trim());
    let below: Vec<_> = lines[at + 1..].iter().take(6).collect();
    let has = |label: &str| {
        below.iter().any(|line| line.text.trim_start().trim_start_matches('*').to_ascii_lowercase().starts_with(label))
    };
    has("cause:") && (has("action:") || has("solution:") || has("remedy:") || has("resolution:"))
        || name(&lines[at]) && below.first().is_some_and(|line| number(line))
        || at >= 2 && number(&lines[at - 1]) && name(&lines[at - 2])
}

/// Whether line `at` is a member of a description of what is expected: a member beside it says so.
pub(super) fn expected(lines: &Lines, at: usize) -> bool {
    let member = |line: &Line| regex!(r#"^\s*(?:- )?["']?[a-z][\w-]*["']?\s?[:=]\s?\S"#).is_match(&line.text);
    let expects = |line: &Line| {
        regex!(r#"^\s*(?:- )?["']?(?:expect(?:ed|s)?(?:_\w+)?|should(?:_\w+)?|want|asserts?|xfail|simulate|inject|mock)["']?\s?[:=]"#).is_match(&line.text)
    };
    let beside = |lines: &[Line]| lines.iter().take_while(|line| member(line)).take(4).any(expects);
    member(&lines[at])
        && (beside(&lines[at + 1..]) || lines[..at].iter().rev().take_while(|line| member(line)).take(4).any(expects))
}

/// Whether line `at` is the title of an explanation: the sentences below it say what to do about `this error`.
pub(super) fn explained(lines: &Lines, at: usize) -> bool {
    let own = &lines[at];
    own.message().len() == own.text.len()
        && !own.text.contains(|c: char| c.is_ascii_digit())
        && lines[at + 1..].iter().take(3).any(|line| {
            regex!(r"\b(?:To|to|How to) (?:resolve|fix|troubleshoot|avoid|prevent|solve|address) (?:this|the|such an?) (?:error|issue|problem|exception|message|failure)\b|^(?:This|The) (?:error|message|exception|failure) (?:usually |typically |often |generally )?(?:means|occurs|happens|indicates|is (?:raised|thrown|returned|shown))\b")
                .is_match(line.message())
        })
}

/// Whether line `at` is a sentence in a comment that says what happens in a case, or why something is as it is; pasted
/// lines have a number, a time or the class of an error.
pub(super) fn remark(lines: &Lines, at: usize) -> bool {
    let text = lines[at].text.as_str();
    regex!(r"^\s*(?:#+|//+|--|;+|REM|rem|%+)\s+[^\d\[]*(?:[a-z]\d[^\d\[]*)*$").is_match(text)
        && plain(text) >= 5
        && !regex!(r"(?:Error|Exception|ERROR|FATAL|[Ee]rror|[Ff]atal)\b:? ?|^\s*#\s+[A-Z][^.]*\.\s*$").is_match(text)
        && regex!(r"(?i)\b(?:with(?:out)?|because|so (?:that|we)|otherwise|or else|would|may|might|unless|until|default|when|if|since|avoids?|prevents?|needs?|must|should|too|here|we|our|is|are|gets?|be)\b").is_match(text)
}

/// Whether line `at` is the output of a test of Go that passed: it stands between the test's start and its result.
pub(super) fn passed(lines: &Lines, at: usize) -> bool {
    /// How many lines the output of a test may have.
    const LINES: usize = 40;
    let starts = |line: &&Line| line.text.contains("=== RUN ");
    let ends = |line: &&Line| ["--- PASS: ", "--- FAIL: ", "--- SKIP: "].iter().any(|end| line.text.contains(end));
    let above = lines[..at].iter().rev().take(LINES).find(|line| starts(line) || ends(line));
    let below = lines[at + 1..].iter().take(LINES).find(|line| starts(line) || ends(line));
    above.is_some_and(|line| starts(&line)) && below.is_some_and(|line| line.text.contains("--- PASS: "))
}

/// Whether line `at` is a step of a specification: other steps are beside it.
pub(super) fn step(lines: &Lines, at: usize) -> bool {
    let step = |line: &Line| {
        regex!(r"^\s*(?:Feature|Scenario(?: Outline)?|Background|Given|When|Then|And|But|Examples):? \S")
            .is_match(&line.text)
    };
    step(&lines[at]) && lines.beside(at, 3).filter(|line| step(line)).count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the sentence does with the words at `what`.
    fn of(text: &str, what: &str) -> Option<&'static str> {
        let (before, after) = text.split_at(text.find(what).expect("the words"));
        shown(before, after).or_else(|| mentioned(before, after))
    }

    #[test]
    fn words_that_a_sentence_quotes_compares_or_describes_are_no_report() {
        for (text, what) in [
            ("Pods that exceed it now report the reason \"OOMKilled\" to the driver.", "OOMKilled"),
            ("| where Reason in (\"Evicted\", \"OOMKilled\")", "OOMKilled"),
            ("log filter --pattern '\"OutOfMemoryError\"'", "OutOfMemory"),
            ("write(f, \"out of memory: {n} bytes\"),", "out of"),
            ("allocate() throws std::bad_alloc", "std::"),
            ("Every engineer has seen it: RuntimeError: CUDA out of memory", "CUDA"),
            ("The kernel sets the status of a terminated container to OOMKilled", "OOMKilled"),
            ("It ended with \"CUDA out of memory\", works now with a smaller batch", "CUDA"),
            ("Is it \"CUDA out of memory\"?", "CUDA"),
            ("<!-- Paste the log: CUDA out of memory -->", "CUDA"),
            ("class acme.OutOfMemoryError", "OutOf"),
            ("Config - ExitOnOutOfMemoryError is set", "OutOf"),
            ("Out of memory (OOM) is a state of a computer", "Out"),
            ("\"Out of memory\" \u{2192} \u{ab} Plus de m\u{e9}moire \u{bb}", "Out"),
            ("feature/cuda-out-of-memory", "cuda"),
            ("UPDATE jobs SET reason='OOMKilled'", "OOM"),
            ("the worker exited, likely out of memory", "out of"),
        ] {
            assert!(of(text, what).is_some(), "{text}");
        }
        for (text, what) in [
            ("The pod failed with reason \"OOMKilled\"", "OOMKilled"),
            ("level=error msg=\"out of memory\"", "out of"),
            ("Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space", "java"),
            ("Process 41920 exits with return code = -9", "return code"),
            ("Error: failed to build: out of memory", "out of"),
            ("the worker was killed: out of memory", "out of"),
            ("\"exit_description\"=>\"out of memory\"", "out of"),
        ] {
            assert_eq!(of(text, what), None, "{text}");
        }
    }

    #[test]
    fn lines_of_comments_of_printed_texts_and_of_catalogues_are_known_by_the_lines_around_them() {
        type Judge = fn(&Lines, usize) -> bool;
        let judged: [(Judge, &str, &str); 7] = [
            (enclosed, "def f():\n    \"\"\"\n    CUDA out of memory\n    \"\"\"\n", "CUDA"),
            (enclosed, "<!-- the log, for example\nCUDA out of memory\n-->\n", "CUDA"),
            (remark, "# with more jobs the compiler is killed, out of memory\n", "out of"),
            (printed, "$ strings /bin/x\nout of memory\n", "out of"),
            (listed, "ORA-04030: out of process memory\nCause: too little.\nAction: add some.\n", "out of"),
            (step, "Given a worker\nWhen it allocates\nThen it is out of memory\n", "out of"),
            (expected, "  - expected: oom\n    message: CUDA out of memory\n", "CUDA"),
        ];
        for (judge, text, what) in judged {
            let (lines, at) = Lines::hot_at(text, what);
            assert!(judge(&lines, at), "{text}");
        }
        let reported: [(Judge, &str, &str); 5] = [
            (enclosed, "<!-- the log -->\nCUDA out of memory\n", "CUDA"),
            (remark, "# [12.5] Out of memory: Killed process 7 (python)\n", "Out of"),
            (printed, "$ ./solver\nout of memory\n", "out of"),
            (printed, "$ ls\nbash: fork: Cannot allocate memory\n", "Cannot"),
            (listed, "out of memory\nCaused by: too little\n", "out of"),
        ];
        for (judge, text, what) in reported {
            let (lines, at) = Lines::hot_at(text, what);
            assert!(!judge(&lines, at), "{text}");
        }
    }
}
