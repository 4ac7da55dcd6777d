#!/usr/bin/env bash
# Builds the manual from docs/ into target/book/index.html. Needs mdBook: cargo install --locked mdbook
set -euo pipefail
cd "$(dirname "$0")/.."
command -v mdbook > /dev/null || { echo "error: mdbook is not installed: cargo install --locked mdbook" >&2; exit 2; }
mdbook build docs
echo "target/book/index.html"
