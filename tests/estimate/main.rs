//! The rules of memory in training, each by its name, and the anchors of other estimators.

mod anchors;
mod parameters;
mod properties;
mod rules;
mod support;
