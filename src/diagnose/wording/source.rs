//! Lines of source files: code and its comments, by their form and by the lines around them.

use super::super::window::{Line, Lines};
use super::regex;

/// How many lines above a line may open its comment.
const COMMENT: usize = 200;
/// How many lines around a text may be of the same test.
const TEST: usize = 8;
/// How many lines before a line, and how many after it, show whether it is in a source file.
const AROUND: usize = 12;
/// How many of these lines at least have to have the form of source, and which share of all.
const LEAST_LINES: usize = 6;
const SHARE: (usize, usize) = (13, 20);

/// Whether line `at` belongs to a source file.
pub(super) fn holds(lines: &Lines, at: usize) -> bool {
    code(lines, at) || block_comment(lines, at) || surrounded(lines, at) || literal(lines, at)
}

/// Whether line `at` is a text in quotes between lines of a test; a notebook has texts in quotes as well.
fn literal(lines: &Lines, at: usize) -> bool {
    let near = &lines[at.saturating_sub(TEST)..lines.len().min(at + TEST)];
    regex!(r#"^\s*(?:[rbfu]{1,2}|R|L)?(?:"[^"]*(?:"[,;)\s.]*)?|'[^']*'[,;)\s.]*)$"#).is_match(&lines[at].text)
        && near.iter().any(|line| {
            regex!(r"^\s*(?:(?:async )?def test_|assert\b|self\.assert|#\[test\]|(?:async )?fn test|(?:it|test|describe|expect)\(|(?:EXPECT|ASSERT|CHECK|REQUIRE)_?\w*\(|func Test|public void test)")
                .is_match(&line.text)
        })
}

/// Whether most lines around line `at` are code or comments. An error with its class is not dismissed so easily:
/// people print it between the code that raised it.
fn surrounded<'a>(lines: &'a Lines, at: usize) -> bool {
    let own = &lines[at];
    let raised = regex!(
        r"^(?:[A-Za-z_][\w.]*(?:Error|Exception)\b(?:: |$)|Killed$|[Ee]rror: |ERROR|FATAL|Traceback|what\(\)|terminate called)"
    );
    let quoted = own.message().len() < own.text.len();
    let of = |line: &'a Line| if quoted { line.message() } else { line.text.as_str() };
    // Lines with a time are those of a log, however they end.
    let timed = regex!(r"\d\d:\d\d").is_match(&own.text[..own.text.len() - own.message().len()]);
    if timed || raised.is_match(of(own)) || !may_be_source(of(own)) {
        return false;
    }
    let (mut form, mut all) = (0, 0);
    let above = lines[at.saturating_sub(AROUND)..at].iter().rev();
    let below = lines[at + 1..].iter().take(AROUND);
    for side in [above.collect::<Vec<_>>(), below.collect()] {
        for text in side.into_iter().map(of).take_while(|text| !text.trim_start().starts_with("```")) {
            if text.trim().chars().all(|c| "{}[](),;*/".contains(c)) {
                continue;
            }
            all += 1;
            form += usize::from(formed(text));
        }
    }
    form >= LEAST_LINES && form * SHARE.1 >= all * SHARE.0
}

