//! Makes the program export the functions by which kernels in plain C raise errors and read their stream: see
//! `src/exports.rs`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for symbol in ["TVMFFIErrorSetRaisedFromCStr", "TVMFFIErrorSetRaisedFromCStrParts", "TVMFFIEnvGetStream"] {
        println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol={symbol}");
    }
}
