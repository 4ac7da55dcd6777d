#!/usr/bin/env bash
# Runs the tests of the meter on kernels with control groups of version 2, in virtual machines.
#
#   harness/vm/run.sh [--quick] [MACHINE..]   6.1, 6.12, newest, systemd, musl, arm64, arm64-16k; the first five if none is
#                                             named; --quick runs a part of the tests
#   harness/vm/run.sh --truth MACHINE..       the table of docs/truth.md, as root and as a user, of a release build; with the
#                                             peers of the virtual environment PLIMSOLL_VM_PEERS, and heaptrack
#   harness/vm/run.sh MACHINE -- CMD..        one command in that machine, as root in a control group of its own
#
# A machine is a kernel of Debian's, the test binaries of this tree with their libraries, a swap disk and an unprivileged
# user with a delegated control group. The machine `systemd` is a Debian of its own (debootstrap, which takes root); `musl`
# is 6.12 with a static program (harness/cross.sh), which has a time zone, a resolver and an allocator of its own. `arm64` is
# an aarch64 with pages of 4 KiB and `arm64-16k` one with pages of 16 KiB, both with the newest kernel; they need
# qemu-system-aarch64, gcc-aarch64-linux-gnu, and root for debootstrap. Needs qemu-system-x86_64, apt-get, busybox (static),
# mke2fs and Debian's archive keyring; as root, what is missing is installed. The processors are emulated, two unless
# PLIMSOLL_VM_PROCESSORS says otherwise; PLIMSOLL_VM_ACCEL=kvm uses /dev/kvm instead. Kernels and disks are kept in target/vm.
#
# Exit codes: 0 every test passed, 1 one failed or a machine did not come up, 2 bad usage, 4 not possible here.
set -euo pipefail
cd "$(dirname "$0")/../.."
source_dir=$PWD
mkdir -p "${CARGO_TARGET_DIR:-target}/vm"
work=$(cd "${CARGO_TARGET_DIR:-target}/vm" && pwd)
# A machine that neither ends nor says anything more is given up.
limit=${PLIMSOLL_VM_LIMIT:-1200}
# Of the machine that is made, in Debian's word.
architecture=amd64 emulator=qemu-system-x86_64:qemu-system-x86

missing() {
    local tool
    for tool in $emulator apt-get:apt dpkg-deb:dpkg mke2fs:e2fsprogs busybox:busybox-static xz:xz-utils; do
        command -v "${tool%%:*}" > /dev/null || [ -x "/usr/sbin/${tool%%:*}" ] || echo "${tool##*:}"
    done
    [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || echo debian-archive-keyring
}

# Says what is not possible, and ends with the exit code for it.
impossible() {
    echo "not possible here: virtual machines: $*" >&2
    exit 4
}

get_tools() {
    local packages
    packages=$(missing | tr '\n' ' ')
    [ -n "$packages" ] || return 0
    command -v apt-get > /dev/null || impossible "$packages missing, and no apt-get to install them"
    [ "$(id -u)" -eq 0 ] || impossible "$packages missing: apt-get install $packages"
    echo "+ installing $packages" >&2
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages; } \
        > "$work/install.log" 2>&1 || impossible "$packages cannot be installed ($work/install.log)"
}

# Debian's package lists of one suite, apart from those of this machine.
apt_of() {
    local suite=$1
    shift
    local state="$work/apt/$suite" mirror
    [ "$architecture" = amd64 ] || state="$work/apt/$suite-$architecture"
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
    if [ ! -e "$state/sources.list" ]; then
        mirror=${PLIMSOLL_VM_MIRROR:-$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN)' 2> /dev/null |
            sed -n '/security/d; s/ Debian$//p')}
        # The first of several. A reader that ends early, such as head, would fail the pipe.
        mirror=${mirror%%$'\n'*}
        [ -n "$mirror" ] || impossible "no mirror of Debian is set up: PLIMSOLL_VM_MIRROR names one"
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" > "$state/sources.list"
    fi
    local tool=$1
    shift
    "$tool" -o "Dir::Etc::SourceList=$state/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture" -o "Dir::State::status=/dev/null" \
        -o "Dir::State::Lists=$state/lists" -o "Dir::Cache=$state/cache" -o APT::Sandbox::User=root \
        -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "$@"
}

