//! The position of a wording in its line: whether it is something that happened, or something that is said about it.

use super::super::code::is_code;
use super::{regex, speech};

/// The position of a wording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Position {
    /// The wording is at the start of the line or after an exception's class: it happened.
    Message,
    /// The wording is within other words.
    Prose,
    /// The wording is in code, in an example or in a conversation: why it is not an event, whatever numbers it has.
    Talk(&'static str),
    /// The wording is advice or a denial: why it is not an event, unless it has numbers.
    Said(&'static str),
}

/// Why the wording that begins at `start` of `message` is talk. Messages with their numbers need no more of a position,
/// which takes longer to find.
pub(super) fn talk_about(message: &str, start: usize) -> Option<&'static str> {
    talk(message, &message[..start], &message[start..])
}

/// The position of the wording that begins at `start` of `message`, a line without prefixes.
pub(in super::super) fn position(message: &str, start: usize) -> Position {
    let before = &message[..start];
    let after = &message[start..];
    if let Some(reason) = talk_about(message, start) {
        return Position::Talk(reason);
    }
    if let Some(reason) = said(before, after) {
        return Position::Said(reason);
    }
    let trimmed = before
        .trim_end_matches([
            ' ', '*', '_', '`', '>', '<', '"', '\'', '[', '(', '“', '│', '║', '|', '!', '-', '✗', '❌', '\u{a0}',
        ])
        .trim_start();
    let raised = regex!(
        r#"(?x)(?:[A-Za-z_][\w.]*(?:Error|Exception|Failure|Fault|Exit)\w*\ ?:? | [Ee]rrors? ?:? | ERROR\ ?:? | what\(\):? | [Ff]ailed(?:\ with)?:?
            | [Rr]eason"?\ ?[:=] | [Mm]essage\**"?\ ?[:=]\** | "?msg"?\ ?[:=] | [Ee]xception:? | [Cc]aught:? | [Ff]atal:? | [Aa]borted?:? | error=| err=
            | [Tt]raceback:? | log"?: | stderr"?: | RPC:? | '\w*Error'?:? | 报错[:：]? | 错误[:：]? | status: | \d\ ?:)$"#
    );
    // Errors that were wrapped on their way up: `Error: the runner has ended: CUDA error: out of memory`.
    let wrapped = regex!(
        r"(?:^|[\s\x22'(\[])(?:[\w.]*(?:Error|Exception)|error|ERROR|[Ff]atal|FATAL|[Pp]anic): [^.?!]{1,160}: $"
    );
    // A short message behind its level: `ERROR: root: memory budget exceeded`, `Error # 43.  Insufficient memory`.
    let headed = regex!(
        r"(?:^|[\s\x22'(\[*])(?:[\w.]*(?:Error|Exception)|error|ERROR|[Ff]atal|FATAL|[Pp]anic|SEVERE|CRITICAL|FAILED)(?:\]|:|\]:| ?# ?\d+[.:]) {1,3}(?:[\w'-]+:? ){0,5}$"
    );
    // `pytest` begins the lines of an error with an E.
    if trimmed.is_empty()
        || before.trim() == "E"
        || headed.is_match(before)
        || wrapped.is_match(before)
        || raised.is_match(before.trim_end_matches([' ', '*', '_', '`', '"', '\'', '(', '[', '“', '{', '\\']))
    {
        return Position::Message;
    }
    Position::Prose
}

