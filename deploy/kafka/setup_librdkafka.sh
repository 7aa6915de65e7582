# Sourced by deploy/setup: a librdkafka that will do, the system's or one built from Debian's source package.
readonly rdkafka_prefix="$local_dir/librdkafka"
readonly rdkafka_stamp="$rdkafka_prefix/built-version" # What was built; a folder without it is of an older setup.
readonly rdkafka_minimum=2.3
readonly rdkafka_suite=forky rdkafka_tested=2.14.2-1 rdkafka_build_minimum=2.12
readonly rdkafka_old_suite=trixie rdkafka_old_tested=2.8.0-1 # Where the newer one cannot be had.

# 2.0 to 2.2 have protocol faults; 2.4 to 2.9 use freed memory once a topic has been made anew (issues 4778 and 4964).
usable_version() { new_enough "$1" && { ! at_least "$1" 2.4 || at_least "$1" 2.10; }; }
new_enough() { at_least "$1" "$rdkafka_minimum"; }
at_least() { [[ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" == "$2" ]]; }

# True when the system has a librdkafka whose version passes the test given.
system_rdkafka() {
    local version
    version="$(pkg-config --modversion rdkafka 2>/dev/null)" && "$1" "$version"
}

# True when the private one is complete; a repository that was moved gets its pkg-config files rewritten.
private_rdkafka() {
    local version
    [[ -e "$rdkafka_prefix/lib/librdkafka.so.1" && -e "$rdkafka_stamp" ]] || return 1
    version="$(<"$rdkafka_stamp")"
    at_least "$version" "$rdkafka_build_minimum" || [[ "$version" == "$rdkafka_old_tested" ]] || return 1
    if ! grep -qx "prefix=$rdkafka_prefix" "$rdkafka_prefix/lib/pkgconfig/rdkafka.pc"; then
        sed -i -E -e "s|^prefix=.*|prefix=$rdkafka_prefix|" -e 's|^libdir=.*|libdir=${prefix}/lib|' \
            -e 's|^includedir=.*|includedir=${prefix}/include|' "$rdkafka_prefix"/lib/pkgconfig/*.pc
    fi
}

rdkafka_by_hand() {
    fail "$1" "librdkafka 2.3, or 2.10 and newer, is needed (those between use freed memory when a topic is made anew)." \
        "Install such a librdkafka-dev (Ubuntu 24.04 has one), or build a release yourself, then run this again:" \
        "./configure --prefix=$rdkafka_prefix && make libs && make install && echo $rdkafka_tested >$rdkafka_stamp"
}

librdkafka() {
    if private_rdkafka || system_rdkafka usable_version; then return; fi
    have apt-get || rdkafka_by_hand "this machine has no apt-get"
    if ! apt_has_lists && { [[ $(id -u) -eq 0 ]] || have sudo; }; then apt_get update || true; fi
    local candidate
    candidate="$(apt-cache policy librdkafka-dev 2>/dev/null | sed -n 's/^ *Candidate: *//p')"
    if [[ "$candidate" =~ ^[0-9] ]] && usable_version "$candidate"; then
        install_packages librdkafka-dev
    elif [[ -n "$(debian_repository)" ]]; then
        build_librdkafka
    elif [[ "$candidate" =~ ^[0-9] ]] && at_least "$candidate" "$rdkafka_minimum"; then
        system_rdkafka new_enough || install_packages librdkafka-dev
        say "warning: librdkafka $candidate may end a process when a topic is made anew (deploy/kafka/README.md)"
    fi
    private_rdkafka || system_rdkafka new_enough || rdkafka_by_hand "apt knows no librdkafka that is new enough"
}

# The Debian repository that this machine's apt uses (a mirror, perhaps): its other suites live at the same address.
debian_repository() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1
}

# Faults that end the process, each mended by one line. A source that does not have the line is not the one looked at.
mend_source() {
    # Tansu answers a fetch from a topic whose id it lost with a leader for a topic without id, hence without name; the name
    # is compared all the same. In every version with KIP-951, 2.14.2 too; Apache Kafka repeats the id.
    mend src/rdkafka_metadata.c 'char \*topic              = NULL;' \
        'char *topic = NULL; if (!by_id \&\& !md->topics[i].topic) continue;' || return
    if at_least "$1" 2.10; then return; fi
    # Topics are kept by name and by id. When a name comes back with another id, the old entry is freed, but stays in the tree
    # of ids: the branch that takes it out has to run whenever the new entry did not replace it there (issues 4778, 4964).
    mend src/rdkafka_metadata_cache.c '} else if (old && !RD_KAFKA_UUID_IS_ZERO(' \
        '} if (old \&\& old_by_id != old \&\& !RD_KAFKA_UUID_IS_ZERO('
}

mend() {
    [[ $(grep -c -- "$2" "$1") == 1 ]] || { echo "librdkafka: nothing to mend in $1" && return 1; }
    sed -i "s/$2/$3/" "$1"
}

build_librdkafka() {
    local -a features=()
    local pair
    for pair in libssl:libssl-dev libzstd:libzstd-dev liblz4:liblz4-dev libsasl2:libsasl2-dev \
        libcurl:libcurl4-openssl-dev; do
        pkg-config --exists "${pair%%:*}" || features+=("${pair##*:}")
    done
    have dpkg-source || features+=(dpkg-dev)
    if ((${#features[@]})); then install_packages "${features[@]}"; fi

    rm -rf "$local_dir"/librdkafka-build.* # Of a run that was killed; the lock says that none is at work.
    if build_suite "$rdkafka_suite" "$rdkafka_tested"; then return; fi
    say "warning: librdkafka $rdkafka_build_minimum or newer cannot be had; trying $rdkafka_old_tested"
    if build_suite "$rdkafka_old_suite" "$rdkafka_old_tested"; then return; fi
    rdkafka_by_hand "building librdkafka failed; the whole logs: $local_dir/librdkafka-build-*.log"
}

# Builds the librdkafka of one Debian suite, and puts it into its place. False when that did not work.
build_suite() {
    local suite="$1" tested="$2" version code=0
    work="$(mktemp -d "$local_dir/librdkafka-build.XXXXXX")"
    local -a private
    private_apt "$suite"
    version="$(source_version 2>"$work/build.log")"
    if [[ "$suite" == "$rdkafka_suite" ]] && at_least "${version:-0}" "$rdkafka_build_minimum"; then
        [[ "$version" == "$tested" ]] || say "$suite has librdkafka $version now; $tested is what was tested"
    elif [[ "$version" != "$tested" ]]; then
        say "$suite has no librdkafka $tested (found: ${version:-none})"
        keep_build_log "$suite"
        return 1
    fi
    say "building librdkafka $version (about two minutes)"
    # Not as a condition: in one, bash does not stop at the first command that fails.
    set +e
    (
        exec >>"$work/build.log" 2>&1 9>&-
        set -e
        cd "$work/source"
        apt-get "${private[@]}" source --download-only "librdkafka=$version"
        # Without Debian's patches: they are for Debian's way to build it, with libraries of its own.
        dpkg-source --no-check --skip-patches -x librdkafka_*.dsc ../tree
        cd ../tree
        mend_source "$version"
        ./configure --prefix="$rdkafka_prefix"
        make -j"$(nproc)" libs
        make install DESTDIR="$work/install"
        echo "$version" >"$work/install$rdkafka_stamp"
    )
    code=$?
    set -e
    if ((code)); then
        tail -n 20 "$work/build.log" >&2
        keep_build_log "$suite"
        return 1
    fi
    rm -rf "$rdkafka_prefix"
    mv "$work/install$rdkafka_prefix" "$rdkafka_prefix"
    rm -rf "$work" && work=""
}

keep_build_log() {
    cp "$work/build.log" "$local_dir/librdkafka-build-$1.log" 2>/dev/null || true
    rm -rf "$work" && work=""
}

# Fills `private` with apt's options for a sources list and a state of its own: the machine's apt stays as it is, and no
# root is needed.
private_apt() {
    local signed="" keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/source"
    if [[ -e "$keyring" ]]; then signed="[signed-by=$keyring] "; fi
    printf 'deb-src %s%s %s main\n' "$signed" "$(debian_repository)" "$1" >"$work/sources.list"
    private=(-q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::Cache=$work/cache"
        -o "Dir::State=$work/state" -o Dir::State::status=/var/lib/dpkg/status -o APT::Sandbox::User= -o Acquire::Languages=none)
}

# The newest version that the suite has; nothing when it has none, or cannot be reached.
source_version() {
    apt-get "${private[@]}" update >&2 9>&- || true
    { apt-cache "${private[@]}" showsrc librdkafka || true; } | sed -n 's/^Version: *//p' | sort -V | tail -n 1
}
