# shellcheck shell=bash
# What scripts/kernel-lab boots: a kernel with sched_ext, an emulator that runs it without crashing, and a shell and an MPI library
# for the guest. To be sourced after scripts/lib/setup.sh.
#
# Packages come from the mirror that this machine's apt uses, with a separate apt configuration; nothing is installed. They are
# unpacked into a folder that is kept from run to run. If they are not available, `lab_skipped` says why and exits 77.

# Tried in this order: the first was tested most; 7.2.12 cannot load any policy, its BTF lacks functions.
lab_kernels="6.18.5 6.18.9 6.18.12 6.18.15 6.17.13 6.17.8 6.16.12 6.16.3"

lab_skipped() {
    say "skipped: $*"
    exit 77
}

# lab_apt COMMAND...: apt with its own configuration, lists and cache, below $lab_cache.
lab_apt() {
    APT_CONFIG="$lab_cache/apt/apt.conf" "$@"
}

# What apt is configured for.
lab_suites="bookworm bookworm-backports trixie-backports"

# lab_configure: configures apt for $lab_suites, from the machine's own mirror.
lab_configure() {
    local mirror suite
    mirror=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        sed -n 's/^Debian Debian //p' | head -n 1)
    [ -n "$mirror" ] || lab_skipped "this machine's apt knows no mirror of Debian"
    mkdir -p "$lab_cache"/apt/{state/lists/partial,cache/archives/partial}
    for suite in $lab_suites; do
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

# lab_fetch: the packages, unpacked in $lab_cache/root and $lab_cache/mpi; a file `complete` in each says that it is complete.
lab_fetch() {
    if [ -e "$lab_cache/root/complete" ] && [ -e "$lab_cache/mpi/complete" ]; then
        return
    fi
    [ "$(uname -m)" = x86_64 ] || lab_skipped "the guest is an x86-64 machine, this one is $(uname -m)"
    command -v apt-get >/dev/null || lab_skipped "there is no apt-get here to get the packages"
    say "Reading package lists for the guest ..."
    lab_configure
    lab_apt apt-get update -qq >&2 || lab_skipped "the package lists could not be had"
    [ -e "$lab_cache/root/complete" ] || lab_fetch_kernel
    [ -e "$lab_cache/mpi/complete" ] || lab_fetch_mpi
    rm -rf "$lab_cache/packages" "$lab_cache/apt"
}

# What is unpacked of a kernel package: the image. A script whose guests load modules adds './usr/lib/modules/*'.
lab_kernel_files=('./boot/vmlinuz-*')

# lab_unpack FOLDER OPTION|PACKAGE...: downloads packages and unpacks them into FOLDER; of a kernel package, lab_kernel_files.
lab_unpack() {
    local folder=$1 package
    shift
    rm -rf "$folder" "$lab_cache/packages"
    mkdir -p "$folder" "$lab_cache/packages"
    (cd "$lab_cache/packages" && lab_apt apt-get download -qq "$@" >&2) || return
    for package in "$lab_cache"/packages/*.deb; do
        case $package in
        */linux-image*) dpkg --fsys-tarfile "$package" | tar -x -C "$folder" --wildcards "${lab_kernel_files[@]}" ;;
        *) dpkg -x "$package" "$folder" ;;
        esac
    done
    touch "$folder/complete"
}

# lab_kernel: sets lab_kernel to the package of the first of the kernels that there is.
lab_kernel() {
    local version
    for version in $lab_kernels; do
        lab_kernel="linux-image-$version+deb13-cloud-amd64"
        if lab_apt apt-cache show "$lab_kernel" >/dev/null 2>&1; then return; fi
    done
    lab_skipped "the mirror has none of the kernels $lab_kernels"
}

lab_fetch_kernel() {
    local packages
    say "Getting a kernel and an emulator (60 MB) ..."
    lab_kernel
    packages=$(lab_apt apt-get -s -t bookworm-backports install qemu-system-x86 busybox-static 2>/dev/null | sed -n 's/^Inst \([^ ]*\).*/\1/p') ||
        lab_skipped "the emulator of Debian 12 does not go with what is installed here"
    # shellcheck disable=SC2086 # a list of words
    lab_unpack "$lab_cache/root" -t bookworm-backports "$lab_kernel" $packages qemu-system-x86 busybox-static ||
        lab_skipped "the packages of the kernel and the emulator could not be had"
}

