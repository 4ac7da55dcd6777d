//! Makes the program export the functions by which kernels in plain C raise errors and read their stream: see
//! `src/exports.rs`. On Linux with glibc, also makes the program load at a fixed address.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for symbol in ["TVMFFIErrorSetRaisedFromCStr", "TVMFFIErrorSetRaisedFromCStrParts", "TVMFFIEnvGetStream"] {
        println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol={symbol}");
    }
    // At an address of the loader's choice, every start writes 37,000 pointers to 160 pages (docs/decisions.md). Static
    // programs of musl are linked in another way.
    let of = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    if (of("OS"), of("ENV")) == ("linux".to_owned(), "gnu".to_owned()) {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