# The newest kernel of a suite, that of clouds unless another is named, unpacked; its folder is put into `kernel`.
get_kernel() {
    local suite=$1 image flavour=${2:-cloud-$architecture}
    kernel="$work/kernels/$suite"
    [ "$flavour" = cloud-amd64 ] || kernel="$work/kernels/$suite-$flavour"
    [ ! -e "$kernel/complete" ] || return 0
    rm -rf "$kernel"
    mkdir -p "$kernel/packages"
    if ! apt_of "$suite" apt-get update > "$kernel/log" 2>&1 || grep -q '^Err' "$kernel/log"; then
        impossible "the packages of $suite cannot be listed ($kernel/log)"
    fi
    image=$(apt_of "$suite" apt-cache show "linux-image-$flavour" |
        sed -n '/^Depends:/ { s/Depends: //; s/ *([^)]*)//g; s/,//g; p }')
    # The first of several versions is the newest.
    image=${image%%$'\n'*}
    # A kernel since 7 has its modules in a package beside it.
    local package release
    release=$(tr ' ' '\n' <<< "$image" | sed -n 's/^linux-image-//p')
    (cd "$kernel/packages" &&
        for package in "linux-image-$release" "linux-modules-$release" "linux-base-$release" "linux-binary-$release"; do
            apt_of "$suite" apt-cache show "$package" > /dev/null 2>&1 || continue
            apt_of "$suite" apt-get download "$package"
        done) >> "$kernel/log" 2>&1 || impossible "the kernel of $suite cannot be downloaded ($kernel/log)"
    for package in "$kernel"/packages/*.deb; do dpkg-deb -x "$package" "$kernel/root"; done
    cp "$(find "$kernel/root" -name "vmlinuz*" -type f | head -n 1)" "$kernel/vmlinuz"
    local module path
    mkdir "$kernel/modules"
    for module in $(sed -n 's/^modules="\(.*\)"/\1/p' harness/vm/initramfs.sh); do
        path=$(find "$kernel/root" -name "$module.ko*" | head -n 1)
        case $path in
            *.xz) xz -dc "$path" > "$kernel/modules/$module.ko" ;;
            *.zst) zstd -qdc "$path" > "$kernel/modules/$module.ko" ;;
            ?*) cp "$path" "$kernel/modules/$module.ko" ;;
        esac
    done
    rm -rf "$kernel/root" "$kernel/packages"
    echo "$release" > "$kernel/complete"
}

# What mounts the disk: busybox and the modules for it.
make_initramfs() {
    local folder="$work/initramfs.$$"
    mkdir -p "$folder"/{bin,modules,proc,dev,root}
    cp "${busybox:-$(command -v busybox)}" "$folder/bin/busybox"
    [ -z "$(ls "$kernel/modules")" ] || cp "$kernel"/modules/* "$folder/modules"
    cp harness/vm/initramfs.sh "$folder/init"
    chmod +x "$folder/init"
    (cd "$folder" && find . | busybox cpio -o -H newc 2> /dev/null | gzip -1) > "$kernel/initramfs"
    rm -rf "$folder"
}

# Copies programs and what they load into the folder `root`, each to where it is here.
bundle() {
    local file library
    for file in "$@"; do
        [ -e "$root$file" ] && continue
        mkdir -p "$root$(dirname "$file")"
        cp -L "$file" "$root$file"
        { ldd "$file" 2> /dev/null || true; } | sed -n 's/^[^/]*\(\/[^ ]*\) (0x.*/\1/p' | while read -r library; do
            [ -e "$root$library" ] || { mkdir -p "$root$(dirname "$library")" && cp -L "$library" "$root$library"; }
        done
    done
}

