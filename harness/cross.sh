#!/usr/bin/env bash
# Checks or builds for another machine: harness/cross.sh check|build|test TARGET [flags of cargo]
#
#   harness/cross.sh check aarch64-unknown-linux-gnu -p plimsoll-memory --all-features
#   harness/cross.sh build x86_64-unknown-linux-musl -p plimsoll-harness --bin plimsoll
#
# Uses the standard library that rustup has for the target; if rustup cannot be asked, that library is built from Debian's
# package rust-src of the same version. Building needs the target's C compiler: musl-tools, gcc-aarch64-linux-gnu.
# What is built stands in target/cross, apart from the rest: nothing of either is built again for the other.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 2 ] || { sed -n '2,/^set/ { s/^# \{0,1\}//; /^set/d; p; }' "$0"; exit 2; }
action=$1 target=$2
shift 2
work="${CARGO_TARGET_DIR:-target}/cross"
mkdir -p "$work"
work=$(cd "$work" && pwd)
export CARGO_TARGET_DIR=$work

variable=$(tr 'a-z-' 'A-Z_' <<< "$target")
case $target in
    *-musl)
        export "CC_${target//-/_}=musl-gcc"
        ;;
    aarch64-unknown-linux-gnu)
        export "CC_${target//-/_}=aarch64-linux-gnu-gcc" "CARGO_TARGET_${variable}_LINKER=aarch64-linux-gnu-gcc"
        # Of Debian's qemu-user, or qemu-user-static.
        emulator=$(command -v qemu-aarch64 || echo qemu-aarch64-static)
        export "CARGO_TARGET_${variable}_RUNNER=$emulator -L /usr/aarch64-linux-gnu"
        ;;
esac

flags=()
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target" ] && ! timeout 60 rustup target add "$target" > /dev/null 2>&1; then
    version=$(rustc --version | cut -d ' ' -f 2)
    source=$(find "$work/source" -maxdepth 4 -path "*rustc-$version/library" 2> /dev/null | head -n 1 || true)
    if [ -z "$source" ]; then
        package=$(apt-cache madison rust-src 2> /dev/null | awk '{ print $3 }' | grep "^$version" | head -n 1 || true)
        [ -n "$package" ] || {
            echo "not possible here: rustup has no $target, and apt no rust-src $version (trixie-backports has several)" >&2
            exit 4
        }
        (cd "$work" && apt-get download "rust-src=$package" && dpkg-deb -x rust-src_*.deb source && rm -f rust-src_*.deb)
        source=$(find "$work/source" -maxdepth 4 -path "*rustc-$version/library" | head -n 1)
    fi
    export RUSTC_BOOTSTRAP=1 __CARGO_TESTS_ONLY_SRC_ROOT="$source"
    flags+=(-Zbuild-std=std,panic_abort,test)
    case $target in
        *-musl)
            # A library built here has no musl of its own, as that of rustup has: musl-gcc's is linked.
            export "CARGO_TARGET_${variable}_LINKER=musl-gcc"
            export "CARGO_TARGET_${variable}_RUSTFLAGS=-C link-self-contained=no -C target-feature=+crt-static"
            ;;
    esac
fi
exec cargo "$action" --target "$target" --locked ${flags[@]+"${flags[@]}"} "$@"
