//! Only a list of features: see `Cargo.toml`.
