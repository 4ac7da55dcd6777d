//! Source code, recognised by one line.

use super::ascii::regex;

/// Whether `message` begins like a line of source code.
pub(super) fn is_code(message: &str) -> bool {
    // Fields of a logger: `time="12:00" level=info msg="..."`.
    if regex!(r#"^\s*\w+=(?:"[^"]*"|[^\s"]+) \w+="#).is_match(message) {
        return false;
    }
    // A member of an object that was printed over several lines, if its value is a single word, or its name that of what
    // happened: a query of a cloud's tool gives such names one letter.
    if regex!(r#"^\s*"[\w@.$/-]+"\s*:\s*"?[\w.-]+"?,?$|^\s*"(?:[a-z]|\w*[Rr]eason|\w*[Mm]essage|msg|err(?:or)?|cause|stop(?:ped)?)"\s*:\s*"[^"]*",?$"#)
        .is_match(message)
    {
        return false;
    }
    // A row of an exported log: quoted fields without blanks between them.
    if regex!(r#"^"(?:[^"]|"")*",(?:"(?:[^"]|"")*"|[\w.:-]*),(?:"|[\w.:-]*,)"#).is_match(message) {
        return false;
    }
    regex!(
        r#"(?x)^\s*(?:[+-]\s+)?(?:\d+\s*[:|]?\s+)?(?:
            (?:raise|except|if|elif|assert|return|print|with|def|class|import|from|for|while|case|throw|catch|warn|echo|grep|rg|sed|awk)\b[^:]*[("'{\x20]
            | (?:self\.)?_?(?:logger|logging|log|warnings|console|LOG|LOGGER)\.\w+\(
            | TORCH_CHECK|TORCH_CHECK_WITH|TORCH_INTERNAL_ASSERT|CHECK\(|LOG\(|printf|fprintf|std::
            | [\w.\[\]]+\s*(?:=|\+=|==|in)\s*[frb]{0,2}["']
            | [\w.]+\s+[A-Z]\w*\s+=\s+"[^"]*"\s*//
            | [\w|"'*.-]+\)\s+(?:echo|printf|exit|return|die|warn|logger)\b | \}?\s*catch\s[\[(] | Write-(?:Error|Warning|Host|Output|Verbose)\b
            | \w+\((?:\w+:\s\[?[A-Z]\w*[^()]*)\):\s\[?[A-Z]
            | \{\s?(?:[A-Z]\w+|"[^"]*"),\s\S
            | \#\s | // | /\* | \*\s | <!-- | ''' | """ | ["'].*["']\s*(?:,|\)|\bin\b|\+|%|\.format)
        )"#
    ).is_match(message)
}
