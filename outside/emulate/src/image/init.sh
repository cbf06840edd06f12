#!/paceline/busybox sh
# The first program of a guest: mounts, loads modules, sleeps once where guests are saved, and then runs the text that the machine
# hands over through fw_cfg. That text calls the functions below.
busybox=/paceline/busybox
$busybox mount -t proc proc /proc
$busybox --install -s /paceline/bin
export PATH=/paceline/bin
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
for stream in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${stream%:*}" "/dev/${stream#*:}"; done
ln -s /proc/self/fd /dev/fd
# The root folder that a kernel makes for itself is one that all may write to.
chmod 755 /

# is_whole: whether the image was unpacked to its end. The kernel stops, without a word, at a file that it has no room for.
is_whole() {
    local size last
    read -r size last </paceline/last || return 1
    [ -L "$last" ] || [ -d "$last" ] || [ "$(stat -c %s "$last")" = "$size" ]
}
if ! is_whole; then
    echo "paceline: this guest has too little memory for its image"
    poweroff -f
fi
# Kernels before 6.18 do not know the option of their command line that says so.
mount -t tmpfs -o remount,size=90% rootfs /
# As Debian sets it: all users may ping, for which capabilities of files would be needed otherwise.
echo "0 2147483647" >/proc/sys/net/ipv4/ping_group_range

# load_modules LIST: in the order of the list.
load_modules() {
    local module
    while read -r module; do insmod "/paceline/modules/$module.ko"; done <"/paceline/modules/$1"
}

say() { echo "paceline: $*"; }

# start LABEL FILE [NS]: runs a script in the background, from this time of the machine's clock on. The trap keeps the shell, but not
# the script, from being ended by the signal that ends all scripts, so that it can say how they ended.
start() {
    (
        trap : TERM
        [ -z "$3" ] || probe until "$3"
        sh "$2"
        say "$1 ended with status $?"
    ) &
    running="$running $!"
}

# stop_at NS: ends what still runs at this time of the machine's clock; first by asking.
stop_at() {
    (
        probe until "$1"
        kill -TERM -1
        sleep 1
        kill -KILL -1
    ) &
}

# finish [PATH...]: waits for the scripts, sends these paths to the second serial line as an archive, and stays there to answer.
finish() {
    # shellcheck disable=SC2086
    wait $running
    if [ $# != 0 ] && stty -F /dev/ttyS1 raw -echo; then
        cd /
        find "$@" 2>/dev/null | sort | cpio -o -H newc 2>/dev/null >/dev/ttyS1
    fi
    say "done"
    while :; do sleep 1000000; done
}

load_modules first
ip link set lo up
say "ready"
sleep 1
load_modules later
cat /sys/firmware/qemu_fw_cfg/by_name/opt/paceline/guest/raw >/paceline/setup
. /paceline/setup
