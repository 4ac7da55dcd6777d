//! The frame that every page shares: one file that needs nothing else, for light and dark screens of any width, and for
//! paper.
//!
//! Nothing is loaded: there is no network, no font, no script from elsewhere, and the page's content security policy
//! lets none in. It names the one script and the one style element by their digests: even if a text got past escaping, it
//! could neither run nor change how the page looks. Texts that come from records and files go through [`escaped`]; what a
//! script reads, through [`data`].

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

/// What a page consists of.
pub(crate) struct Page<'a> {
    /// The title of the window, as plain text.
    pub(crate) title: &'a str,
    /// Rules beside those of the frame.
    pub(crate) style: &'a str,
    /// What the page shows.
    pub(crate) body: &'a Body,
    /// What the page's script does, beside changing the theme; empty if there is nothing.
    pub(crate) script: &'a str,
}

/// The theme is the system's until the reader chooses one; if nothing may be kept it is chosen for the moment.
const THEME: &str = include_str!("theme.js");

impl Page<'_> {
    /// The page as a document.
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

/// The text of an element as a content security policy names it.
fn digest(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
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
        let page = Page { title: "<&>", style: "", body: &Body::from("<p>text</p>\n".to_owned()), script: "" }.html();
        assert!(page.contains("<title>&lt;&amp;&gt;</title>"), "{page}");
        for foreign in ["http:", "https:", "src=", "@import", "url("] {
            assert!(!page.contains(foreign), "{foreign}");
        }
    }

    #[test]
    fn the_policy_lets_in_what_the_page_has_and_nothing_else() {
        // Of the published examples of SHA-256.
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
