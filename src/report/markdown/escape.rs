//! Escaping of text for Markdown, on one line.

use crate::report::terminal::clean;

/// `text` as inline code, whatever backticks it contains; safe in a table.
pub(super) fn code(text: &str) -> String {
    let text = clean(text);
    if text.trim().is_empty() {
        return "(no name)".to_owned();
    }
    // The fence must be longer than any run of backticks in the text.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let room = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    // Markdown splits a table at `|` before it parses code.
    format!("{fence}{room}{}{room}{fence}", text.replace('|', "\\|"))
}

/// `text` escaped so that it appears literally: no markup, no link, no mention.
pub(crate) fn text(text: &str) -> String {
    let mut out = String::new();
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // GitHub would notify the name after `@` and link the number after `#`.
            '@' | '#' => out.extend([c, '\u{2060}']),
            '\\' | '`' | '|' | '*' | '_' | '[' | ']' | '~' | '$' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.replace("://", ":\u{2060}//")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markup() {
        assert_eq!(code("a`b``c|d"), "```a`b``c\\|d```");
        assert_eq!(code("`x`"), "`` `x` ``");
        assert_eq!(code("<b>@all</b>\n"), "`<b>@all</b>\u{fffd}`");
        assert_eq!(code(" "), "(no name)");
        assert_eq!(
            text("<script>|**x** [a](b) `c` @all"),
            "&lt;script&gt;\\|\\*\\*x\\*\\* \\[a\\](b) \\`c\\` @\u{2060}all"
        );
    }
}
