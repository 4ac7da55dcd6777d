//! Builds the calls to libtorch's dispatcher (`src/dispatch.cpp`), and has the worker find libtorch where it was built with it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "tch")]
    libtorch();
}

#[cfg(feature = "tch")]
fn libtorch() {
    use std::path::PathBuf;

    println!("cargo::rerun-if-changed=src/dispatch.cpp");
    println!("cargo::rerun-if-changed=src/dispatch.h");
    let lib = std::env::var_os("DEP_TCH_LIBTORCH_LIB").expect("torch-sys names the folder of libtorch");
    let lib = PathBuf::from(lib);
    let include = lib.parent().expect("libtorch's `lib` stands beside its `include`").join("include");
    cc::Build::new()
        .cpp(true)
        .std("c++20")
        .warnings(false)
        .include(&include)
        .include(include.join("torch/csrc/api/include"))
        .file("src/dispatch.cpp")
        .compile("plimsoll_dispatch");
    println!("cargo::rustc-link-arg=-Wl,-rpath,{}", lib.display());
}
