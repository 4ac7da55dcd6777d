//! Texts that look like an event but are not one, recognised by the line and its neighbours: alert rules, counters,
//! patches, manuals, help, conversations, searches.

use super::super::window::{Line, Lines};
use super::{Pattern, catalogue, conversation, mention, page, regex, shown, source, speech};

/// How many lines around a line may belong to the same alert rule.
const RULE: usize = 15;
/// How many lines above a line the head of its patch may be.
const PATCH: usize = 80;

/// Why line `at` is not an event, whatever its words: judged as written, and without the prefixes of loggers and of
/// people who quote.
pub(in super::super) fn dismissed(lines: &Lines, at: usize) -> Option<&'static str> {
    let (text, own) = (lines[at].text.trim_start(), lines[at].message().trim_start());
    if rule(lines, at) {
        return Some("an alert or its rule: the event itself is in other logs");
    }
    if patch(lines, at) {
        return Some("a line of a patch");
    }
    // The limit is shown beside it.
    if text.contains("native thread") && of_processes(lines, at) {
        return Some("a limit on processes or threads (ulimit -u, pids.max), not on memory");
    }
    if (list(&lines[at].text) || list(own) || list(behind_quotes(&lines[at])))
        && !page::numbered(lines, at)
        && !page::of_runs(lines, at)
    {
        return Some("a list of errors in a manual");
    }
    if schema(lines, at) {
        return Some("a text that was searched for, fetched or described");
    }
    // A manual explains a code below its number and name.
    let explains = |text: &str| {
        regex!(r"^The `?[A-Z][A-Z0-9_]{3,}`? (?:(?:extended )?(?:result|error|return|status|exit) )?code (?:indicates|means|is (?:returned|used|an?))\b")
            .is_match(text.trim_start())
    };
    let titled = [own, text].iter().any(|text| regex!(r"^\(\d+\) [A-Z][A-Z0-9_]+$").is_match(text.trim_end()));
    if explains(own) || titled && lines.after(at).take(2).any(|line| explains(&line.text)) {
        return Some("a list of errors in a manual");
    }
    let above = at.checked_sub(1).map_or("", |above| lines[above].text.as_str());
    if roff(lines, at) {
        return Some("a manual");
    }
    let heading = lines[..at].iter().rev().take(3).map(|line| line.text.trim()).find(|text| !text.is_empty());
    let of_a_code = |text: &str| {
        regex!(r"^#{1,6} `?[A-Z][A-Z0-9]*_[A-Z0-9_]+`?$|^<h\d[^>]*><code>[A-Z][A-Z0-9_]+</code>").is_match(text)
    };
    if heads_an_error(above) || heading.is_some_and(of_a_code) {
        return Some("a list of errors in a manual");
    }
    if regex!(r"^\\[a-z]+(?:\{|\s+\\|\[)|^[-*+]?\s*(?:\*\*)?`[^`]+`(?:\*\*)?\s*(?::|\x{2014}|\x{2013}|-)\s")
        .is_match(text)
    {
        return Some("a manual");
    }
    // An item under `*` inside a quote is still an item, as in release notes.
    let before = lines[at].text[..lines[at].text.len() - lines[at].message().len()].trim();
    if before.len() > 1
        && before.ends_with('*')
        && regex!(r"^(?:Fix|Add|Rais|Report|Remov|Chang|Improv)[a-z]* |\bis now\b").is_match(own)
    {
        return Some("release notes");
    }
    let around = page::dismissed(lines, at).or_else(|| mention::dismissed(lines, at));
    if let Some(reason) = around.or_else(|| catalogue::dismissed(lines, at)) {
        return Some(reason);
    }
    if conversation::holds(lines, at) {
        return Some("words of a conversation");
    }
    if speech::enclosed(lines, at) || speech::remark(lines, at) {
        return Some("a comment");
    }
    if speech::explained(lines, at) {
        return Some("a manual");
    }
    if speech::listed(lines, at) {
        return Some("a list of errors in a manual");
    }
    if speech::printed(lines, at) {
        return Some("a text that was searched for, fetched or described");
    }
    if speech::step(lines, at) || speech::expected(lines, at) || speech::passed(lines, at) {
        return Some("a line of a test run");
    }
    if source::holds(lines, at) {
        return Some("a line of code");
    }
    form(text).or_else(|| if own.len() < text.len() { form(own) } else { None })
}

