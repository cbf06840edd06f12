# shellcheck shell=bash
# What scripts/kernel-lab boots: a kernel with sched_ext, an emulator that stays alive with it, and a shell for the guest. To be
# sourced after scripts/lib/setup.sh.
#
# Packages come from the mirror that this machine's apt uses, by an apt configuration of their own; nothing is installed. They
# are unpacked into a folder that is kept from run to run. Where they cannot be had, `lab_skipped` says why and exits 77.

# Tried in this order: the first was tested most; 7.2.12 cannot load any policy, its BTF lacks functions.
lab_kernels="6.18.5 6.18.9 6.18.12 6.18.15 6.17.13 6.17.8 6.16.12 6.16.3"

lab_skipped() {
    say "skipped: $*"
    exit 77
}

# lab_apt COMMAND...: apt with a configuration, lists and a cache of its own, below $lab_cache.
lab_apt() {
    APT_CONFIG="$lab_cache/apt/apt.conf" "$@"
}

# lab_configure: the suites with what is needed, from the machine's own mirror.
lab_configure() {
    local mirror suite
    mirror=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        sed -n 's/^Debian Debian //p' | head -n 1)
    [ -n "$mirror" ] || lab_skipped "this machine's apt knows no mirror of Debian"
    mkdir -p "$lab_cache"/apt/{state/lists/partial,cache/archives/partial}
    for suite in bookworm bookworm-backports trixie-backports; do
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
    done >"$lab_cache/apt/sources.list"
    cat >"$lab_cache/apt/apt.conf" <<END
Dir::State "$lab_cache/apt/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$lab_cache/apt/cache";
Dir::Etc::SourceList "$lab_cache/apt/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
APT::Sandbox::User "";
APT::Install-Recommends "false";
Acquire::Languages "none";
END
}

# lab_fetch: the packages, unpacked in $lab_cache/root; a file `complete` there says that they are all there.
lab_fetch() {
    local root=$lab_cache/root packages version kernel=
    if [ -e "$root/complete" ]; then
        return
    fi
    [ "$(uname -m)" = x86_64 ] || lab_skipped "the guest is an x86-64 machine, this one is $(uname -m)"
    command -v apt-get >/dev/null || lab_skipped "there is no apt-get here to get the packages"
    say "Getting a kernel and an emulator (60 MB) ..."
    lab_configure
    lab_apt apt-get update -qq >&2 || lab_skipped "the package lists could not be had"
    for version in $lab_kernels; do
        if lab_apt apt-cache show "linux-image-$version+deb13-cloud-amd64" >/dev/null 2>&1; then
            kernel="linux-image-$version+deb13-cloud-amd64"
            break
        fi
    done
    [ -n "$kernel" ] || lab_skipped "the mirror has none of the kernels $lab_kernels"
    packages=$(lab_apt apt-get -s -t bookworm-backports install qemu-system-x86 busybox-static 2>/dev/null | sed -n 's/^Inst \([^ ]*\).*/\1/p')
    rm -rf "$root" "$lab_cache/packages"
    mkdir -p "$root" "$lab_cache/packages"
    # shellcheck disable=SC2086 # a list of words
    (cd "$lab_cache/packages" && lab_apt apt-get download -qq -t bookworm-backports "$kernel" $packages qemu-system-x86 busybox-static >&2) ||
        lab_skipped "the packages of the kernel and the emulator could not be had"
    for package in "$lab_cache"/packages/*.deb; do
        case $package in
        */linux-image*) dpkg --fsys-tarfile "$package" | tar -x -C "$root" --wildcards './boot/vmlinuz-*' ;;
        *) dpkg -x "$package" "$root" ;;
        esac
    done
    rm -rf "$lab_cache/packages" "$lab_cache/apt"
    touch "$root/complete"
}

# lab_toolchain: clang and the static libraries that the policy's loader is made of.
lab_toolchain() {
    local probe
    probe=$(cc -print-file-name=libelf.a 2>/dev/null)
    if ! command -v clang >/dev/null || [ "$probe" = libelf.a ] || [ "$(cc -print-file-name=libz.a)" = libz.a ]; then
        apt_install clang libelf-dev zlib1g-dev || lab_skipped "clang, libelf and zlib are needed: sudo apt-get install clang libelf-dev zlib1g-dev"
    fi
}
