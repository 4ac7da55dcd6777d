//! Pictures of a memory snapshot: a page with its timeline, and a flame graph.
//!
//! Both are one file that needs nothing else: no network, no fonts, no scripts from elsewhere. Texts of the snapshot are
//! escaped, and the page's content security policy lets nothing be loaded.

mod flame_graph;
mod page;
mod sections;

pub use flame_graph::flame_graph;
pub use page::page;

#[cfg(test)]
mod tests;