/// Whether lines near line `at` show a limit on processes that was reached.
fn of_processes(lines: &Lines, at: usize) -> bool {
    const NEAR: usize = 40;
    let limit = regex!(r"\bpids\.(?:max|current)\b|\bulimit -u\b|\bmax user processes\b|\bpids_limit\b");
    lines[at.saturating_sub(NEAR)..lines.len().min(at + NEAR)].iter().any(|line| limit.is_match(&line.text))
}

/// Whether line `at` describes a part of an interface or of a chart: keys of a schema in YAML are around it.
fn schema(lines: &Lines, at: usize) -> bool {
    let described = regex!(r"^\s*(?:- )?(?:description|summary|title|help|doc|example|detail|info): \S");
    let key = regex!(
        r"^\s*(?:- )?(?:['\x22]?\d{3}['\x22]?|default|responses|schema|type|properties|parameters|paths|required|enum|content|x-[\w-]+|operationId|get|post|put|delete|patch|\$ref|format|tags|in|items|oneOf|anyOf|allOf|minimum|maximum|severity|labels|annotations|rules|groups):(?:\s|$)"
    );
    let around = at.saturating_sub(4)..lines.len().min(at + 5);
    described.is_match(&lines[at].text) && lines[around].iter().filter(|line| key.is_match(&line.text)).count() >= 2
}

/// The head of an entry in a manual's list of errors: a macro of a manual page, or the number of an error.
fn heads_an_error(text: &str) -> bool {
    regex!(r"^\.(?:B|TP|SH|IP|BR|It|Er|Sh|PP)\b|^Error (?:number|code): \d+; Symbol: ").is_match(text)
}

/// Whether line `at` is in the source of a manual page: macros of `man` or headings of `pod` are around it.
fn roff(lines: &Lines, at: usize) -> bool {
    let of_page = |line: &Line| {
        regex!(r"^\.(?:B|BR|BI|I|IB|IR|IP|TP|P|PP|LP|SH|SS|RE|RS|TH|UE|UR|EX|EE|nf|fi|br|in|ad|hy|It|Er|Sh|Pp|\\\x22)\b|^\.\\\x22|^=(?:item|head\d|over|back|cut)\b")
            .is_match(&line.text)
    };
    let around = at.saturating_sub(6)..lines.len().min(at + 7);
    lines[around].iter().filter(|line| of_page(line)).count() >= 2
}

/// A row of a list of errors: an indented name, or a number in a table.
fn list(text: &str) -> bool {
    // PM2 writes the number and the name of a program before its lines.
    let managed = regex!(r"^\d{1,3}\|[\w.@-]+\s*\| ").is_match(text);
    !managed && regex!(r"^\s{2,}E[A-Z]{3,}\s{1,12}[A-Z][a-z]|^\s*(?:\d{1,3}\s+E[A-Z]{3,}|E[A-Z]{3,}\s+\d{1,3})\s+[A-Z][a-z]|^\s*\|\s*`?-?\d{1,3}`?\s*\|(?:[^|]*\|){2,}\s*$|^\s?\|?\s*`?-?\d{1,3}`?\s*\|[^|]*[a-z]{3}").is_match(text)
}

/// The text after a line's prefixes, with its indentation and the bar of its table, which were taken for prefixes.
fn behind_quotes(line: &Line) -> &str {
    let before = &line.text[..line.text.len() - line.message().len()];
    let before = before.trim_end_matches([' ', '\t', '|']);
    // A number in a cell was taken for a container's name; a number in a time of day is not a cell.
    let cell = before.trim_end_matches(|c: char| c.is_ascii_digit());
    let before = if cell.ends_with([' ', '|']) { cell } else { before };
    &line.text[before.len()..]
}

