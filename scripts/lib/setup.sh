# shellcheck shell=bash
# Set-up shared by scripts/demo and scripts/test; to be sourced by bash with `set -euo pipefail` and the project as the
# working directory.
#
# Puts in place what the build needs, a Rust toolchain and a C linker, and where it may not, says exactly what to install
# and exits 1. What is there already is used as it is: on a machine that can build, nothing is installed, changed or
# printed. Packages are installed by root or where sudo asks for no password; packages are never removed.

# The oldest compiler that builds the workspace, as Cargo.toml declares it.
least_rust=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)

say() {
    printf '%s\n' "$*" >&2
}

# help_if_wanted SCRIPT ARGUMENT...: where an argument asks for help, prints the comment at the top of the script, and ends it.
help_if_wanted() {
    local script=$1 argument
    shift
    for argument in "$@"; do
        case $argument in
        --help | -h)
            sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$script"
            exit
            ;;
        esac
    done
}

# at_least VERSION LEAST: whether VERSION is LEAST or newer.
at_least() {
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# as_root COMMAND...: runs it as root, or fails where that would need a password.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo -n -- "$@"
    else
        return 1
    fi
}

# may_apt: whether Debian or Ubuntu packages may be installed; refreshes the package lists the first time.
apt_ready=
may_apt() {
    if [ -z "$apt_ready" ]; then
        apt_ready=no
        if command -v apt-get >/dev/null && as_root true; then
            say "Reading package lists ..."
            as_root apt-get update -qq >/dev/null || say "The package lists could not be refreshed; trying with the old ones."
            apt_ready=yes
        fi
    fi
    [ "$apt_ready" = yes ]
}

# apt_install PACKAGE...: installs the packages, quietly unless that fails.
apt_install() {
    local log
    may_apt || return 1
    say "Installing $* ..."
    log=$(mktemp)
    if ! as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends --no-remove "$@" >"$log" 2>&1 </dev/null; then
        tail -n 15 "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

# links: whether `cc` makes a program, which is what rustc asks of it.
links() {
    local dir status=0
    command -v cc >/dev/null || return 1
    dir=$(mktemp -d)
    echo 'int main(void) { return 0; }' >"$dir/probe.c"
    cc -o "$dir/probe" "$dir/probe.c" 2>/dev/null || status=1
    rm -rf "$dir"
    return "$status"
}

# rust_works: whether cargo and a rustc that is new enough answer.
rust_works() {
    local version
    command -v cargo >/dev/null && cargo --version >/dev/null 2>&1 || return 1
    version=$(rustc --version 2>/dev/null | cut -d ' ' -f 2) && [ -n "$version" ] && at_least "$version" "$least_rust"
}

# rust_by_rustup: the stable toolchain from a rustup that is there, leaving the default toolchain as it is.
rust_by_rustup() {
    command -v rustup >/dev/null || return 1
    export RUSTUP_TOOLCHAIN=stable
    rust_works && return
    say "Installing the stable Rust toolchain with rustup ..."
    rustup toolchain install stable --profile minimal --component rustfmt,clippy >&2 && rust_works && return
    unset RUSTUP_TOOLCHAIN
    return 1
}

# rust_by_installer: rustup and the stable toolchain, by the installer of the Rust project, into the home directory.
rust_by_installer() {
    local script status=0
    if ! command -v curl >/dev/null; then
        apt_install curl ca-certificates || return 1
    fi
    script=$(mktemp)
    say "Installing Rust into ${CARGO_HOME:-$HOME/.cargo} with the installer from https://sh.rustup.rs ..."
    curl --proto '=https' --tlsv1.2 -sSf --connect-timeout 20 -o "$script" https://sh.rustup.rs &&
        RUSTUP_INIT_SKIP_PATH_CHECK=yes sh "$script" -y -q --profile minimal --default-toolchain stable \
            --component rustfmt --component clippy --no-modify-path >&2 </dev/null || status=1
    rm -f "$script"
    [ "$status" = 0 ] && rust_works
}

# rust_by_apt: the distribution's own toolchain, where it is new enough (Debian 12 has it as rustc-web).
rust_by_apt() {
    local suffix version packages=() name
    may_apt || return 1
    for suffix in "" -web; do
        version=$(apt-cache policy "rustc$suffix" | sed -n 's/^ *Candidate: \([0-9.]*\).*/\1/p')
        if [ -z "$version" ] || ! at_least "$version" "$least_rust"; then
            continue
        fi
        for name in "rustc$suffix" "cargo$suffix" "rustfmt$suffix" "rust$suffix-clippy"; do
            if apt-cache show "$name" >/dev/null 2>&1; then
                packages+=("$name")
            fi
        done
        apt_install "${packages[@]}" && rust_works && return
        packages=()
    done
    return 1
}

# ensure_build: a linker and a toolchain, or an exit that says what to install.
ensure_build() {
    PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
    export PATH
    if ! links && ! { apt_install gcc libc6-dev && links; }; then
        say ""
        say "A C compiler is needed to link Rust programs, and could not be installed from here. Install it with"
        say "    sudo apt-get update && sudo apt-get install gcc libc6-dev"
        say "and run this again."
        exit 1
    fi
    if ! rust_works && ! rust_by_rustup && ! rust_by_installer && ! rust_by_apt; then
        say ""
        say "Rust $least_rust or newer is needed, and could not be installed from here. Install it with"
        say "    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh       (any Linux)"
        say "    sudo apt-get install rustup && rustup toolchain install stable        (Ubuntu 24.04)"
        say "    sudo apt-get install rustc-web cargo-web rustfmt-web rust-web-clippy  (Debian 12, with its security updates)"
        say "and run this again."
        exit 1
    fi
}

# ensure_component COMMAND COMPONENT: whether `cargo COMMAND` is there, after adding its component where rustup can.
ensure_component() {
    cargo "$1" --version >/dev/null 2>&1 && return
    if command -v rustup >/dev/null && rustup component add "$2" >&2 && cargo "$1" --version >/dev/null 2>&1; then
        return
    fi
    say "There is no \`cargo $1\` here; rustup provides it: rustup component add $2"
    return 1
}

# has_libclang: whether there is a libclang, by which bindings to an MPI library are made.
has_libclang() {
    [ -n "${LIBCLANG_PATH:-}" ] || compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null ||
        compgen -G '/usr/lib/*/libclang*.so*' >/dev/null || compgen -G '/usr/lib64/libclang*.so*' >/dev/null
}

# ensure_mpi: Open MPI and MPICH with their compilers, for the tests of `paceline pace`, and libclang, for runs of several processes
# under MPI. Where they are missing and may not be installed, it says so, and those tests are skipped.
ensure_mpi() {
    local library packages=()
    for library in openmpi mpich; do
        if ! command -v "mpicc.$library" >/dev/null || ! command -v "mpirun.$library" >/dev/null; then
            case $library in
            openmpi) packages+=(openmpi-bin libopenmpi-dev) ;;
            mpich) packages+=(mpich libmpich-dev) ;;
            esac
        fi
    done
    command -v make >/dev/null || packages+=(make)
    has_libclang || packages+=(libclang-dev)
    [ ${#packages[@]} = 0 ] || apt_install "${packages[@]}" || {
        say "Tests under MPI are skipped where ${packages[*]} would be needed, which could not be installed from here."
    }
}