# The tests of this tree that say something about a kernel: a line each with who runs it, binary and filters.
list_tests() {
    local cargo=(cargo test --locked)
    [ "$architecture" = amd64 ] || cargo=(harness/cross.sh test "$triple")
    "${cargo[@]}" --workspace --exclude plimsoll-torch --all-features --no-run --message-format json \
        --lib --test meter --test cli 2> "$work/build.log" > "$work/build.json" ||
        { tail -n 30 "$work/build.log" >&2; exit 1; }
    python3 - "$work/build.json" <<'PYTHON'
import json, sys
# A program that is started costs an emulated processor much, and there is no compiler in the machine.
unit = "meter::cgroup:: meter::doctor:: meter::smaps:: meter::births:: meter::exits:: meter::lives:: meter::own:: meter::process:: command::"
cli = "run:: run_truth:: run_oom:: run_phases:: run_repeat:: run_faults:: run_lacks:: doctor:: "
# These wait for page tables ten times, which an emulated processor reads every minute under load.
waits = "--skip what_grew_is_told_apart --skip memory_of_each_kind"
slow = "--skip a_clock_that_jumps --skip processor_time_is_exact --skip a_process_whose_first_thread_has_ended"
wanted = {
    ("meter", "test"): {"root": waits, "user": waits, "quick": "cgroup:: swap:: exact", "scope": "cgroup::"},
    ("cli", "test"): {"root": cli + slow, "user": "run_truth:: run_lacks:: doctor:: enforced " + slow, "quick": "run_truth:: doctor:: enforced", "scope": "doctor:: enforced"},
    ("plimsoll_memory", "lib"): {"root": unit, "user": "meter::cgroup:: meter::doctor::"},
}
for line in open(sys.argv[1]):
    message = json.loads(line) if line.startswith("{") else {}
    target = message.get("target", {})
    key = target.get("name"), (target.get("kind") or [None])[0]
    for who, filters in wanted.get(key, {}).items():
        if message.get("executable"):
            print(who, message["executable"], filters)
PYTHON
}

# What the tests need beside the programs: files of this tree, users, the list of tests, what runs them.
furnish() {
    local place
    for place in Cargo.toml docs/run.md snapshots; do
        mkdir -p "$root$source_dir/$(dirname "$place")"
        cp -r "$source_dir/$place" "$root$source_dir/$(dirname "$place")"
    done
    mkdir -p "$root$source_dir/harness" "$root$target/tmp"
    # What the tests are built into may keep a place of its own for their files.
    chmod 1777 "$root/tmp" "$root$target/tmp"
    printf 'root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n' > "$root/etc/passwd"
    printf 'root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n' > "$root/etc/group"
    cp harness/vm/machine.sh "$work/tests" "$root/vm"
}