/// Why `text` is not an event.
fn form(text: &str) -> Option<&'static str> {
    if counter(text) {
        return Some("a counter, or the name of one");
    }
    if regex!(r"\[(?:FIRING|RESOLVED)(?::\d+)?\]|\balertname[=:\x22]|^Subject: \[(?i:alert\w*)\]|^\[(?:Alert|Alerting|Alertmanager)\]|^(?:message|summary|description|text): \x22[^\x22]*\bmore (?:often )?than (?:once|twice|\d+(?: times)?) (?:in|within|per|over) \d+ ?\w+").is_match(text) {
        return Some("an alert or its rule: the event itself is in other logs");
    }
    if regex!(r"^(?:-\w, )?--[a-z][\w-]*(?:[ =<\[]|$)|^-{1,2}[A-Za-z]\S*\s{2,}[A-Z]\w* ").is_match(text) {
        return Some("the help of a program");
    }
    if regex!(r"^(?:\[[\d:. ]+\]\s*)?[<@]?[A-Za-z][\w.-]{1,20}>?:\s").is_match(text)
        && regex!(
            r"(?i)\b(?:i|i'm|i'd|we|we're|yeah|yep|nope|maybe|guess|btw|lol|did you|are you|do you|have you|should i|should we|last (?:week|night|time))\b"
        )
        .is_match(text)
        && !regex!(r"Error: |Exception: |\d (?:bytes|[KMG]i?B)|\bpid \d").is_match(text)
    {
        return Some("words of a conversation");
    }
    // An error quoted in the description of another error.
    let passed = regex!(
        r#"\b(?:description|summary)["']?\s*[=:]\s*["'][^"']{0,80}\b(?:Error: |failed with status)|"(?:reason|severity|level|type)"\s*:\s*"(?:OOM\w*|Warning|(?i:error|fatal|critical|failed))""#
    );
    if !passed.is_match(text) && regex!(
        r#"https?://\S+ ["'(]|"(?:query|match|match_phrase|term|terms|wildcard|regexp|query_string|filter)"\s*:\s*\{|\b(?:query|q|search|search_query|title|subject|keywords?|pattern|regex|template|match|description|summary|help|doc|example|examples|enum|_?comments?|notes?|hint|tip|tooltip|label|caption|placeholder|changelog|todo|faq)["']?\s*[=:]\s*["']|"//"\s*:"#
    )
    .is_match(text)
    {
        return Some("a text that was searched for, fetched or described");
    }
    if regex!(
        r"^(?:\S+@\S+[:~ ]\S*)?[$%] (?:sudo )?(?:grep|egrep|zgrep|rg|dmesg|journalctl|awk|sed|cat|less|tail|head|echo|man|watch|kubectl|docker|history)\b"
    )
    .is_match(text)
    {
        return Some("a command that was typed");
    }
    if source::source(text) || regex!(r"^(?:TODO|FIXME|XXX|HACK)\b(?:\([^)]*\))?:? ").is_match(text) {
        return Some("a line of code");
    }
    // Or a message with the place of an amount, which a program has yet to write.
    if heads_an_error(text)
        || regex!(r"^[\[.\\{]*(?:item|B|Er|It)?[\[{ ]*ENOMEM[\]}]?:?\s+(?:\d+\s+)?(?:Insufficient|Not enough|Out of|Cannot|There|The )|%(?:l?l|z)?[du] ?(?:bytes|[kKMG]i?B)\b|\(needed %|<\*>|(?i:allocat|request|memory)[^\n]{0,60}\{(?:[a-z_]\w*|\d)(?::[^}\n]*)?\}").is_match(text)
    {
        return Some("a list of errors in a manual");
    }
    // What readers are promised to see, a step that depends on what is found, and what a code is made of.
    if regex!(r#"(?i)\byou(?:'ll| will| may| might) (?:then |also )?(?:see|get) ["'`\x{201c}]"#).is_match(text)
        || regex!(r"(?:->|=>|\x{2192})\s*(?i:go to|see|continue with|escalate|skip to) ").is_match(text)
        || regex!(r"\b137 ?= ?128 ?\+ ?9\b|\b128 ?\+ ?9 ?= ?137\b").is_match(text)
    {
        return Some("a manual");
    }
    if regex!(r"(?i)\b(?:caught|handled|raised|got|failed|refused)\b[^\n]*\bas (?:planned|expected)\b|\[fault[-_ ]?inject\w*\]|\((?:simulated|injected|mock(?:ed)?|fake|(?:as )?(?:expected|planned|intended)|on purpose)\)").is_match(text) {
        return Some("a line of a test run");
    }
    // What a message looks like, what a plan expects or does not, and what a version does.
    if regex!(r"(?i)\bof the form [\x22'`]|[\x22'`\x{201d}] (?:is|are) not (?:expected|likely|anticipated|possible),? (?:since|because|as|for)\b|(?:^|[*.] )in v?\d+\.x,? ").is_match(text)
        || regex!(r"\x{304c}(?:\x{30ed}\x{30b0}|\x{51fa}\x{529b})\x{306b}(?:\x{3042}|\x{51fa})|\x{306a}\x{3044}\x{304b}(?:\x{3092})?(?:\x{8abf}\x{3079}|\x{78ba}\x{8a8d})|\x{3067}\x{3042}\x{308b}\x{3053}\x{3068}\x{3092}\x{78ba}\x{8a8d}").is_match(text)
    {
        return Some("a manual");
    }
    if regex!(r"(?i)\b(?:hypothesis|prediction|expected (?:result|outcome)|we expect)\b\W{0,3}(?::|that\b)")
        .is_match(text)
    {
        return Some("a line of a test run");
    }
    if regex!(r"(?i)\bsearch(?:ing|ed)? (?:query|for|terms?|string|text|results?)\b").is_match(text) {
        return Some("a text that was searched for, fetched or described");
    }
    if regex!(r"(?i)^\W*(?:\[[^\]\n]{1,40}\]\W*)?(?:recovered|resolved|cleared|acknowledged|muted|silenced|snoozed)\W{1,3}\s|^\W{0,3}alert\W{1,3}(?:resolved|cleared|silenced)|\b(?:resolved|cleared|silenced)\W{1,3}alert\b")
        .is_match(text)
    {
        return Some("an alert or its rule: the event itself is in other logs");
    }
    if regex!(
        r"^(?:Fix(?:e[sd])?|Prevent(?:s|ed)?|Avoid(?:s|ed)?|Handl(?:e[sd]?|ing)|Improv(?:e[sd]?))(?: [a-zA-Z`]|: )"
    )
    .is_match(text)
    {
        return Some("release notes");
    }
    if regex!(
        r"^(?:[*|\\/] )*[0-9a-f]{7,40} (?:\([^)]*\) )?(?i:fix|add|handl|document|remov|updat|merg|revert|improv|refactor|bump|support|mak|use|avoid|prevent|report|show|test|introduc|allow|catch|retry|rais|chang|renam|clean|doc|feat|chore|ci|perf|build|style|wip)(?i:[a-z]*)\b"
    )
    .is_match(text)
        && text.split(' ').find(|word| word.len() > 6).is_some_and(|hash| hash.contains(|c: char| c.is_ascii_lowercase()))
    {
        return Some("a commit");
    }
    if regex!(
        r"^(?i:insert into \S+|select\b.*\bfrom \S+|update \S+ set\b|delete from \S+|alter table|create (?:table|index|view)|values ?\(|(?:and|or|where|having|when)\s[^\n]*(?:=|<>|\bin|\blike) ?\(?'[^'\n]*')"
    )
    .is_match(text)
        || regex!(r"(?i)\bfilter ?\(where\b|\bcount\(\*\)|\bcase when\b|\b(?:match|searchmatch|like)\(\w+, ?\x22|^\s*\(\s*\d+,\s*'[^']*',\s*'").is_match(text)
    {
        return Some("a statement of a query language");
    }
    if regex!(
        r"^(?i:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|references|related to):? (?:[\w./-]*#\d+|GH-\d+|[A-Z][A-Z0-9]+-\d+)|^(?i:fix(?:es|ed)?): |^(?:labels?|tags?|topics?|milestone|component): |^\[?#\d+\]:? |^(?:[-*+] )?\[(?i:bug|crash|feature|question|issue|usage|rfc|docs?|help|wip|patch|discussion|proposal|tracking|regression|solved|request)\]:? [^\d]*(?:\(?#\d+\)?)?$|^[^\d]* \(#\d{2,6}\)$|\b[Oo]ut-of-memory\]? (?:tag|label)\b"
    )
    .is_match(text)
    {
        return Some("the title of an issue or a page");
    }
    // Lists of issues and changes, as the command-line tools of code hosts print them.
    if regex!(r"^[#!]?\d+\s+(?i:open|opened|closed|merged|draft)\s|^[#!]\d+\s{2,}\S.*\b(?:about |less than )?(?:\d+|an?) (?:minute|hour|day|week|month|year)s? ago$")
        .is_match(text)
    {
        return Some("the title of an issue or a page");
    }
    if regex!(r"(?i)\b(?:resolved|closed|reopened|assigned|muted|duplicate|fixed) (?:issue|ticket|alert|incident|bug|pull request)s?\b|\b(?:issue|ticket|alert|incident|bug|pull request) \S+ [^\n]{0,80}\b(?:resolved|closed|acknowledged|merged|reopened) by\b")
        .is_match(text)
        || regex!(r" - Stack Overflow$| · (?:Issue|Discussion|Pull Request) #\d+|(?:^|\s): r/\w+$| (?:-|\|) [\w ]{2,24} (?:Forums?|Discussions|Community)$")
            .is_match(text)
        || regex!(r"^[A-Z][A-Z0-9]{1,9}-\d{1,6}\s.*\b(?:In Progress|Open|Closed|Done|To Do|Resolved|Backlog)\b").is_match(text)
    {
        return Some("the title of an issue or a page");
    }
    if regex!(r"^(?:\[?\d\d?:\d\d(?::\d\d)?\]?\s*)?<[@+%]?([A-Za-z][\w.|-]{1,23})>\s")
        .captures(text)
        .is_some_and(|name| {
            !["stderr", "stdout", "error", "err", "out", "log", "unknown"].contains(&&name[1])
                && !conversation::pasted(text[name[0].len()..].trim_start())
        })
        || regex!(r"(?i)\b(?:any(?:one| ideas?| help| suggestions?)|thanks in advance|please help|(?:could|can|would|will|did|do|have|are) (?:you|anyone|someone|anybody|we) (?:have|take|look|see|help|check|know|try|tried|seen|please|explain)|what am i|how (?:do|can|should) i)\b[^.]*\?\s*$")
            .is_match(text)
    {
        return Some("words of a conversation");
    }
    if regex!(r"^(?i:version|release) v?\d+\.\d+(?:\.\d+)?:|^v?\d+\.\d+(?:\.\d+)?(?:-[\w.]+)?:?\s.*\b(?i:fix|add|remov|improv|chang|support)(?i:\w*)\b")
        .is_match(text)
    {
        return Some("release notes");
    }
    // What a value does, or a default, and what to do if a message appears.
    if regex!(r"\x{9ed8}\x{8ba4}[^\x{3002}]{0,24}\x{4f1a}[^\x{3002}]{0,6}[\x22\x{201c}]|\x{8bbe}(?:\x{7f6e})?\x{4e3a} ?\S{1,12} ?\x{65f6}|\x{5982}\x{679c}(?:\x{65e5}\x{5fd7}|\x{6587}\x{4ef6}|\x{8f93}\x{51fa}|\x{5c4f}\x{5e55})[^\x{ff0c}\x{3002}]{0,6}(?:\x{51fa}\x{73b0}|\x{663e}\x{793a}|\x{770b}\x{5230}|\x{5305}\x{542b})").is_match(text) {
        return Some("a manual");
    }
    // A sentence about what happens whenever something else does.
    if regex!(r"(?i)\b(?:requests|queries|writes|calls|jobs|pods|containers|processes) (?:are|get) (?:rejected|refused|killed|evicted|denied|cancelled) (?:with|by)\b.*\b(?:before there|before it|before they|when(?:ever)?|if|once|unless)\b").is_match(text) {
        return Some("a manual");
    }
    if regex!(r"^(?i:when(?:ever)?|if|in case|once) (?i:this|that|the|an?|your|you|any|one|it) [a-z][^.:]{0,60}(?:,| (?:an?|the|your|its|this) )").is_match(text) {
        return Some("a manual");
    }
    if regex!(r"(?i)\b(?:polic(?:y|ies)|config\w*|settings?|rules?|options|matchers?) (?:is |was |were )?(?:loaded|read|parsed|applied|updated|registered)\b").is_match(text) {
        return Some("a setting");
    }
    // Faces are drawn by people.
    if text.contains(
        |c: char| matches!(c, '\u{1f600}'..='\u{1f64f}' | '\u{1f910}'..='\u{1f92f}' | '\u{1f970}'..='\u{1f97a}'),
    ) {
        return Some("words of a conversation");
    }
    if let Some(reason) = shown::dismissed(text) {
        return Some(reason);
    }
    // A change that is planned to a setting.
    if regex!(r#"^[+~-]/?[+~-]? +"?[\w.-]+"? += +["\[{\d(]"#).is_match(text) {
        return Some("a setting");
    }
    // Of a unit of systemd: which ends of a service are none, and which start it again.
    if regex!(r"^(?:Success|Restart(?:Prevent|Force))ExitStatus\s?=").is_match(text) {
        return Some("a setting");
    }
    // A directive for a batch system, with its comment.
    if regex!(r"^#(?:SBATCH|PBS|BSUB|OAR|COBALT|FLUX:|MSUB|\$ -)\s?").is_match(text) {
        return Some("a setting");
    }
    // A setting that says when to act.
    if regex!(r#"^(?:- )?["']?(?:on|when|if|unless|until|retry|restart|ignore|match|expect(?:ed)?|known|allow|deny|skip|exclude|include|handle)(?:[A-Z_-]\w*|-\w+)?["']?\s?:\s?["'\[]?[A-Z]\w*[\]"']?,?$"#).is_match(text) {
        return Some("a setting");
    }
    if regex!(r"^\[[ xX]\]\s").is_match(text) {
        return Some("an item of a list of tasks");
    }
    if regex!(r"(?i)\b(?:post-?mortem|agenda|meeting|retrospective|workshop|webinar|lecture|survey|chapter|lesson|run-?book|playbook|guide|tutorial|how-?to|cheat ?sheet|scenario|exercise)\b[^.:]{0,20}:").is_match(text) {
        return Some("a title of something else");
    }
    if regex!(
        r"^[✓✔√]\s|^[✕✗✘×]\s(?:.*\(\d+ ?m?s\)$|(?:should|throws|reports|returns|handles|rejects|raises|fails|retries|restarts|detects|recovers|survives|logs|does|is)\b)|^(?:not )?ok \d+ - |^(?:=== (?:RUN|PAUSE|CONT|NAME)|--- (?:PASS|SKIP|FAIL):)\s|^<testcase\s|^\[(?: +OK| +FAILED| RUN +) +\]\s|\.{2,}\s*(?:ok|OK|[Pp]assed|PASS|skipped|SKIP)(?: +\[?[\d.]+ ?m?s(?:ec)?\]?)?$"
    )
    .is_match(text)
    {
        return Some("a line of a test run");
    }
    if regex!(r#"^\{"Time":"[^"]*","Action":"(?:run|pause|cont|pass|skip|fail|start|bench)",|^\{(?:"[^"]*":"[^"]*",)*"(?:[Tt]est|testName|test_name|fullName|nodeid)":"[^"]*"[^{}]*"(?:status|outcome|result|Action)":"(?:pass(?:ed)?|skip(?:ped)?|ok|success)""#)
        .is_match(text)
    {
        return Some("a line of a test run");
    }
    if regex!(r"\.\*[($|]|\)\.\*|\(\?(?:<|P<|:|i\))|\\[dsw][+*\]]|\w\\\. |\b(?:MustCompile|re\.compile|Regex::new|Pattern\.compile|RegExp)\(|%\{[A-Z]+[:}]").is_match(text) {
        return Some("a search pattern");
    }
    if regex!(r"^Merge (?:branch|pull request|remote-tracking branch|tag) |^(?:feat|fix|chore|docs|test|ci|build|perf|refactor|style|revert)\([\w./-]+\)!?: |^(?:feat|fix|chore|refactor|revert)!?: [a-z]")
        .is_match(text)
    {
        return Some("a commit");
    }
    if regex!(r"^(?:<p>)?<a (?:id|name)=|^<p>[^<]*<code>|^#{1,6} `\w+`$|^<(?:ul|ol|dl|table|tr|nav|li|dt|dd|h[1-6]|option|title|string|translation|source|target|seg|para|term|td|th|summary|trans-unit|data|value|message)\b[^>]*>").is_match(text) || heading(text) {
        return Some("a manual");
    }
    if regex!(r#"^(?:#[~|] ?)?msg(?:id|str)(?:_plural|\[\d\])? ""#).is_match(text) {
        return Some("a text for users, in a file of texts");
    }
    if row(text)
        || regex!(r#"^\{.*"(?:label|labels|annotation|ground_truth|target_text)"\s*:\s*(?:"|\d)"#).is_match(text)
    {
        return Some("a row of data");
    }
    None
}

/// A heading: words only. The same mark precedes pasted lines, which have numbers or an error class.
fn heading(text: &str) -> bool {
    // A title says what happens, an error what happened.
    let happens = regex!(
        r"^#{1,6} (?:The|My|Your|An?) [^:]*\b(?:exits|fails|crashes|dies|stops|restarts|runs out|gets|is|are)\b[^:]*$"
    );
    (regex!(r"^#{1,6} (?:[^\s\d:]+ ){2,}[^\s\d:]+$").is_match(text) || happens.is_match(text))
        && !text.starts_with("# Fatal ")
        && !text.contains("Error")
        && !text.contains("Exception")
}

/// A row of comma-separated texts without a time; a row of an exported log has one.
fn row(text: &str) -> bool {
    regex!(r#"^(?:\d{1,9}|"[^"]*"|[\w-]{1,32}),"(?:[^"]|"")*"(?:,|$)"#).is_match(text)
        && text.matches("\",\"").count() + text.matches(",\"").count() >= 2
        && !regex!(r"\d{1,2}:\d\d:\d\d").is_match(text)
}

/// An exposed metric, or a query over one.
fn counter(text: &str) -> bool {
    // A counted thing, followed after a gap or colon by a count of zero.
    if regex!(
        r"(?i)\b(?:kills?|errors?|events?|failures?|alerts?|incidents?|occurrences|crashes|ooms?|137|counts?|totals?|restarts?)\b[^:=]{0,24}(?:\s{2,}|[:=]\s*)0$|^[^\d:=]*[a-z)]\s{3,}0$|^[^\d:=]*[:=] 0 \([a-z ]*0\)$"
    )
    .is_match(text)
    {
        return true;
    }
    // The word before the colon is not what a device or a process is numbered by.
    let zero =
        regex!(r"(?i)^[^\d:=]*\b(?:ooms?|out[- ]of[- ]memory|kill(?:ed|s))\b[^\d:=]*?(\w+)\s*[:=]\s*0$").captures(text);
    if zero.is_some_and(|found| {
        !regex!(r"(?i)^(?:rank|gpu|device|worker|node|code|status|errno|host|process|pid|task|job|shard|replica|slot|card|memory|killed)$")
            .is_match(&found[1])
    }) {
        return true;
    }
    regex!(
        r"^# (?:HELP|TYPE) |^[a-z][a-z0-9]*_[a-z0-9]+_[a-z0-9_:]+(?:\{[^}]*\})? [\d.e+-]+(?: \d+)?$|^[a-z_:][a-z0-9_:]*\{[^}]*\} [\d.e+-]+|\b[a-z]+_[a-z0-9_]+\{[a-z_]+[=!]|\b(?:rate|increase|sum|max_over_time|changes)\([a-z_]+"
    )
    .is_match(text)
}

/// A rule in YAML: its name and its expression are nearby.
fn rule(lines: &Lines, at: usize) -> bool {
    let from = at.saturating_sub(RULE);
    let to = lines.len().min(at + RULE);
    let is = |line: &Line, regex: &Pattern| regex.is_match(&line.text) || regex.is_match(line.message());
    let any = |regex: &Pattern| lines[from..to].iter().any(|line| is(line, regex));
    // A label or a value that the rule's engine fills in.
    if is(&lines[at], regex!(r"\{\{-?\s*(?:\$|humanize|\.?Values\b|printf )")) {
        return true;
    }
    if !is(&lines[at], regex!(r"^\s*(?:-\s*)?[\w-]+:|\{\{")) {
        return false;
    }
    any(regex!(r"^\s*(?:-\s*)?(?:alert|record|alertname|rule|name):\s*\S"))
        && any(regex!(r"^\s*(?:-\s*)?(?:expr|query|condition):"))
}

/// A line of a patch, below its head or in a fence of its own.
fn patch(lines: &Lines, at: usize) -> bool {
    let head = regex!(r"^diff --git |^@@ -\d+(?:,\d+)? \+\d+");
    let above = &lines[at.saturating_sub(PATCH)..at];
    let (text, own) = (lines[at].text.as_str(), lines[at].message());
    // Two logs that were compared.
    if above.iter().any(|line| regex!(r"^\+\+\+ \S+\.(?:log|out|err)\b").is_match(&line.text)) {
        return false;
    }
    let fence = || above.iter().rev().find(|line| line.is_fence());
    if text.starts_with(['+', '-']) && fence().is_some_and(|line| line.text.trim().trim_start_matches('`') == "diff") {
        return true;
    }
    // After a prefix, the leading blank of an unchanged line looks like a part of the prefix.
    let quoted = own.len() < text.len();
    (text.starts_with(['+', '-', ' ']) && above.iter().any(|line| head.is_match(&line.text)))
        || (quoted && above.iter().any(|line| line.message().len() < line.text.len() && head.is_match(line.message())))
}

#[cfg(test)]
mod tests;
