//! Diagnosis from outside: logs in, findings out.

mod corpus;
mod disguises;
mod formats;
mod logs;
mod page;
mod properties;
mod rules;
mod steps;
mod support;
