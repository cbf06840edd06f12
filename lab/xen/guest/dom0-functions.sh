# shellcheck shell=sh
# The functions of which the steps of a boot consist; read by dom0-init. Each guest NAME has a file /lab/guests/NAME.cfg. A
# separate loop follows its console; it blocks until a line comes and does not poll, so that it costs dom0 nothing while there
# is no output.

# now: milliseconds since the kernel started, in $now_ms. No process is forked for it.
now() {
    read -r now_ms _ </proc/uptime
    now_ms=${now_ms%.*}${now_ms#*.}0
}

# mark NAME: ends the part of the transcript before it and opens the next.
mark() {
    [ -z "$part_from" ] || close_part
    step=mark
    now
    part_from=$now_ms
    part=$1
    echo "lab: mark=$1"
}

close_part() {
    now
    echo "lab: part=$part part_ms=$((now_ms - part_from))"
}

# follow NAME TTY: prints the guest's output with its name before each line, and passes on that it is ready or done.
follow() {
    while IFS= read -r line; do
        line=${line%"$(printf '\r')"}
        echo "guest $1: $line"
        case $line in
        'paceline: ready='* | 'paceline: done='*) echo "${line#paceline: }" >&3 ;;
        esac
    done <"$2" 3<>"/run/$1.said"
}

# create NAME: a guest, which is then ready for commands.
create() {
    step="create $1"
    rm -f "/run/$1.said"
    mkfifo "/run/$1.said"
    xl create -q -p "/lab/guests/$1.cfg" || fail "xl create"
    domid=$(xl domid "$1") || fail "xl domid"
    tty=
    tries=0
    while [ -z "$tty" ]; do
        tty=$(xenstore-read "/local/domain/$domid/console/tty" 2>/dev/null)
        tries=$((tries + 1))
        [ "$tries" -lt 100 ] || fail "no console"
        [ -n "$tty" ] || usleep 50000
    done
    follow "$1" "$tty" &
    xl unpause "$1" || fail "xl unpause"
    echo "$tty" >"/run/$1.tty"
}

# ready NAME: waits until a guest that was created takes commands.
ready() {
    heard "$1" 600 ready
}

# tell NAME COMMAND
tell() {
    step="tell $1"
    read -r tty <"/run/$1.tty"
    printf '%s\n' "$2" >"$tty" || fail "its console is closed"
}

# heard NAME SECONDS WORD
heard() {
    said=
    read -r -t "$2" said <>"/run/$1.said" || fail "$1 was not $3 within $2 s"
    case $said in "$3="*) ;; *) fail "$1 said $said" ;; esac
}

# await NAME SECONDS: until a guest has done its command.
await() {
    step="await $1"
    heard "$1" "$2" done
}

# set_parameter NAME VALUE
set_parameter() {
    step="set $1=$2"
    xenhypfs write "/params/$1" "$2" || fail "xenhypfs"
}

destroy() {
    step="destroy $1"
    xl destroy "$1" || fail "xl destroy"
}

# dump: the scheduler's state, which the hypervisor prints by itself.
dump() {
    step=dump
    xl debug-keys r || fail "xl debug-keys"
    usleep 200000
}

# answer: how long a shell takes to start, list a folder, read a file, and end.
answer() {
    step=answer
    now
    from=$now_ms
    sh -c 'ls -l /lab/guests; cat /proc/loadavg' >/dev/null || fail "the shell"
    now
    echo "lab: answer_ms=$((now_ms - from))"
}

pause() {
    step="pause $1"
    xl pause "$1" || fail "xl pause"
}

unpause() {
    step="unpause $1"
    xl unpause "$1" || fail "xl unpause"
}
