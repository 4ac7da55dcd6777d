#!/usr/bin/env bash
# Generates a small capture of the two embedding tables, checks it with the built-in kernel and shows the result.
# Needs Rust alone. Everything lies under target/.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked --package plimsoll-harness
plimsoll="${CARGO_TARGET_DIR:-target}/release/plimsoll"
demo="target/demo"
rm -rf "$demo"
mkdir -p "$demo"
echo "+ plimsoll generate $demo/capture --preset gemma4-e2b-gb10 --scale 1/64"
"$plimsoll" generate "$demo/capture" --preset gemma4-e2b-gb10 --scale 1/64
echo "+ plimsoll check $demo/capture --kernel builtin:embedding --batch-bytes 256MiB --peak-rss 128MiB --swap-growth 0B"
"$plimsoll" check "$demo/capture" --kernel builtin:embedding --batch-bytes 256MiB --peak-rss 128MiB --swap-growth 0B \
    --record "$demo/record.json"
