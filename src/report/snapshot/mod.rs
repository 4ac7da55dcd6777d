//! Pictures of a memory snapshot: a page with its timeline, and a flame graph.
//!
//! Both are self-contained files: no network, no fonts, no scripts from elsewhere. Text from the snapshot is escaped,
//! and the content security policy blocks all loading.

mod flame_graph;
mod page;
mod sections;

pub use flame_graph::flame_graph;
pub use page::page;

#[cfg(test)]
mod tests;