# The disk of the machines that have no distribution: the tests, a shell, the tools that they start.
make_root() {
    root="$work/root"
    rm -rf "$root"
    mkdir -p "$root"/{proc,sys,dev,tmp,run,etc,root,home/user,vm,usr/bin}
    local name
    for name in bin sbin lib lib64; do
        if [ -L "/$name" ]; then mkdir -p "$root/usr/$name" && ln -s "usr/$name" "$root/$name"; else mkdir -p "$root/$name"; fi
    done
    [ -e "$work/tests" ] || list_tests > "$work/tests"
    cut -d ' ' -f 2 "$work/tests" | while read -r binary; do bundle "$binary"; done
    local target
    target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
    bundle "$target/debug/plimsoll"
    [ "$command" != truth ] || program=$release
    [ -z "$program" ] || cp "$program" "$root$target/debug/plimsoll"
    local tool
    for tool in sh bash cat sleep true false dd head tail env setsid mkdir mkfifo rm rmdir ls seq touch cp mv ln chmod chown \
        kill make setpriv unshare mount umount id grep sed tr wc cut sort uniq timeout yes tee date expr nohup nice test printf \
        script prlimit swapon swapoff mkswap ps pgrep free stty tty uname sync basename dirname readlink mktemp; do
        ! command -v "$tool" > /dev/null || bundle "$(type -P "$tool")"
    done
    # Programs that are looked for at another place than where they are here.
    [ -e "$root/bin/sh" ] || bundle /bin/sh
    local python
    python=$(python3 -c 'import sys, os; print(os.path.realpath(sys.executable))')
    bundle "$python"
    ln -sf "$python" "$root/usr/bin/python3"
    # What a virtual environment links to.
    for name in python python3; do
        [ -e "$root$(dirname "$python")/$name" ] || ln -s "$(basename "$python")" "$root$(dirname "$python")/$name"
    done
    python3 - "$root" <<'PYTHON'
import os, shutil, subprocess, sys, sysconfig
root, library = sys.argv[1], sysconfig.get_path("stdlib")
skipped = {"test", "tests", "idlelib", "lib2to3", "ensurepip", "site-packages", "dist-packages", "turtledemo", "tkinter", "__pycache__"}
def ignore(folder, names):
    return [name for name in names if name in skipped or name.startswith("config-")]
shutil.copytree(library, root + library, ignore=ignore, dirs_exist_ok=True)
dynamic = sysconfig.get_config_var("DESTSHARED")
libraries = set()
for name in os.listdir(dynamic):
    text = subprocess.run(["ldd", os.path.join(dynamic, name)], capture_output=True, text=True).stdout
    libraries |= {word for word in text.split() if word.startswith("/")}
for path in libraries:
    if not os.path.exists(root + path):
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        shutil.copy(path, root + path)
PYTHON
    furnish
    # The truth table, and its peers: a virtual environment if PLIMSOLL_VM_PEERS names one, and heaptrack.
    cp benches/truth/run.py "$root/vm"
    PYTHONPATH=benches/truth PYTHONDONTWRITEBYTECODE=1 python3 -c \
        'import pathlib, run, sys; run.emulation(run.build(pathlib.Path(sys.argv[1])))' "$root/vm"
    ! type -P time > /dev/null || bundle "$(type -P time)"
    if [ -n "${PLIMSOLL_VM_PEERS:-}" ]; then
        find "$PLIMSOLL_VM_PEERS" /usr/lib/heaptrack -name '*.so*' -type f 2> /dev/null | while read -r name; do bundle "$name"; done
        cp -a "$PLIMSOLL_VM_PEERS/." "$root$PLIMSOLL_VM_PEERS"
        ln -s "$PLIMSOLL_VM_PEERS" "$root/vm/peers"
        for tool in heaptrack heaptrack_print file gzip zstd; do
            ! type -P "$tool" > /dev/null || bundle "$(type -P "$tool")"
        done
        for name in /usr/lib/heaptrack/libexec/*; do [ ! -e "$name" ] || bundle "$name"; done
    fi
    ln -sf "$target/debug/plimsoll" "$root/usr/bin/plimsoll"
    disk="$work/root.img"
    make_disk
}

get_debootstrap() {
    [ "$(id -u)" -eq 0 ] || impossible "debootstrap takes root"
    command -v debootstrap > /dev/null || apt-get install -y --no-install-recommends debootstrap > "$work/install.log" 2>&1 ||
        impossible "debootstrap cannot be installed ($work/install.log)"
}

# The disk of the machine `systemd`: a small Debian, whose last service runs the tests of scopes.
make_systemd_root() {
    get_debootstrap
    root="$work/systemd-root"
    if [ ! -e "$root/complete" ]; then
        rm -rf "$root"
        debootstrap --variant=minbase --include=systemd-sysv,dbus,dbus-user-session,libpam-systemd,procps bookworm "$root" \
            > "$work/debootstrap.log" 2>&1 || impossible "a Debian cannot be set up ($work/debootstrap.log)"
        # What serves nothing in a machine that runs once.
        rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/usr/share/{doc,man,locale}
        touch "$root/complete"
    fi
    mkdir -p "$root/vm"
    grep -q '^user:' "$root/etc/passwd" || chroot "$root" useradd --create-home --uid 1000 --shell /bin/bash user
    mkdir -p "$root/var/lib/systemd/linger"
    # The user's systemd runs though nobody has logged in.
    touch "$root/var/lib/systemd/linger/user"
    local binary target
    target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
    [ -e "$work/tests" ] || list_tests > "$work/tests"
    bundle_into_debian "$target/debug/plimsoll"
    cut -d ' ' -f 2 "$work/tests" | sort -u | while read -r binary; do bundle_into_debian "$binary"; done
    mkdir -p "$root$target/tmp"
    chmod 1777 "$root$target/tmp"
    ln -sf "$target/debug/plimsoll" "$root/usr/bin/plimsoll"
    grep -E '^scope ' "$work/tests" > "$root/vm/tests"
    cp harness/vm/machine.sh "$root/vm"
    cat > "$root/etc/systemd/system/vm.service" <<'UNIT'
[Unit]
Description=Tests of scopes
After=user@1000.service dbus.service
Wants=user@1000.service
[Service]
Type=oneshot
ExecStart=/vm/machine.sh
UNIT
    mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
    ln -sf ../vm.service "$root/etc/systemd/system/multi-user.target.wants/vm.service"
    disk="$work/systemd.img"
    make_disk
}

# The disk of the machines `arm64`: the files of a small Debian, which nothing has configured.
make_arm_root() {
    get_debootstrap
    root="$work/arm-root"
    local package binary target
    if [ ! -e "$root/complete" ]; then
        rm -rf "$root"
        debootstrap --foreign --arch=arm64 --variant=minbase --include=python3,procps,kmod,make,busybox-static,libstdc++6 \
            bookworm "$root" > "$work/debootstrap.log" 2>&1 || impossible "a Debian cannot be set up ($work/debootstrap.log)"
        for package in "$root"/var/cache/apt/archives/*.deb; do
            dpkg-deb --fsys-tarfile "$package" | tar -C "$root" --keep-directory-symlink -xf -
        done
        rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/usr/share/{doc,man,locale}
        # In a container, it is a link to that of the host.
        rm -f "$root/proc"
        mkdir -p "$root"/{proc,sys,dev,tmp,run}
        touch "$root/complete"
    fi
    target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
    rm -rf "$root$target" "$root/vm"
    mkdir -p "$root/vm" "$root/home/user" "$root$target/cross/$triple/tmp"
    chmod 1777 "$root$target/cross/$triple/tmp"
    list_tests > "$work/tests"
    { cut -d ' ' -f 2 "$work/tests"; echo "$target/cross/$triple/debug/plimsoll"; } | sort -u | while read -r binary; do
        mkdir -p "$root$(dirname "$binary")"
        cp -L "$binary" "$root$binary"
    done
    furnish
    ln -sf "$target/cross/$triple/debug/plimsoll" "$root/usr/bin/plimsoll"
    disk="$work/arm.img"
    make_disk
}

# A program of this tree, whose libraries the Debian has.
bundle_into_debian() {
    mkdir -p "$root$(dirname "$1")"
    rm -f "$root$(dirname "$1")/$(basename "${1%-*}")"-*
    cp -L "$1" "$root$1"
}

make_disk() {
    local mib
    mib=$(($(du -sm "$root" | cut -f 1) + 1024))
    rm -f "$disk"
    PATH="$PATH:/usr/sbin" mke2fs -q -t ext4 -O ^has_journal -E root_owner=0:0 -d "$root" "$disk" "${mib}M"
}

# Starts the machine with the rest of the arguments behind the kernel's; prints what it says; its verdict is the exit code.
boot() {
    local name=$1 command=$2 run="$work/$1"
    make_initramfs
    mkdir -p "$run"
    rm -f "$run"/*
    cp --sparse=always "$disk" "$run/root.img"
    truncate -s 512M "$run/swap.img"
    printf '%s\n' "$command" > "$run/command"
    truncate -s 4096 "$run/command"
    # A machine inside a virtual machine often has a /dev/kvm that opens and does not work.
    local accelerator=${PLIMSOLL_VM_ACCEL:-tcg,thread=multi}
    # QEMU 7.2 emulates cmpxchg16b with wrong flags, which kernels since 6.5 die of.
    local machine=(qemu-system-x86_64 -cpu "max,-cx16" -serial "file:$run/console.log") console=ttyS0
    if [ "$architecture" = arm64 ]; then
        machine=(qemu-system-aarch64 -machine virt -cpu cortex-a76) console=ttyAMA0
        : > "$run/console.log"
    fi
    local attempt
    for attempt in 1 2 3; do
        echo "machine $name: Linux $(cat "$kernel/complete"), $accelerator"
        timeout --kill-after 5 "$limit" "${machine[@]}" -accel "$accelerator" -smp "${PLIMSOLL_VM_PROCESSORS:-2}" -m 4096 -no-reboot -display none -nodefaults \
            -kernel "$kernel/vmlinuz" -initrd "$kernel/initramfs" \
            -append "console=$console panic=-1 quiet psi=1 swapaccount=1 random.trust_cpu=on mitigations=off transparent_hugepage=madvise $3" \
            -drive "file=$run/root.img,if=virtio,format=raw,cache=unsafe" \
            -drive "file=$run/swap.img,if=virtio,format=raw,cache=unsafe" \
            -drive "file=$run/command,if=virtio,format=raw" \
            -serial stdio < /dev/null 2> "$run/qemu.log" | tee "$run/output.log" | sed -u 's/\r//g; s/^/  /' || true
        if grep -q '^vm: passed' "$run/output.log"; then break; fi
        echo "machine $name: failed; its kernel's last lines ($run):"
        tail -n 40 "$run/console.log" "$run/qemu.log" 2> /dev/null || true
        # An emulated kernel sometimes dies while it starts. Nothing of this project has run by then, so that it may try again.
        if [ $attempt = 3 ] || grep -q '^vm: started' "$run/output.log" || ! grep -q 'Kernel panic' "$run/console.log" "$run/output.log"; then
            return 1
        fi
    done
    rm -f "$run/root.img" "$run/swap.img"
}

# In braces, so that the shell has read all of it when it begins: a run takes minutes, in which this file may change.
{
machines=() command=tests
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) sed -n '2,/^set/ { s/^# \{0,1\}//; /^set/d; p; }' "$0"; exit ;;
        --quick | --truth) command=${1#--} ;;
        6.1 | 6.12 | newest | systemd | musl | arm64 | arm64-16k) machines+=("$1") ;;
        --) shift; command="$*"; break ;;
        *) echo "error: there is no machine $1: 6.1, 6.12, newest, systemd, musl, arm64, arm64-16k" >&2; exit 2 ;;
    esac
    shift
done
[ ${#machines[@]} -gt 0 ] || machines=(6.1 6.12 newest systemd musl)
release=${CARGO_TARGET_DIR:-target}/release/plimsoll
if [ "$command" = truth ]; then
    for machine in "${machines[@]}"; do
        case $machine in
            systemd | musl | arm64*) echo "error: --truth is for 6.1, 6.12 and newest: name them" >&2; exit 2 ;;
        esac
    done
    [ -x "$release" ] || { echo "error: $release is not there: cargo build --release -p plimsoll-harness" >&2; exit 2; }
fi

get_tools
rm -f "$work/tests"
failed=()
for machine in "${machines[@]}"; do
    architecture=amd64 emulator=qemu-system-x86_64:qemu-system-x86 busybox=
    case $machine in
        arm64*)
            architecture=arm64 emulator=qemu-system-aarch64:qemu-system-arm triple=aarch64-unknown-linux-gnu
            get_tools
            [ "$machine" = arm64 ] && flavour=cloud-arm64 || flavour=$machine
            get_kernel trixie-backports "$flavour"
            busybox="$work/arm-root/bin/busybox"
            [ "${disk:-}" = "$work/arm.img" ] || make_arm_root
            boot "$machine" "$command" "init=/vm/machine.sh" || failed+=("$machine")
            rm -f "$work/tests"
            continue
            ;;
        6.1) get_kernel bookworm ;;
        6.12 | systemd | musl) get_kernel bookworm-backports ;;
        newest) get_kernel trixie-backports ;;
    esac
    if [ "$machine" = systemd ]; then
        make_systemd_root
        boot systemd "$command" "init=/sbin/init systemd.show_status=false" || failed+=(systemd)
        continue
    fi
    previous=${program-none} program=
    if [ "$machine" = musl ]; then
        triple=$(uname -m)-unknown-linux-musl
        harness/cross.sh build "$triple" -p plimsoll-harness --bin plimsoll ||
            impossible "the program cannot be built for musl: it needs musl-tools and rustup's $triple"
        program=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)/cross/$triple/debug/plimsoll
    fi
    { [ "${disk:-}" = "$work/root.img" ] && [ "$previous" = "$program" ]; } || make_root
    boot "$machine" "$command" "init=/vm/machine.sh" || failed+=("$machine")
done
[ ${#failed[@]} -eq 0 ] || { printf 'failed: %s\n' "${failed[*]}"; exit 1; }
exit
}
