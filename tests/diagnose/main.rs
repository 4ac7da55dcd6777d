//! Diagnosis from outside: logs in, findings out.

mod logs;
mod properties;
mod rules;
mod support;
