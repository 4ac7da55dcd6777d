//! The rules of training memory, each by name, and results of other estimators.

mod activations;
mod anchors;
mod parameters;
mod properties;
mod rules;
mod support;
