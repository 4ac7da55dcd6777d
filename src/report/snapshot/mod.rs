//! Pictures of a memory snapshot: a page with its timeline, and a flame graph.
//!
//! Both are one file that needs nothing else: no network, no fonts, no scripts from elsewhere. Texts of the snapshot are
//! escaped, and the page's content security policy lets nothing be loaded.

mod flame_graph;
mod page;
mod sections;

pub use flame_graph::flame_graph;
pub use page::page;

/// `text` for the body or an attribute of a document, without characters that no document may hold.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
