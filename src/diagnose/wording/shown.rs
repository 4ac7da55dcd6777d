//! Texts that a line names, lists or shows instead of reporting them, recognised by the line alone.

use super::regex;

/// Why `text` is not an event.
pub(super) fn dismissed(text: &str) -> Option<&'static str> {
    // Phrases in quotes, one beside the other, are named and not said.
    if regex!(r#"\x{201c}[^\x{201d}]{2,80}\x{201d},? (?:(?:or|and) )?\x{201c}|["\x{201d}`'],? (?:or|and) (?:similar|other|comparable|equivalent) (?:\w+ )?(?:errors?|messages?|lines?|exceptions?|entries|warnings?)\b"#)
        .is_match(text)
    {
        return Some("advice or documentation about such errors");
    }
    // What a compiler or a linter says of the text of a source; who wrote a line of it.
    if regex!(r"\berror TS\d{4,5}: |^[WRC]\d{4}: |^\d+:\d+\s+(?:warning|error)\s.*\s[a-z][\w/@-]*$|^(?:error|warning)\[E\d{4}\]: |\[-W[\w=+-]+\]$|^\^?[0-9a-f]{7,40} \([^()]* \d{4}-\d\d-\d\d\b[^()]*\)")
        .is_match(text)
    {
        return Some("a line of code");
    }
    if regex!(r"\(INJECTED\)|\b[Ii]njected (?:fault|failure|error)s?\b|(?i:\[(?:fault|failure)[- ]injection\])")
        .is_match(text)
    {
        return Some("an experiment");
    }
    // A page in a list of pages.
    if regex!(r"^(?:- )?[^:]{2,80}: \S+\.(?:md|mdx|html?|rst|adoc|ipynb)$").is_match(text) {
        return Some("the title of an issue or a page");
    }
    // A filter and what it left: nothing.
    if regex!(r"^(?:[Ff]ilter|[Ss]earch|[Qq]uery|[Ss]elector): \S|\((?:0|no) (?:items?|results?|match(?:es)?|rows?|hits?|entries|events?|pods?)\)$").is_match(text) {
        return Some("a text that was searched for, fetched or described");
    }
    // A setting whose name holds the words: `ON_OUT_OF_MEMORY=dump`.
    if regex!(r"^(?:export )?[A-Za-z]\w*(?:OOM|OUT_?OF_?MEMORY|OutOfMemory|oom|out_of_memory)\w*=[\w./:-]+$|^[^\x22']*\b[A-Z][a-z]\w*On(?:OutOfMemory|OOM)\w*=(?:true|false|on|off|yes|no|[01])\b")
        .is_match(text)
    {
        return Some("a setting");
    }
    // A part of a program that deals with such kills.
    if regex!(r"(?i)\boom[- ]?kill(?:ed|er|ing)? (?:handling|detection|support|polic(?:y|ies)|protection|recovery|alerts?|dashboards?|banners?|hooks?|handlers?) (?:is|are|was|were|has|have)\b").is_match(text) {
        return Some("a setting");
    }
    // What holds for any job.
    if regex!(r"(?:^|[.:;] )(?:An?|Any|Each|Every) (?:\w+ )?(?:job|pod|process|container|task|worker|step|dyno) (?:above|over|beyond|that|which|exceeding|with|whose) [^.;\d\n]{1,60} (?:is|gets|(?:will|can|may) be) (?:cancell?ed|killed|terminated|stopped|evicted)\b")
        .is_match(text)
    {
        return Some("a rule");
    }
    // The number of a part of a work precedes its title.
    if regex!(r"^\W*(?:[Ee]pisode|[Cc]hapter|[Ll]ecture|[Ll]esson|[Aa]ppendix|[Ee]xercise|[Ss]eason|[Ss]lide) (?:\d{1,3}|[IVXA-D]{1,4})[.:]? ").is_match(text) {
        return Some("a title of something else");
    }
    // What happened to a ticket; exit codes in one line; classes that a setting lists.
    if regex!(r"(?i)\b(?:assigned|moved|closed|opened|reopened|created|updated|resolved|linked|commented on|merged) (?-i:[A-Z][A-Z0-9]{1,9}-\d{1,6})\b").is_match(text) {
        return Some("the title of an issue or a page");
    }
    if regex!(r"(?i)\bexit (?:codes|statuses|status values)\b[^\d\n]{0,20}\d{1,3}[ =:)-]+[a-z][^,;\n]{0,40}[,;] *\d{1,3}[ =:)-]+[a-z]").is_match(text) {
        return Some("a list of errors in a manual");
    }
    if regex!(r#"^(?:- )?[a-z][\w.-]*(?:exception|error|reason|retr|ignor|fatal|class)[\w.-]*\s?[=:]\s?\[?["']?[\w.$]+["']?(?:,\s?["']?[\w.$]+["']?)+\]?$"#).is_match(text) {
        return Some("a setting");
    }
    // What happened in a year that is named is long ago.
    if regex!(r"^\W*(?:Back in|In|Since|Until|En|Im Jahre?) (?:the year )?(?:19|20)\d\d,? \p{Ll}").is_match(text) {
        return Some("a text about the past");
    }
    // A pool of connections, threads and the like.
    if regex!(r"(?i)\b(?:connections?|threads?|workers?|ports?|sockets?|sessions?|processes|descriptors?|address(?:es)?|licen[cs]es?|tokens?|jobs?|database|db|https?|clients?|ssh|proxy|objects?|ips?|entropy|bandwidth|retry|quota) pool(?:\b|_)").is_match(text) {
        return Some("a limit on something else than memory");
    }
    // What a class of errors is, or is not, to a program's settings.
    if regex!(r"(?:Error|Exception|OOM\w*)\W? (?:is|was) (?:not |n't )?(?:(?:one )?(?:of|among)|in|on|configured|listed|registered|declared|marked|considered|treated|classified) ?(?:the|as|a|an|for|retry\w*)\b").is_match(text) {
        return Some("a setting");
    }
    // A choice in one line; a text that a program shows, parses or replays.
    if regex!(r"(?i)^\W*(?:please )?(?:select|choose|pick|enter|which|what|survey)\b[^\n]*[\[(](?:1|a)[\])][^\n]*[\[(](?:2|b)[\])]|^\W*(?i:a)[.)] [^\n]*\s(?i:b)[.)] [^\n]*\s(?i:c)[.)] ").is_match(text) {
        return Some("a list to choose from");
    }
    if regex!(r#"^(?:Replaying|Quoting|Displaying|Rendering|Parsing|Showing|Matching|Classifying|Translating|Highlighting)\b[^"\n]*:? ""#).is_match(text) {
        return Some("a text that was searched for, fetched or described");
    }
    // A phrase in quotes that the sentence is about.
    if regex!(r#"(?:^|: )["'\x{201c}`][^"'\x{201c}\x{201d}`]{2,60}["'\x{201d}`] (?:should (?:not |never )?(?:be|say|read)|must (?:be|not)|means?\b|hei\x{df}t|bedeutet|significa|veut dire|stands for|(?:is|are|gets?) (?:raised|thrown|printed|shown|reported|returned|logged|displayed|written)\b|(?:appears|occurs|happens|indicates|comes from|points to|shows up)\b|is (?:the|a|an|not a) (?:name|title|text|message|label|phrase|song|state|reason|common)|in (?:German|French|Spanish|English|Chinese|Japanese))"#).is_match(text) {
        return Some("a text for users, in a file of texts");
    }
    // Boxes to tick; a rule and its text; a text with the names of what will be filled in.
    if text.matches("[ ]").count() >= 2 {
        return Some("a list to choose from");
    }
    if regex!(r#"^\W*(?i:rule|trigger|signature|detector|monitor|check)\b[^:"\n]{0,30}: ["'\x{201c}]|\{[A-Z][A-Z0-9]*(?:[._#][A-Z0-9]+)+\}"#).is_match(text) {
        return Some("an alert or its rule: the event itself is in other logs");
    }
    // A row of a table on a wiki; one text in several languages.
    if regex!(r#"^\|\|.*\|\|$|"[a-z]{2}(?:[-_][A-Za-z]{2})?"\s*:\s*"[^"]*",\s*"[a-z]{2}(?:[-_][A-Za-z]{2})?"\s*:\s*""#)
        .is_match(text)
    {
        return Some("a text for users, in a file of texts");
    }
    // A row of a table of tests.
    if regex!(r#"^\{.*\b(?:want|wants|expect|expected|should|input)\w*: .*\},?$"#).is_match(text) {
        return Some("a line of code");
    }
    // A text and its translation; the values that a type may have.
    if regex!(r#"^[^"]*"[^"]+" (?:->|=>|\x{2192}) "[^"]+"$|^(?:export )?type \w+ = |^(?:Docstring|Init signature|String form|Subclasses):\s"#).is_match(text) {
        return Some("a text for users, in a file of texts");
    }
    if regex!(r#"(?i)\b(?:policy|rule|alert|trigger|monitor|webhook|hook|silence|filter|matcher|alarm)s? (?:["'][^"']*["'] |[\w.-]*[-_.][\w.-]* )?(?:is |was |were |has been |have been )?(?:created|added|saved|enabled|disabled|installed|deleted|removed|changed|updated)\b"#).is_match(text) {
        return Some("a setting");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_named_listed_or_shown_are_no_events() {
        for text in [
            "- Console shows \u{201c}Killed\u{201d}, \u{201c}Out of memory\u{201d}, or similar messages",
            "it prints \"out of memory\" or similar messages",
            "lena assigned OPS-812: OutOfMemoryError in importer",
            "Exit codes: 0 success, 137 killed (out of memory), 143 terminated",
            "retry.exceptions=java.lang.OutOfMemoryError,java.io.IOException",
            "In 2021 the cluster was down for an hour because a node ran out of memory.",
            "psycopg2.pool.PoolError: connection pool exhausted",
            "RuntimeException: java.lang.OutOfMemoryError is not one of the retryable exceptions configured",
            "Enter a reason [1] disk full [2] out of memory [3] other:",
            "Replaying incident 12: \"Out of memory: Killed process 812 (java)\"",
            "Translation complete: \"Plus de m\u{e9}moire\" -> \"Out of memory\"",
            "type Reason = \"OOMKilled\" | \"Error\";",
            "Docstring:      Out of memory.",
            "Policy \"restart-on-oom\" created: reason=OOMKilled",
            "Note: A job above its --mem is cancelled by slurmstepd (OUT_OF_MEMORY, \"oom_kill event\"), so ask for enough.",
            "error TS2304: Cannot find name 'OutOfMemoryError'.",
            "mmap(NULL, 4096) = -1 ENOMEM (Cannot allocate memory) (INJECTED)",
            "- Out of memory: oom.md",
            "Filter: OOMKilled (0 items)",
            "ON_OUT_OF_MEMORY=dump",
            "OOMKilled handling is enabled",
            "Chapter 7. Out of memory",
            "|| Killed || OOM killer ||",
            "[ ] out of memory [ ] disk full",
            "Trigger: \"Out of memory on {HOST.NAME}\"",
            "{name: \"cuda\", line: \"CUDA out of memory\", want: true},",
            "{\"en\":\"Out of memory\",\"de\":\"Zu wenig Speicher\"}",
            "`CUDA error: out of memory` is raised if the batch does not fit.",
        ] {
            assert!(dismissed(text).is_some(), "{text}");
        }
        for text in [
            "exit code: 137, out of memory",
            "error: exit code 137 after 12 s, 3 retries left",
            "reason=OutOfMemoryError",
            "worker 812 moved to node n-7: out of memory",
            "type mismatch: out of memory",
            "error=OUT_OF_MEMORY",
            "step 7: out of memory",
            "A worker with number 7 is killed: out of memory",
            "\"loader\" is out of memory",
            "Rendering frame 12: out of memory",
            "Which GPU? device 1: out of memory",
        ] {
            assert_eq!(dismissed(text), None, "{text}");
        }
    }
}
