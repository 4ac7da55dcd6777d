#!/usr/bin/env bash
# One test that takes 64 MiB where it may take 16, written with Plimsoll, dhat and pytest-memray: prints what each says
# when it fails. PLIMSOLL_MEMRAY_PYTHON names a Python with pytest-memray; without it one is set up under target/.
set -uo pipefail
cd "$(dirname "$0")"
python="${PLIMSOLL_MEMRAY_PYTHON:-target/memray/bin/python}"
if [ ! -x "$python" ]; then
    python3 -m venv target/memray && target/memray/bin/pip install --quiet pytest==9.2.0 pytest-memray==1.11.0 || exit
fi
export TMPDIR; TMPDIR="$(mktemp -d)"
trap 'rm -rf "$TMPDIR"' EXIT
cargo build --quiet --tests || exit
for peer in plimsoll dhat; do
    printf '\n== %s ==\n' "$peer"
    RUST_BACKTRACE=0 cargo test --quiet --test "$peer" && { echo "it was to fail"; exit 1; }
done
printf '\n== pytest-memray ==\n'
"$python" -m pytest -p no:cacheprovider test_memray.py && { echo "it was to fail"; exit 1; }
exit 0
