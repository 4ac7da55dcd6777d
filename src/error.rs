//! [`Error`] gathers what the modules refuse; each error is defined where it happens.