# Open MPI and all libraries that it needs, except the C library: the guest's programs are linked with this machine's.
lab_fetch_mpi() {
    local package packages=()
    say "Getting Open MPI (7 MB) ..."
    for package in openmpi-bin libopenmpi3 libopenmpi-dev libpmix2 libhwloc15 libevent-core-2.1-7 libevent-pthreads-2.1-7 libmunge2 \
        libudev1 zlib1g; do
        packages+=("$package/bookworm")
    done
    lab_unpack "$lab_cache/mpi" "${packages[@]}" || lab_skipped "the packages of Open MPI could not be had"
}

# lab_mpi FOLDER: puts `mpirun` and what it needs to start ranks on its own machine into the guest's folder. What is left out, such
# as components for networks, is not needed and would take time to load.
lab_mpi() {
    local mpi=$lab_cache/mpi libraries=usr/lib/x86_64-linux-gnu components=usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3 name
    mkdir -p "$1/usr/bin" "$1/$components" "$1/lib64" "$1/$libraries/pmix2/lib/pmix"
    cp "$mpi/usr/bin/orterun" "$1/usr/bin/mpirun"
    for name in allocator_basic allocator_bucket bml_r2 btl_self btl_vader coll_basic coll_libnbc coll_self coll_tuned \
        errmgr_default_app errmgr_default_hnp ess_hnp ess_pmi filem_raw grpcomm_direct iof_hnp odls_default oob_tcp plm_isolated \
        pmix_ext3x pml_ob1 ras_simulator rcache_grdma reachable_weighted regx_fwd regx_naive rmaps_round_robin rml_oob routed_direct \
        schizo_ompi shmem_mmap state_app state_hnp; do
        cp "$mpi/$components/mca_$name.so" "$1/$components/"
    done
    cp "$mpi/$libraries/pmix2/lib/pmix/pmix_mca_pcompress_zlib.so" "$1/$libraries/pmix2/lib/pmix/"
    for name in libmpi.so.40 libopen-rte.so.40 libopen-pal.so.40 libpmix.so.2 libhwloc.so.15 libevent_core-2.1.so.7 \
        libevent_pthreads-2.1.so.7 libmunge.so.2 libudev.so.1 libz.so.1; do
        cp -L "$(find "$mpi" -name "$name" | head -n 1)" "$1/$libraries/$name"
    done
    for name in libc.so.6 libm.so.6; do
        cp -L "$(cc -print-file-name=$name)" "$1/$libraries/"
    done
    cp -L "$(cc -print-file-name=ld-linux-x86-64.so.2)" "$1/lib64/"
}

# lab_mpicc ARGUMENT...: compiles a program for the guest's MPI.
lab_mpicc() {
    local library=$lab_cache/mpi/usr/lib/x86_64-linux-gnu/openmpi
    cc -O2 -Wall -Wextra -Werror -isystem "$library/include" "$@" "$library/../libmpi.so.40" -Wl,--allow-shlib-undefined
}

# lab_toolchain: clang, and the static libraries that the policy's loader needs with what its build finds and makes them with.
lab_toolchain() {
    local probe
    probe=$(cc -print-file-name=libelf.a 2>/dev/null)
    if ! command -v clang >/dev/null || ! command -v pkg-config >/dev/null || ! command -v make >/dev/null ||
        [ "$probe" = libelf.a ] || [ "$(cc -print-file-name=libz.a)" = libz.a ]; then
        apt_install clang libelf-dev zlib1g-dev pkg-config make ||
            lab_skipped "clang, libelf, zlib, pkg-config and make are needed: sudo apt-get install clang libelf-dev zlib1g-dev pkg-config make"
    fi
    # The static libelf of Debian 13 lacks a part of itself.
    printf '#include <libelf.h>\nint main(void) { return elf_end(elf_begin(0, ELF_C_READ, 0)); }\n' |
        cc -static -x c -o /dev/null - -lelf -lz 2>/dev/null || lab_skipped "this machine's libelf cannot be linked statically"
}
