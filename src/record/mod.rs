//! The record module.
