//! The frame that every page shares: one file that needs nothing else, for light and dark screens of any width, and for
//! paper.
//!
//! Nothing is loaded: there is no network, no font, no script from elsewhere, and the page's content security policy
//! lets none in. Texts that come from records and files go through [`escaped`]; what a script reads, through [`data`].

mod mark;

use std::fmt::Write;

use serde::Serialize;

use super::terminal::clean;

pub(crate) use mark::{Level, mark};

/// What a page consists of.
pub(crate) struct Page<'a> {
    /// The title of the window, as plain text.
    pub(crate) title: &'a str,
    /// Rules beside those of the frame.
    pub(crate) style: &'a str,
    /// What the page shows, as markup.
    pub(crate) body: &'a str,
    /// What the page's script does, beside changing the theme; empty where there is nothing.
    pub(crate) script: &'a str,
}

/// The theme is the system's until the reader chooses one; where nothing may be kept it is chosen for the moment.
const THEME: &str = include_str!("theme.js");

impl Page<'_> {
    /// The page as a document.
    pub(crate) fn html(&self) -> String {
        let mut out = String::with_capacity(self.body.len() + 32 * 1024);
        let _ = write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'unsafe-inline'; img-src data:\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n",
            escaped(self.title),
            include_str!("page.css"),
            self.style
        );
        let _ = writeln!(
            out,
            "<header class=\"top\">{}<b>Plimsoll</b><div class=\"theme\" role=\"group\" aria-label=\"Theme\" hidden>\
             <button type=\"button\" data-theme=\"auto\">auto</button><button type=\"button\" data-theme=\"light\">light\
             </button><button type=\"button\" data-theme=\"dark\">dark</button></div></header>",
            mark(Level::Empty)
        );
        let _ = writeln!(out, "<main>\n{}</main>", self.body);
        let _ = writeln!(out, "<script>\n{THEME}{}</script>\n</body>\n</html>", self.script);
        out
    }
}

/// `text` for the body or an attribute of a document, without characters that no document may hold or that change the
/// order of what is read.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// `value` as an element that a script reads; no text in it can end the element.
pub(crate) fn data(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value)
        .unwrap_or_default()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026");
    format!("<script type=\"application/json\">{json}</script>\n")
}

/// What a page shows, without the frame.
#[cfg(test)]
pub(crate) fn body(page: &str) -> &str {
    let body = page.split_once("<main>\n").and_then(|(_, rest)| rest.split_once("</main>"));
    body.expect("every page has its frame").0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escaped("<a href=\"x\">'&\u{1b}[0m"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;\u{fffd}[0m");
        assert_eq!(data(&"</b>&"), "<script type=\"application/json\">\"\\u003c/b\\u003e\\u0026\"</script>\n");
    }

    #[test]
    fn a_page_needs_nothing_else() {
        let page = Page { title: "<&>", style: "", body: "<p>text</p>\n", script: "" }.html();
        assert!(page.contains("<title>&lt;&amp;&gt;</title>"), "{page}");
        for foreign in ["http:", "https:", "src=", "@import", "url("] {
            assert!(!page.contains(foreign), "{foreign}");
        }
    }
}
