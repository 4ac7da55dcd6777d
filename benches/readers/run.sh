#!/usr/bin/env bash
# Writes the corpus and prints what each reader makes of it. Needs a Python with torch 2.11 in PLIMSOLL_TORCH_PYTHON.
set -euo pipefail
cd "$(dirname "$0")/../.."
python="${PLIMSOLL_TORCH_PYTHON:?a Python with torch 2.11}"
corpus="$(mktemp -d)"
trap 'rm -rf "$corpus"' EXIT
"$python" tests/python/make_corpus.py "$corpus/files"
"$python" benches/readers/torch_load.py "$corpus/files" > "$corpus/torch.json"
cargo build --quiet --manifest-path benches/readers/Cargo.toml
# Peers print what they skip.
RUST_BACKTRACE=0 cargo run --quiet --manifest-path benches/readers/Cargo.toml -- "$corpus/files" "$corpus/torch.json" 2>/dev/null
