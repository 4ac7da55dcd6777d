#!/usr/bin/env bash
# Runs every fuzz target for SECONDS (default 60), or the named ones: fuzz/run.sh SECONDS [TARGET..] Needs a nightly
# toolchain and cargo-fuzz (cargo install cargo-fuzz); with PLIMSOLL_TORCH_PYTHON the seeds are better.
set -euo pipefail
cd "$(dirname "$0")"
seconds="${1:-60}"
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(torch_file pickle legacy entry skeleton store store_recipe store_verified record history worker_protocol hostile_worker telemetry model_config
    diagnose_log snapshot kernel_library plimsoll_toml)

seeds="${CARGO_TARGET_DIR:-target}/seeds"
mkdir -p "$seeds"
python3 ../tests/python/make_hostile.py "$seeds/hostile"
[ -z "${PLIMSOLL_TORCH_PYTHON:-}" ] || "$PLIMSOLL_TORCH_PYTHON" ../tests/python/make_corpus.py "$seeds/corpus"
mkdir -p "$seeds/corpus"
if command -v cc >/dev/null; then
    mkdir -p corpus/kernel_library
    cc -Os -s -shared -fPIC -nostdlib -I ../harness/examples -o corpus/kernel_library/plain.so ../tests/kernels/library/plain.c
    cc -Os -s -shared -fPIC -nostdlib -Wl,-z,max-page-size=64 -I ../harness/examples -o corpus/kernel_library/several.so \
        ../tests/kernels/library/several.c
fi
python3 seed.py ../tests/fixtures "$seeds/hostile" "$seeds/corpus"

for target in "${targets[@]}"; do
    echo "+ $target for $seconds s"
    # The sanitizer makes everything several times slower and larger than the limits in tests/corpus.
    cargo +nightly fuzz run "$target" --fuzz-dir . -- \
        -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=256 -max_len=16384 -print_final_stats=1
done
