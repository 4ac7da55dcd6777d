//! The kernel module.
