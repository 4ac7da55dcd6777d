#!/bin/sh
# Installs a release of plimsoll: install.sh RELEASES VERSION FOLDER
#   RELEASES  the address of the releases, such as https://github.com/OWNER/plimsoll/releases
#   VERSION   such as 0.1.0, or latest
#   FOLDER    where the program goes; made where it is missing
# PLIMSOLL_TARGET chooses another build than the one that fits this machine.
set -eu

if [ $# -ne 3 ]; then
    echo "usage: install.sh RELEASES VERSION FOLDER" >&2
    exit 2
fi
releases=${1%/} version=$2 folder=$3

machine=$(uname -m)
case "$(uname -s) $machine" in
    "Linux x86_64" | "Linux aarch64") ;;
    "Linux arm64") machine=aarch64 ;;
    *)
        echo "plimsoll has no build for $(uname -s) on $machine" >&2
        exit 2
        ;;
esac
# The gnu build reads GPUs, whose library it loads; it wants glibc 2.35. The musl build runs on every Linux.
libc=musl
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null || true)
case $glibc in
    "glibc "*)
        oldest=$(printf '2.35\n%s\n' "${glibc#glibc }" | sort -V | head -n 1)
        if [ "$oldest" = 2.35 ]; then libc=gnu; fi
        ;;
esac
archive=plimsoll-${PLIMSOLL_TARGET:-$machine-unknown-linux-$libc}.tar.gz
case $version in
    latest) address=$releases/latest/download ;;
    *) address=$releases/download/v${version#v} ;;
esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for file in "$archive" "$archive.sha256"; do
    curl --fail --silent --show-error --location --retry 3 --output "$scratch/$file" "$address/$file" || {
        echo "cannot download $address/$file: is there such a release?" >&2
        exit 1
    }
done
(cd "$scratch" && sha256sum --check --quiet "$archive.sha256")
mkdir -p "$folder"
tar -xzf "$scratch/$archive" -C "$scratch" --strip-components=1
# Put in place as a whole, for another job may be running the old one.
cp "$scratch/plimsoll" "$folder/.plimsoll.new"
mv "$folder/.plimsoll.new" "$folder/plimsoll"
"$folder/plimsoll" --version