/// Whether a line begins as source may: without a time, a level or the mark of a log.
fn may_be_source(text: &str) -> bool {
    !regex!(r#"\b\d\d:\d\d\b|^\s*(?:[\[\d{"]|File "|at )|^\w{3} +\d|\b(?:ERROR|WARN|INFO|DEBUG)\b[\]: |]"#)
        .is_match(text)
}

/// Whether a line has the form of code, or of a comment in code.
fn formed(text: &str) -> bool {
    may_be_source(text)
        && regex!(
            r#"(?x)^\s*(?:\#\s*(?:include|define|if|ifdef|ifndef|endif|else|elif|undef|pragma)\b|//|/\*|<!--)|^\s+\*\s|^\*\*\s|\*/$|[;{}]$|=>\ [^=]*,$
            |^\s*(?:def|class|fn|pub|impl|use|import|from|return|raise|throw|if|elif|else|for|while|try|except|const|let|var|func|static|struct|enum|type|interface|export|async|match|switch|case|with|assert)\b.*[:;{(,)]$
            |^\s*[A-Z][A-Z0-9]*_[A-Z0-9_]+(?:\s*=\s*[^,]+)?,(?:\s*/[/*].*)?$|^\s*[a-z_][\w.]*\([^()]*\)[,;]?$|^\s*\(["'][^"']*["'],\ ["'][^"']*["']\),$|^\s{2,}"[^"]*",?$"#
        )
        .is_match(text.trim_end())
}

/// Code, judged by its neighbours: a line that ends like a statement or an argument, between lines that do.
fn code(lines: &Lines, at: usize) -> bool {
    // A printed object has quoted names, and a stack trace has positions.
    let ends = |line: &Line| {
        let text = line.text.trim_end();
        text.ends_with([',', ';', '(', '{', '[', ')', '}'])
            && !regex!(r#"^\s*(?:["'][^"']+["']\s*:|\w+: |at |from |[\[({<]?\d|#\d)|[\]"]: |\bv?\d+\.\d+\)$"#)
                .is_match(text)
    };
    let statement = |line: &Line| {
        regex!(
            r#"^\s*(?:[A-Za-z_][\w:.<>]*\(.*[,;({]|(?:static_cast|const|return|if|else|for|while|switch|case|auto|int|void|let|var|func|fn|throw|try|catch|namespace|using|template)\b.*[;,({)]|"[^"]*",|[A-Za-z_][\w:.]*(?:\([^()]*\))?[,;]|[\w.\[\]]+ ?[+|&-]?= ?[^=].*[;,({])$"#
        )
        .is_match(line.text.trim_end())
    };
    let near = |range: std::ops::Range<usize>| lines[range].iter().filter(|line| statement(line)).count();
    let own = &lines[at];
    ends(own)
        && own.message().len() == own.text.len()
        && near(at.saturating_sub(3)..at) + near((at + 1).min(lines.len())..lines.len().min(at + 4)) >= 3
}

/// A line of a comment that `/*` opens at most [`COMMENT`] lines above, with a star before each of its lines.
fn block_comment(lines: &Lines, at: usize) -> bool {
    let starred = |line: &Line| line.text.trim_start().starts_with('*');
    let above = lines[at.saturating_sub(COMMENT)..at].iter().rev();
    starred(&lines[at])
        && above
            .map(|line| (line, starred(line)))
            .take_while(|(line, starred)| *starred || opens(line))
            .any(|(line, _)| opens(line))
}

fn opens(line: &Line) -> bool {
    line.text.trim_start().starts_with("/*")
}

/// Code, judged by its form: a format string, or a call that ends a statement.
pub(super) fn source(text: &str) -> bool {
    // A constant with its value, or a definition.
    if regex!(r"^#\s*define\s|^(?:Write-(?:Host|Error|Output|Warning|Verbose)|Debug\.Log\w*|MessageBox)\b|^(?:[A-Z]\w*_\w+|[a-z]+[A-Z]\w*|[A-Z]{4,})(?:\s+[A-Za-z][\w.]*)?\s+=\s+(?:[A-Za-z][\w.]*\()?-?(?:0x)?[\da-fA-F]+\)?,?(?:\s*//.*)?$|^[\w.]*\w\s+= (?:[a-z_]\w*(?:\.|::))+\w+[,;]?$|^(?:[-+]\s+)?\{ ?[A-Z][\w:]+, ?[^:]*\},?$|^\.(?:map_err|expect|context|unwrap_or\w*|ok_or\w*|catch|then)\(|^(?:pub(?:\([^)]*\))? )?(?:const|fn|static) \w+|^class \w+(?:\([\w.]*\))?\s?:|^\(?[\w:\x22]+, [\w:]+\),$|^[A-Z_]{4,}\(\w+, ?\x22|\s{2,}\\$|^(?:crate|super|self)(?:::\w+)+$|^[A-Z][A-Z_]{3,}\s+=\s+[A-Z][A-Z_]{3,},?$|^\x22[^\x22]*%[\d.]*[dsuxfg][^\x22]*\x22[,);]*$")
        .is_match(text)
    {
        return true;
    }
    // Texts that a program may show, with their identifiers.
    if regex!(r#"^[a-z][\w-]*(?:\.[\w-]+)+ ?= ?["']?[A-Z][a-z][^\d]*$|^[A-Z][A-Z_]+: '[^'\d]*',?$"#).is_match(text) {
        return true;
    }
    // A statement, by its first word and its end; a name that is assigned a text or a table.
    if regex!(
        r#"^(?:return|throw|goto|case|break|if|else|switch|enum|struct|class|typedef|using|static|const|constexpr|let|var|val|final|public|private|protected)\b.*[;{}]$|^(?:(?:static|const|constexpr|let|var|val|final|public|private|export|char|auto|[Ss]tring|&?str)\b[\w*&<>:\[\] ]*)?\b[A-Za-z_]\w*(?:\[\w*\])? ?:?= ?(?:[{\[(]\s*(?:["']|\d+ ?:|$)|["'][^"']*["'];?$)"#
    )
    .is_match(text)
    {
        return true;
    }
    // A name that is given what a call makes of a text; an attribute; a test and what it expects.
    if regex!(r#"^#!?\[[a-z_]+\(.*\)\]$|^(?:it|test|describe|context|specify)(?:\.\w+)?\(\s*["'`]|^(?:expect|assert\w*)\(|^(?:(?:var|let|const|val|auto|final)\s+)?[A-Za-z_]\w*\s*:?=\s*[A-Za-z_][\w.:]*\(\s*["'`][^"'`]*["'`]\)?[;,)]*$"#).is_match(text) {
        return true;
    }
    // A declaration with its value, and a branch of a match.
    if regex!(r#"^(?:[A-Za-z_][\w.:]*(?:<[^<>]*>)?[*&]?\s+)[A-Za-z_]\w*\s*=\s.*\);$|^case\b[^"]*=>|^(?:\|\s*)?[A-Za-z_]\w*(?:::\w+)*(?:\([^)]*\))?\s*=>\s*\S.*,$"#).is_match(text) {
        return true;
    }
    // A handler names what it catches; a shell command sets how a script ends.
    if regex!(
        r"^\}?\s*(?:rescue [A-Z]\w*(?:::\w+)*(?: =>|,|$)|catch \(|except [\w.]+(?: as \w+)?:|on \w+ catch \()|(?:\|\||&&|;|\bthen)\s*exit \d+\b"
    )
    .is_match(text)
    {
        return true;
    }
    regex!(
        r#"^(?:sys\.|os\.|process\.|std::process::)?_?exit\s*\(\s*\d+\s*\);?$|^exit \d+;?$|^[\w{(:\[][^"]* (?:->|=>) [A-Za-z_][\w.:]*\(.*\)[,;]?$|"[^"]*(?:%[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z|j|t)?[dusxXp]\b|%l[du]\w|\{\}|\{:\??\}|\$\{\w+\})[^"]*".*[;,)\\{]$"#
    )
    .is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the line that holds `what` is in a source file.
    fn is(text: &str, what: &str) -> bool {
        let (lines, at) = Lines::hot_at(text, what);
        holds(&lines, at) || source(lines[at].text.trim_start())
    }

    #[test]
    fn lines_of_source_files_are_known_by_the_lines_around_them() {
        let header: String = (0..30).map(|n| format!("** The call fails with code {n}, see above.\n")).collect();
        for (text, what) in [
            (format!("/*\n{header}** memory allocation fails, then SQLITE_NOMEM is returned.\n*/\n"), "NOMEM"),
            (
                "/**\n * @retval ::STATUS_SUCCESS The call worked.\n *\n * @retval ::OUT_OF_RESOURCES Failed to allocate\n * resources.\n */\n"
                    .to_owned(),
                "Failed to",
            ),
            (
                "    match code {\n        libc::EIO => Io,\n        libc::ENOMEM => NoMemory,\n        libc::EPERM => Denied,\n        other => panic!(),\n    }\n}\n\npub fn text(code: i32) -> &'static str {\n    match code {\n        Io => \"i/o\",\n"
                    .to_owned(),
                "ENOMEM",
            ),
            ("ENOMEM          = syscall.Errno(0xc)\n".to_owned(), "ENOMEM"),
            ("def test_kill(log):\n    log.write_text(\n        \"kernel: Out of memory: Killed process 42 (a)\\n\"\n    )\n    assert parse(log)\n".to_owned(), "Killed"),
            ("OutOfMemoryError = torch._C.OutOfMemoryError\n".to_owned(), "OutOf"),
            ("    .map_err(|_| Error(String::from(\"Cannot allocate buffer\")))?;\n".to_owned(), "Cannot"),
            ("    { ERROR_NOT_ENOUGH_MEMORY, W(\"Not enough memory.\") },\n".to_owned(), "Not enough"),
        ] {
            assert!(is(&text, what), "{text}");
        }
        let code = "import torch\nfrom torch import nn\nfor x in loader:\n    with amp():\n        loss = model(x);\n    if loss > 2:\n        print(loss)\n";
        for text in [
            format!("{code}```\ntrainer: out of memory, giving up\n```\n{code}"),
            format!("{code}RuntimeError: out of memory\n"),
            "   \"text\": [\n    \"RuntimeError: out of memory\\n\"\n   ]\n".to_owned(),
            "{\n  \"reason\": \"out of memory\",\n  \"code\": 137\n}\n".to_owned(),
            "12:01:02 a;\n12:01:02 b;\n12:01:02 out of memory;\n12:01:02 c;\n12:01:03 d;\n12:01:03 e;\n12:01:03 f;\n"
                .to_owned(),
        ] {
            assert!(!is(&text, "out of memory"), "{text}");
        }
    }
}
