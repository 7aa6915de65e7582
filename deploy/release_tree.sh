# Sourced by deploy/release and deploy/package: the version, and executables made ready for machines without a toolchain.

# The version stands in one place, a Swift constant.
countersign_version() {
    sed -n 's/^ *package static let number = "\([^"]*\)"$/\1/p' "$root/Shared/BuildVersion/Version.swift"
}

# Copies executables of the folder $1 to $2/bin and the libraries of theirs that Debian has not to $2/lib, all stripped,
# and finding each other by relative paths. The names of the executables follow.
copy_programs() {
    local from="$1" to="$2" program library libraries
    shift 2
    mkdir -p "$to/bin" "$to/lib"
    for program in "$@"; do
        [[ -x "$from/$program" ]] || fail "no $program in $from"
        install_stripped "$from/$program" "$to/bin/$program" '$ORIGIN/../lib'
        libraries="$(foreign_libraries "$from/$program")"
        for library in $libraries; do
            [[ -e "$to/lib/${library##*/}" ]] || install_stripped "$library" "$to/lib/${library##*/}" ""
        done
    done
    if ! chmod 644 "$to/lib/"* 2>/dev/null; then rmdir "$to/lib"; fi
}

# Copies one file without what only a debugger reads. Its search path gets to be $3 when it names places of this machine.
install_stripped() {
    local from="$1" to="$2" wanted="$3" found
    install -m 755 "$from" "$to"
    strip --strip-unneeded "$to"
    found="$(readelf -d "$to" | sed -n 's/.*R\(UN\)\?PATH.*\[\(.*\)\].*/\2/p')"
    if [[ ":$found" == *:/* || -n "$wanted" && ":$found:" != *":$wanted:"* ]]; then
        command -v patchelf >/dev/null || fail "$from looks for libraries in $found; install patchelf, which mends that"
        patchelf --set-rpath "${wanted:-\$ORIGIN}" "$to"
    fi
}

# The libraries that a program loads from elsewhere than the system's folders, where Debian's packages put theirs.
foreign_libraries() {
    local found
    found="$(ldd "$1")"
    if [[ "$found" == *"not found"* ]]; then fail "$1 lacks libraries:"$'\n'"$(grep 'not found' <<<"$found")"; fi
    sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' <<<"$found" | grep -v -E '^(/usr)?/lib/' || true
}

# Copies htmx and its licence from the folder $1 to $2; where deploy/setup could not fetch it, the console's pages do not refresh
# by themselves.
copy_htmx() {
    if [[ -e "$1/htmx.min.js" ]]; then
        install -D -m 644 -t "$2" "$1/htmx.min.js" "$1/htmx-LICENSE"
    else
        echo "note: no htmx in $1: the console's pages do not refresh by themselves" >&2
    fi
}

# Has the tool $1 write what completes its commands on Tab, for bash to $2, for zsh to $3, for fish to $4.
write_completions() {
    local tool="$1" shell
    shift
    for shell in bash zsh fish; do
        mkdir -p "${1%/*}"
        "$tool" --generate-completion-script "$shell" >"$1" || fail "$tool does not write the completion of $shell"
        chmod 644 "$1"
        shift
    done
}
