#!/bin/bash
# Inside a virtual machine, its first program: runs what the third disk says (`tests`, `quick`, `truth` or a command) and
# says by the second serial line, or by the only one, how that went. The first line is `vm: started`, the last one
# `vm: passed` if nothing failed.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TMPDIR=/tmp
systemd=
[ ! -d /run/systemd/system ] || systemd=yes
if [ -z "$systemd" ]; then
    mount -t proc proc /proc 2> /dev/null
    mount -t sysfs sys /sys 2> /dev/null
    mount -t devtmpfs dev /dev 2> /dev/null
    mkdir -p /dev/shm /dev/pts
    mount -t tmpfs tmpfs /dev/shm
    mount -t devpts devpts /dev/pts
    mount -t tmpfs tmpfs /run
    mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup
    ln -sf /proc/self/fd /dev/fd
fi
# An aarch64 has one line.
line=/dev/ttyS1
[ ! -c /dev/ttyAMA0 ] || line=/dev/ttyAMA0
exec > $line 2>&1 < /dev/null
stty -F $line raw -echo 2> /dev/null
echo "vm: started"
group=/sys/fs/cgroup
if [ -z "$systemd" ]; then
    # The loopback device, which some programs wait for: SIOCSIFFLAGS, IFF_UP.
    python3 -c 'import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh22x", b"lo", 1))' 2> /dev/null

    echo "+memory +pids +cpu" > $group/cgroup.subtree_control
    # As systemd sets up a user: a group of the user's own, with the processes in a leaf.
    mkdir -p $group/root-tests $group/plain/session $group/user/session
    echo +memory > $group/user/cgroup.subtree_control
    chown user $group/user $group/user/cgroup.{procs,subtree_control,threads} $group/user/session $group/user/session/cgroup.procs
fi

# Runs a command in a group, as a user: `within GROUP USER CMD..`.
within() {
    local into=$1 user=$2
    shift 2
    (
        # Where systemd has the hierarchy, a service stays where it is: a place that gives a user no group, as a login does.
        [ -n "$systemd" ] || echo $BASHPID > "$group/$into/cgroup.procs" || exit 99
        cd /tmp || exit 99
        if [ "$user" = root ]; then exec "$@"; fi
        export HOME=/home/user
        exec setpriv --reuid 1000 --regid 1000 --clear-groups -- "$@"
    )
}

passed=0 failed=0
# `tests NAME LIST GROUP USER MAY_LACK`
tests() {
    local name=$1 list=$2 into=$3 user=$4 who binary filters code counts ok bad
    export PLIMSOLL_TESTS_MAY_LACK=$5
    while read -r who binary filters; do
        [ "$who" = "$list" ] || continue
        # shellcheck disable=SC2086
        within "$into" "$user" "$binary" --test-threads 2 $filters > /run/output 2>&1 < /dev/null
        code=$?
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
if [ "$what" = tests ] || [ "$what" = quick ]; then
    if [ -n "$systemd" ]; then
        until [ -S /run/user/1000/bus ] || [ $SECONDS -gt 60 ]; do sleep 0.5; done
        [ -S /run/user/1000/bus ] || systemctl status --no-pager user@1000.service dbus.service
        tests "root" scope - root ""
        tests "a user with a systemd" scope - user swap,cgroup
        within - user plimsoll run --no-config --json --cgroup -- true > /run/output 2>&1 < /dev/null
        if grep -q 'plimsoll-[0-9-]*[.]scope' /run/output; then
            echo "a user with a systemd: a scope was made"
            passed=$((passed + 1))
        else
            echo "a user with a systemd: no scope was made"
            head -c 4000 /run/output
            failed=$((failed + 1))
        fi
        export XDG_RUNTIME_DIR=/nonexistent
        tests "a user without a bus" scope - user swap,cgroup
    elif [ "$what" = quick ]; then
        tests "root" quick root-tests root ""
        tests "a user with a delegated group" quick user/session user swap
    else
        tests "root" root root-tests root ""
        tests "a user with a delegated group" user user/session user swap
        tests "a user without" user plain/session user swap,cgroup
    fi
    echo "$passed passed, $failed failed"
    [ $failed -gt 0 ] || echo "vm: passed"
elif [ "$what" = truth ]; then
    mkswap /dev/vdb > /dev/null && swapon /dev/vdb
    # Huge pages that a user can take as well.
    echo 40 > /proc/sys/vm/nr_hugepages
    code=0 python=python3
    [ ! -x /vm/peers/bin/python3 ] || python=/vm/peers/bin/python3
    for who in "root-tests root" "user/session user"; do
        echo "${who##* }:"
        # shellcheck disable=SC2086
        HOLD_BUILT=/vm within $who $python /vm/run.py --plimsoll /usr/bin/plimsoll --seconds 1 || code=$?
    done
    [ $code -ne 0 ] || echo "vm: passed"
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
