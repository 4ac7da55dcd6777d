#!/bin/bash
# Inside a virtual machine, its first program: runs what the third disk says (`tests`, or a command) and says by the second
# serial line how that went. The last line is `vm: passed` if nothing failed.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TMPDIR=/tmp
mount -t proc proc /proc 2> /dev/null
mount -t sysfs sys /sys 2> /dev/null
mount -t devtmpfs dev /dev 2> /dev/null
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /run
mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup
ln -sf /proc/self/fd /dev/fd
exec > /dev/ttyS1 2>&1 < /dev/null
stty -F /dev/ttyS1 raw -echo 2> /dev/null
PATH=$PATH:/sbin
python3 -c '
import fcntl, socket, struct
loopback = socket.socket()
fcntl.ioctl(loopback, 0x8914, struct.pack("16sh22x", b"lo", 1))' 2> /dev/null # SIOCSIFFLAGS, IFF_UP

group=/sys/fs/cgroup
echo "+memory +pids +cpu" > $group/cgroup.subtree_control
# As systemd sets up a user: a group of the user's own, with the processes in a leaf.
mkdir -p $group/root-tests $group/plain/session $group/user/session
echo +memory > $group/user/cgroup.subtree_control
chown user $group/user $group/user/cgroup.{procs,subtree_control,threads} $group/user/session $group/user/session/cgroup.procs
target=$(cat /vm/target)

# Runs a command in a group, as a user: `within GROUP USER CMD..`.
within() {
    local into=$1 user=$2
    shift 2
    (
        echo $BASHPID > "$group/$into/cgroup.procs" || exit 99
        cd /tmp || exit 99
        if [ "$user" = root ]; then exec "$@"; fi
        export HOME=/home/user
        exec setpriv --reuid 1000 --regid 1000 --clear-groups -- "$@"
    )
}

passed=0 failed=0
# `tests NAME GROUP USER MAY_LACK [SKIP..]`
tests() {
    local name=$1 into=$2 user=$3 binary filters skip=()
    export PLIMSOLL_TESTS_MAY_LACK=$4
    shift 4
    local one
    for one in "$@"; do skip+=(--skip "$one"); done
    while read -r binary filters; do
        # shellcheck disable=SC2086
        within "$into" "$user" "$binary" --test-threads 2 ${skip[@]+"${skip[@]}"} $filters > /run/output 2>&1 < /dev/null
        local code=$?
        local counts
        counts=$(sed -n 's/^test result: [a-zA-Z]*\. \([0-9]*\) passed; \([0-9]*\) failed.*/\1 \2/p' /run/output | tail -n 1)
        read -r ok bad <<< "${counts:-0 1}"
        passed=$((passed + ok)) failed=$((failed + bad))
        [ $code -eq 0 ] || [ "$bad" -gt 0 ] || failed=$((failed + 1))
        echo "$name: $(basename "${binary%-*}"): $ok passed, $bad failed"
        grep -h 'not possible here' /run/output | sort | uniq -c | sort -rn | head -n 4
        [ $code -eq 0 ] || grep -v '^test .* ok$' /run/output | head -c 12000
    done < /vm/tests
}

what=$(tr -d '\0' < /dev/vdc)
if [ "$what" = tests ]; then
    mkswap /dev/vdb > /dev/null 2>&1
    tests "root" root-tests root ""
    tests "a user with a delegated group" user/session user swap
    tests "a user without" plain/session user swap,cgroup
    echo "$passed passed, $failed failed"
    [ $failed -gt 0 ] || echo "vm: passed"
else
    within root-tests root /bin/bash -c "$what"
    code=$?
    echo "exit code $code"
    [ $code -ne 0 ] || echo "vm: passed"
fi
sync
sleep 0.2
# Nothing is left that a clean end would save.
echo o > /proc/sysrq-trigger
sleep 60