/// Why the words are talk, or `None`.
fn talk(message: &str, before: &str, after: &str) -> Option<&'static str> {
    let listing = regex!(
        r"^\S*\.(?:py|pyi|rs|c|cc|cpp|cu|cuh|h|hpp|js|ts|go|java|md|rst|txt|ipynb|sh|yaml|yml|toml|po|pot|properties|xml|html?|adoc|tex|kt|scala|mm?|vue|tsx|jsx|proto|sql|cfg|conf|ini|tf|gradle|cmake|mk|bzl|asm)[:-]\d+[:-]"
    );
    if listing.is_match(message) {
        return Some("a line of a file, as a search prints it");
    }
    // The summary of a test run names the error that ended a failed test.
    let ended = regex!(r"^(?:(?:\S+ )?(?:FAILED|ERROR) )?\S.*::\S+ - (?:[\w.]*(?:Error|Exception): )$")
        .is_match(before)
        && !before.ends_with("AssertionError: ");
    // A test of Rust prints its name, and perhaps why its process aborted before its result.
    let named = regex!(r"^test \S+ \.\.\. ").is_match(message) && !before.contains(" ... ");
    if !ended && (named || regex!(r"::test_\w+|\btest_\w+\[|\b(?:PASSED|SKIPPED|XFAIL|XPASS)\b").is_match(message)) {
        return Some("a line of a test run");
    }
    if names_a_thing(before, after) {
        return Some("a name: of a package, a branch or a page");
    }
    // A name that is missing.
    if regex!(r"\b(?:ImportError|ModuleNotFoundError|AttributeError|NameError|NoClassDefFoundError|ClassNotFoundException|NoSuchMethodError|NoSuchFieldError): |\bundefined (?:symbol|reference|method|variable|local variable|constant)\b|\bhas no attribute\b|\bcannot find symbol\b")
        .is_match(before)
    {
        return Some("a name that is missing");
    }
    let comment = regex!(
        r#"^\s*(?:[-+~*]\s+)?(?:["']?[\w.-]+["']?:(?:\s|$)|(?:RUN|ENV|ARG|CMD|COPY|ENTRYPOINT|set|setenv|ulimit|sysctl|module|python3?|srun|docker|mpirun|java|node|helm|kubectl)\s|\$ |--?[A-Za-z][\w-]*[= ]|[a-z][\w.-]*\s+(?:\d[\w.]*|yes|no|on|off|true|false)\s|[{\[}]|export\s|[A-Za-z_][\w.\[\]]*\s*[+:|-]?=|[\w.]+\([^)]*\)[;,]?|\#\s*include\s|assert\s)[^\n]*\s(?:#|//|/\*)\s[^\n]*$"#
    );
    if comment.is_match(before) {
        return Some("a comment");
    }
    let word = before.rsplit(|c: char| c.is_whitespace() || "\"'`,;()[]{}<>".contains(c)).next().unwrap_or_default();
    let requested = regex!(r"\b(?:GET|POST|PUT|HEAD|DELETE|PATCH|OPTIONS) /\S*$").is_match(before);
    if requested || word.contains("://") || word.starts_with("www.") {
        return Some("a part of an address");
    }
    if regex!(r"\b(?:mock\w*|monkeypatch|side_effect|thenThrow|doThrow|andRaise|and_raise|stub\w*)\b[^\n]*[(=]")
        .is_match(before)
    {
        return Some("a line of code");
    }
    let quoted = before.contains(['"', '\'']);
    // A title pasted from a traceback holds the line of code and, after it, the error that the line raised.
    let closed = |mark: char| before.matches(mark).count().is_multiple_of(2);
    let raised = regex!(r"(?:^|\s)[\w.]*(?:Error|Exception): $").is_match(before) && closed('"') && closed('\'');
    let heading = regex!(r"^#+ (?:[\w.]+ )?(?:ERROR|[\w.]*(?:Error|Exception))\b").is_match(message);
    // A structured log quotes its message, and fields follow.
    let structured =
        regex!(r#"^"[^"]*" \w+=|^"[\w./-]+" (?:exited|failed|terminated|ended|died|was|has) "#).is_match(message);
    if is_code(message)
        && !structured
        && !raised
        && !heading
        && (quoted || regex!(r#"["'`)\]]"#).is_match(after) || before.trim_start().starts_with(['#', '/', '*']))
    {
        return Some("a line of code");
    }
    if regex!(r#"["']\s*(?:not )?in\s+(?:str|repr|e|err|error|msg|line|out|output|stderr|log|text)\b"#).is_match(after)
    {
        return Some("a line of code");
    }
    let chat = regex!(
        r#"(?:"(?:role|content|prompt|instruction|completion|question|answer|input|query|user|assistant|messages|response|chosen|rejected)"\s*:\s*"[^"]*$|(?:^|[|,;\t] ?)(?:samples?|text|generated|generation|predict(?:ed|ion)|target|reference|hypothesis|caption|sentence|transcript|label)\s?[:=]\s?["'][^"']*$|<\|(?:user|assistant|im_start|system)\|?>?|^[*_#>\s]*(?:\d+[.)]\s*)?[*_]*(?:User|Human|Assistant|Q|A|Question|Answer|user|assistant|Prompt|prompt|Customer|Student)\d*[*_]*\s*[:>])"#
    );
    if chat.is_match(before) {
        return Some("words of a conversation");
    }
    if let Some(reason) = speech::shown(before, after) {
        return Some(reason);
    }
    let example = regex!(
        r"(?i)(?:\be\.g\.,?|\bfor example|\bfor instance|\bsuch as|\blooks? like|\blike this|\bsimilar to)[: \x60'\x22\u{201c}]*(?:this:?|the following:?)?(?:[^.;:]|(?:Error|Exception): ?){0,40}$"
    );
    example.is_match(&undotted(before)).then_some("an example")
}

/// Whether the words are a part of one longer name in lower case: `fix-cuda-out-of-memory`.
fn names_a_thing(before: &str, after: &str) -> bool {
    const OWN: [&str; 16] = [
        "cuda",
        "gpu",
        "hip",
        "device",
        "host",
        "node",
        "out",
        "of",
        "memory",
        "oom",
        "kill",
        "killed",
        "killer",
        "error",
        "err",
        "exception",
    ];
    let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let head = before.trim_end_matches(part).len();
    let tail = after.len() - after.trim_start_matches(part).len();
    let words = || before[head..].split('-').chain(after[..tail].split('-')).filter(|word| !word.is_empty());
    // An option, a key with its value, or an address is judged elsewhere.
    let begins = before[..head].is_empty() || before[..head].ends_with([' ', '\t', '"', '\'', '`']);
    let ends = after[tail..].is_empty() || after[tail..].starts_with([' ', '\t', '"', '\'', '`', ',']);
    begins
        && ends
        && !before[head..].starts_with('-')
        && after[..tail].contains('-')
        && words().any(|word| !OWN.contains(&word) && word.bytes().all(|byte| byte.is_ascii_lowercase()))
}

/// Why the words describe such events in general, or `None`.
fn said(before: &str, after: &str) -> Option<&'static str> {
    // The package of a class belongs to it: its dots do not end a sentence.
    let package = regex!(r"(?:[A-Za-z_]\w*[./])+$").find(before).map_or(before.len(), |package| package.start());
    let before = &undotted(&before[..package]);
    let advice = regex!(
        r"(?i)(?:\b(?:if|when|whenever|in case|once) (?:you|it|this|there|the|an?|of)\b|\b(?:if|when|whenever|once|unless|until)[\s`'\x22*(\[{]*$|\b(?:look|search|watch|grep|scan)(?:ing)? for\b|\b(?:and|so|then|,) you(?:'ll| will| may| might| can| could| should)? (?:see|get|find|notice|observe)\b|\bcheck(?:ing)? (?:for|whether|if)\b|\bcommon (?:errors?|causes?|reasons?)|\b(?:causes?|meaning) of\s|\bfaq\b|\btroubleshoot\w*|\b(?:messages?|errors?|lines?|exceptions?) (?:beginning|starting|containing|of the form|that (?:say|contain|begin)s?)\b|\bto (?:avoid|prevent|reduce|handle|simulate|fix|resolve|solve)|\b(?:may|might|could|can|would|will) (?:\w+ ){0,3}(?:cause|lead|result|run|exit|die|crash|restart|raise|throw|trigger|get|hit|see|fail|be)|\b(?:avoid|prevent|simulat|mock|expect|pretend)\w*|\bhandl(?:es|ing)\b|\bhint:|\btip:|(?:^|[^=\s]\s*)\bnote:|\busage:|\bkeywords?:|\bdocs?\b:?|\bdocumentation\b|\b(?:wenn|falls|lorsque|cuando)\b|如果|若|一般|通常)[^.;。]{0,60}$"
    );
    // What happened before a change.
    let once = regex!(
        r"(?i)\b(?:used to (?:\w+ )?(?:be|get|die|crash|fail|run|exit|end|raise|throw|abort|hit|cause|print|report|return|go)|previously|formerly|no longer|in the past|until now|up to now|before this (?:change|fix|commit|patch|release)|(?:is|are|was|were) (?:now )?(?:caught|handled))\b[^.;\n]{0,80}$"
    );
    if once.is_match(before) {
        return Some("release notes");
    }
    // An action that could not be done is an event, not a denial.
    let plain = regex!(r"(?i)\b(?:could|can|would) ?not be\b").replace_all(before, "was not");
    // A guess at the cause, in front of the error itself.
    let guessed =
        regex!(r"(?i)\b(?:may|might|could) be (?:due to|caused by|because of|related to) [^:.]{1,80}: (?:.*: )?$")
            .is_match(before);
    let described = regex!(
        r"(?i)^\W*(?:an? (?:function|class|method|helper|wrapper|decorator|context manager)\b|returns? (?:0|1|-1|true|false|null|none|an?|the|whether|`|:)|raises?:? |@(?:returns?|retval|throws|exception)\b)"
    );
    let asked = regex!(
        r"(?i)^\W*(?:(?:explain|describe|define|summari[sz]e|translate|discuss)\s|(?:why|how|what|where|which|who) (?:is|are|was|were|does|do|did|can|could|should|would|will|has|have|my|the|to|am)\b)"
    );
    let wished = regex!(r"(?i)\b(?:should|must|shall) (?:[a-gi-z]\w*|h[b-z]\w*|ha[a-uw-z]\w*)\b[^.;:\x{3002}]{0,180}$");
    if (!guessed && advice.is_match(&plain))
        || wished.is_match(&plain)
        || described.is_match(before)
        || asked.is_match(before)
    {
        return Some("advice or documentation about such errors");
    }
    let denied = regex!(
        r"(?i)(?:\b(?:no|not|never|without|isn't|wasn't|don't|doesn't|didn't|hasn't|haven't|cannot be|can't be|instead of|rather than|ruled out|nor|free of)\b(?:[^.:;!?]|\.\w){0,60}\.?|(?:^|[:=,;(\[]\s*|\b(?:had|saw|found|with|of|total|were|was|are|count)\s+)(?:0|zero)\s+(?:\w+ (?:were|was) )?)$"
    );
    let not_then = regex!(
        r"(?i)^[^.;:]{0,40}\b(?:did not|didn't|never) (?:occur|happen)|^\S*(?:\s\w+){0,3} (?:errors?|events?|kills?)?:? 0\b"
    );
    let explained = regex!(
        r"(?i)^[\w\x{c0}-\x{17f} <>.:`'\x22()*-]{0,80}?\b(?:137 (?:is|equals) (?:128|the|an?|what|how|usually)|means|indicates|signifies|stands for|corresponds to|explained$|(?:typ+ically|usually|generally|commonly|normally|mostly|often|sometimes|frequently|rarely) (?:means?|indicates?|points? (?:to|at)|suggests?|shows? up|results? (?:from|in)|comes? from|arises?|stems?|happens?|occurs?|are|is|has|have)\b|(?:errors|exceptions|kills|crashes) (?:mean|indicate|signify|point to|suggest|come from|result from|arise)\b|bedeutet|signifie|significa)\b|^[^.;]{0,40}(?:\x{8868}\x{793a}|\x{610f}\x{5473}\x{7740})|^[^.;]{0,60}, (?:falls|wenn)\b"
    );
    let general = regex!(
        r"(?i)^(?:[^.;:\n]|\.\w){0,60}?\.?\b\w*(?:errors?|exceptions?|memory\w*|heap|killed|137|kills?)[`'\x22)]* (?:(?:is|are|gets?) (?:now |only |always |usually |often |never )?(?:raised|thrown|returned|logged|an? subclass|an? alias|deprecated|expected|harmless|benign)|(?:is|are) (?:not |never )(?:caught|thrown|raised|an?|always|necessarily|handled|recoverable))\b|^(?:[^.;:\n]|\.\w){0,60}?\b(?:occurs?|happens?|appears?) (?:when|if|because)\b|^(?:[^.;:\n]|\.\w){0,40}\b(?:errors?|exceptions?|kills?) (?:may|might|can|could|would|will) (?:\w+ )?(?:occur|happen|appear|arise)\b|^[^\n]{0,80}[,;] (?:or|and) (?:if|when) |^[^.;:\n]{0,60}\b(?:occurs|happens), |^[^\n]{0,120}\b(?:can|may|should) (?:be )?safely (?:be )?ignored?\b"
    );
    // A name for what a setting or a program is about.
    let named = regex!(
        r"(?i)^(?:out[- ]of[- ]memory|OOM[- ]?kill(?:ed|er|ing|s)?|OOM)[- ](?:situations|conditions|killing|handling|management|features?|protection|polic(?:y|ies)|prevention|behaviou?r|scor(?:e|ing)|detection|support|settings?|options?|analysis|troubleshooting|guides?|docs?|tests?|checks? (?:passed|ok|is|was|succeeded|enabled|disabled|skipped)|banner|page|tutorials?)\b"
    );
    let harmless = regex!(r"(?i)\b(?:harmless|benign|(?:safely|can be|may be) ignored?)\b[^.;\n]{0,40}$");
    // What happens to every member of a kind; what always follows on a condition.
    let habit = regex!(
        r"(?i)\b(?:containers|pods|jobs|processes|tasks|workers|queries|programs|applications|executors|instances|services|functions|sessions)\b[^.;:\n]{0,60} (?:are|get|will be|may be|can be)(?: \w+ly)?\s+(?:(?:killed|terminated|evicted|stopped|restarted|throttled|preempted|cancell?ed)\b[^.;:\n]{0,60})?$|\bsuch (?:jobs|containers|pods|processes|tasks|workers|queries) (?:show|have|end|appear|get|are|will)\b[^.;:\n]{0,60}$|\b(?:is|are|gets?) (?:often|usually|automatically|always|typically|sometimes|then|simply|immediately) $|(?:^|[.!?] )(?:when|if|whenever|once|as soon as|every time|should)\b[^.;:\n]{4,120}, (?:[^.;:\n]|\.\w){0,60}$"
    );
    let kinds = regex!(
        r"(?i)^(?:oom[- ]?killed (?:containers|pods|jobs|processes|tasks|workers|executors|instances) (?:are|get|will|can|may|should|must)\b|\w+ (?:jobs|processes|containers|pods|workers|tasks|queries|programs|applications) (?:which|that|who|whose|if|when|exceeding)\b|[^.;:\n]{0,40}\b(?:jobs|processes|containers|pods|workers|tasks|queries) (?:which|that|whose) (?:exceed|use|need))"
    );
    let every = regex!(
        r"(?i)\b(?:kills|terminates|evicts|stops|aborts|restarts) (?:all |any )?(?:jobs|processes|containers|pods|workers|tasks|queries|programs|applications) (?:which|that|who|whose|if|when|exceeding)\b[^.;:\n]{0,60}$"
    );
    // A part of a program that deals with such events, and its state.
    let part = regex!(
        r"(?i)^[\w -]{0,60}\b(?:check|handling|detection|handler|hook|policy|action|alert|alarm|notification|guard|watch(?:er|dog)?)s? (?:is |was |are )?(?:disabled|enabled|skipped|off|on|ok|passed|registered|installed|configured|set|active|started)\b"
    );
    if part.is_match(after) || habit.is_match(before) || kinds.is_match(after) || every.is_match(before) {
        return Some("advice or documentation about such errors");
    }
    let named_as = regex!(
        r"(?i)\b(?:reports?|shows?|counts?|maps?|treats?|translates?|appears?|encodes?|represents?|(?:is|are)(?: now)? (?:reported|shown|logged|listed|marked|known))\b[^.;\n]{0,40}\b(?:as|to)\s+(?:an? |the )?$"
    );
    if named_as.is_match(before) {
        return Some("advice or documentation about such errors");
    }
    let returned = regex!(r"(?i)\b(?:returns?|gives|yields|sets errno to|fails? with) [-`'(]*$").is_match(before)
        && regex!(r"^[\w`')-]+ (?:if|when|unless|in case|once|whenever)\b").is_match(after);
    if returned || general.is_match(after) || harmless.is_match(before) {
        return Some("advice or documentation about such errors");
    }
    // What a program will do.
    let future = regex!(r"(?i)\b(?:may|might|will|would|should|shall)\s+$").is_match(before)
        && regex!(r"^(?:exit|die|fail|crash|run|abort|end)\b").is_match(after);
    // A program that draws a conclusion speaks of what happened.
    let concluded = regex!(
        r"(?i)^[^.]*\b(?:exited|ended|died|stopped|crashed|failed|disappeared)\b[^.]*\. This (?:probably|likely) means "
    );
    if future || (explained.is_match(after) && !concluded.is_match(after)) || named.is_match(after) {
        return Some("advice or documentation about such errors");
    }
    // An action that could not be done is an event, not a denial.
    let happened = regex!(
        r"(?i)\b(?:could|can) ?not (?:[ac-z]|b[^e])|\b(?:did ?n['\x{2019}]?t|did not|does not|doesn't) (?:exit|complete|finish|end|succeed|terminate|return|respond)\b"
    )
    .is_match(before);
    // The number of a device, not a count of errors.
    let counted =
        regex!(r"(?i)\b(?:gpu|device|rank|node|worker|card|core|cuda|npu|xpu|replica|shard|slot|host)[ :#=]{1,2}0\s+$");
    // What was too little is no denial.
    let scarce = regex!(r"(?i)\b(?:not|no) (?:enough|more|sufficient|free|available|space|memory|room)\b")
        .replace_all(before, "little");
    let denied = denied.is_match(&scarce) && !counted.is_match(before);
    if (denied && !happened) || not_then.is_match(after) {
        return Some("the text denies it");
    }
    speech::mentioned(before, &undotted(after))
}

/// `text` without the dots within names, which end no sentence.
fn undotted(text: &str) -> String {
    let bytes = text.as_bytes();
    let word = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at)).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let within = |at: usize| bytes[at] == b'.' && word(at.checked_sub(1)) && word(Some(at + 1));
    text.char_indices().map(|(at, c)| if within(at) { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Position {
        position(text, text.find("CUDA out").expect("the wording"))
    }

    #[test]
    fn what_happened_stands_at_the_start_or_behind_its_class() {
        for text in [
            "CUDA out of memory.",
            "RuntimeError: CUDA out of memory.",
            "torch.OutOfMemoryError: CUDA out of memory.",
            "**RuntimeError: CUDA out of memory**",
            "OutOfMemoryError('CUDA out of memory.",
            "Build faulted (65). Error: OutOfMemoryError : CUDA out of memory.",
            "{\"level\": \"error\", \"message\": \"CUDA out of memory.",
            "- **Exception Message:** CUDA out of memory.",
            "This may be due to a limit: Error: CUDA out of memory.",
            "ERROR: worker pool: CUDA out of memory.",
        ] {
            assert_eq!(of(text), Position::Message, "{text}");
        }
    }

    #[test]
    fn talk_is_no_event() {
        for text in [
            "    raise RuntimeError(\"CUDA out of memory. Tried to allocate 2.00 GiB\")",
            "    if 'CUDA out of memory' in str(e):",
            "# CUDA out of memory happens here",
            "src/train.py:12:  CUDA out of memory",
            "User: I get CUDA out of memory, why?",
            "{\"role\": \"user\", \"content\": \"I get CUDA out of memory",
            "If you encounter CUDA out of memory, try to set --tile with a smaller number.",
            "This may lead to a CUDA out of memory error.",
            "no CUDA out of memory errors were seen",
            "finished without CUDA out of memory",
            "assert \"CUDA out of memory\" in output",
            "The error `torch.cuda.OutOfMemoryError: CUDA out of memory` means that the device is full",
            "src/i18n/de.po:1207:msgid \"CUDA out of memory\"",
            "docs/errors.xml-12-<title>CUDA out of memory</title>",
            "When the cache grows, the server aborts with CUDA out of memory",
            "mocker.patch(\"f\", side_effect=RuntimeError(\"CUDA out of memory\"))",
            "Explain CUDA out of memory",
        ] {
            assert!(matches!(of(text), Position::Talk(_) | Position::Said(_)), "{text}: {:?}", of(text));
        }
    }

    #[test]
    fn other_words_are_prose() {
        for text in ["I get CUDA out of memory", "the job hit CUDA out of memory again"] {
            assert_eq!(of(text), Position::Prose, "{text}");
        }
    }
}
