//! The frame of every page: one self-contained file for light and dark screens of any width, and for paper.
//!
//! Pages load nothing: no network, no fonts, no scripts from elsewhere, which the page's content security policy
//! enforces. The policy names the one script and the one style element by their digests, so that text which got past
//! escaping could neither run nor restyle the page. Text from records and files goes through [`escaped`], data for
//! scripts through [`data`].

mod bar;
mod body;
mod mark;

use std::fmt::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::terminal::clean;

pub(crate) use bar::bar;
pub(crate) use body::Body;
pub(crate) use mark::{Level, mark};

/// The parts of a page.
pub(crate) struct Page<'a> {
    /// The window title as plain text.
    pub(crate) title: &'a str,
    /// Styles in addition to the frame's.
    pub(crate) style: &'a str,
    /// The content of the page.
    pub(crate) body: &'a Body,
    /// The page's own script, besides the theme switch; empty for none.
    pub(crate) script: &'a str,
}

/// The theme follows the system until the reader chooses one. If the choice cannot be stored, it lasts until the page
/// closes.
const THEME: &str = include_str!("theme.js");

impl Page<'_> {
    /// Assembles the document.
    pub(crate) fn html(&self) -> String {
        let markup = self.body.markup();
        let style = [include_str!("page.css"), self.style, &self.body.rules()].concat();
        let script = [THEME, self.script].concat();
        let mut out = String::with_capacity(markup.len() + style.len() + script.len() + 4096);
        let _ = write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{}'; script-src '{}'; \
             img-src data:; base-uri 'none'; form-action 'none'\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>{style}</style>\n</head>\n<body>\n",
            digest(&style),
            digest(&script),
            escaped(self.title),
        );
        let _ = writeln!(
            out,
            "<header class=\"top\">{}<b>Plimsoll</b><div class=\"theme\" role=\"group\" aria-label=\"Theme\" hidden>\
             <button type=\"button\" data-theme=\"auto\">auto</button><button type=\"button\" data-theme=\"light\">light\
             </button><button type=\"button\" data-theme=\"dark\">dark</button></div></header>",
            mark(Level::Empty)
        );
        let _ = writeln!(out, "<main>\n{markup}</main>");
        let _ = writeln!(out, "<script>{script}</script>\n</body>\n</html>");
        out
    }
}

/// The digest of an element's text in the form that a content security policy expects.
fn digest(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// Escapes `text` for the body or an attribute, and removes characters that documents must not contain or that change
/// the reading order.
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

/// Escapes a sentence, with what stands between two backticks as code.
pub(crate) fn prose(text: &str) -> String {
    let escaped = escaped(text);
    let (mut out, mut rest) = (String::with_capacity(escaped.len()), escaped.as_str());
    while let Some((before, (code, after))) =
        rest.split_once('`').and_then(|(before, after)| Some((before, after.split_once('`')?)))
    {
        out.extend([before, "<code>", code, "</code>"]);
        rest = after;
    }
    out + rest
}

/// Writes `value` as an element for a script; text in it cannot end the element.
pub(crate) fn data(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value)
        .unwrap_or_default()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026");
    format!("<script type=\"application/json\">{json}</script>\n")
}

/// The content of a page, without the frame.
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
    fn words_between_backticks_are_code() {
        assert_eq!(
            prose("in phase `a < b`: see `x` and `"),
            "in phase <code>a &lt; b</code>: see <code>x</code> and `"
        );
        assert_eq!(prose("plain"), "plain");
    }

    #[test]
    fn a_page_needs_nothing_else() {
        let page = Page { title: "<&>", style: "", body: &Body::from("<p>text</p>\n".to_owned()), script: "" }.html();
        assert!(page.contains("<title>&lt;&amp;&gt;</title>"), "{page}");
        for foreign in ["http:", "https:", "src=", "@import", "url("] {
            assert!(!page.contains(foreign), "{foreign}");
        }
    }

    #[test]
    fn the_policy_lets_in_what_the_page_has_and_nothing_else() {
        // A published test vector of SHA-256.
        assert_eq!(digest("abc"), "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
        let mut body = Body::default();
        let left = body.left(0.5);
        let _ = writeln!(body, "<p class=\"{left}\">text</p>");
        let page = Page { title: "", style: "p { color: red; }\n", body: &body, script: "alert(1);" }.html();
        let between = |from: &str, to: &str| {
            let inner = page.split_once(from).and_then(|(_, rest)| rest.split_once(to));
            inner.map(|(inner, _)| inner).expect("each stands there once")
        };
        let policy = between("Content-Security-Policy\" content=\"", "\">");
        let (style, script) = (between("<style>", "</style>"), between("<script>", "</script>"));
        assert!(style.contains("p { color: red; }") && style.ends_with(".left-5000{left:50%}\n"), "{style}");
        assert!(script.ends_with("alert(1);"), "{script}");
        assert!(policy.contains(&format!("style-src '{}';", digest(style))), "{policy}");
        assert!(policy.contains(&format!("script-src '{}';", digest(script))), "{policy}");
        assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");
    }
}
