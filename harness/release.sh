#!/usr/bin/env bash
# Builds the archive of a release and its checksum: harness/release.sh [--target TRIPLE] [--out FOLDER] [flags of cargo build]
# The archive holds the program, the licences, README and CHANGELOG, the schemas, and completions for shells.
set -euo pipefail
cd "$(dirname "$0")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
target=$host out=target/release-archives profile=dist flags=()
while [ $# -gt 0 ]; do
    case $1 in
        --target) target=$2; shift 2 ;;
        --out) out=$2; shift 2 ;;
        --profile) profile=$2; shift 2 ;;
        *) flags+=("$1"); shift ;;
    esac
done

folder=$([ "$profile" = dev ] && echo debug || echo "$profile")
built="${CARGO_TARGET_DIR:-target}/$folder"
if [ "$target" != "$host" ]; then
    flags+=(--target "$target")
    built="${CARGO_TARGET_DIR:-target}/$target/$folder"
fi
cargo build --package plimsoll-harness --locked --profile "$profile" ${flags[@]+"${flags[@]}"}

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
inside="$scratch/plimsoll-$version-$target"
mkdir -p "$inside/completions" "$inside/schema" "$out"
# Backtraces need the names of functions, not their lines.
strip --strip-debug -o "$inside/plimsoll" "$built/plimsoll" 2>/dev/null || cp "$built/plimsoll" "$inside/plimsoll"
cp LICENSE-MIT LICENSE-APACHE README.md CHANGELOG.md "$inside"
cp docs/schema/*.json "$inside/schema"
# A program of another machine cannot be asked for them.
if "$inside/plimsoll" --version > /dev/null 2>&1; then
    for shell in bash zsh fish; do
        "$inside/plimsoll" completions "$shell" > "$inside/completions/plimsoll.$shell"
    done
fi

archive="plimsoll-$target.tar.gz"
# The same commit gives the same archive.
tar --directory "$scratch" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" --create "plimsoll-$version-$target" \
    | gzip --no-name > "$out/.$archive.new"
mv "$out/.$archive.new" "$out/$archive"
(cd "$out" && sha256sum "$archive" > "$archive.sha256")
echo "$out/$archive"
