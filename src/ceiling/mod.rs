//! Limits on what a phase may take.
