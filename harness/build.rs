//! The program exports what kernels in plain C raise errors and learn their stream by: see `src/exports.rs`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for symbol in ["TVMFFIErrorSetRaisedFromCStr", "TVMFFIErrorSetRaisedFromCStrParts", "TVMFFIEnvGetStream"] {
        println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol={symbol}");
    }
}
