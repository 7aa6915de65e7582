# Part of deploy/test: one suite on a debug build, with the servers that its sources ask for. Sourced, not run.
# The caller has set `root`, `suite` and `arguments`.

quick_servers="$root/.local/quick" # A stack's folder. Its servers stay up, so the next run finds them.

# Exits when there is no such suite.
check_suite() {
    if [[ "$suite" =~ ^[A-Za-z]+Tests$ && -d "Tests/$suite" ]]; then return 0; fi
    echo "test: no suite '$suite'; there are: $(cd Tests && echo *Tests)" >&2
    exit 2
}

# The folders of the suite's sources: its own, and those of Tests/ that it imports.
suite_folders() {
    local module
    echo "Tests/$suite"
    while IFS= read -r module; do
        if [[ -d "Tests/$module" ]]; then echo "Tests/$module"; fi
    done < <(grep -rhoE --include='*.swift' '^[a-z@ ]*\bimport [A-Za-z]+$' "Tests/$suite" | sed 's/.*import //' | sort -u)
}

# Whether what is tested reads this variable. Where no suite was chosen, everything is tested.
needs() {
    local -a folders
    if [[ -z "$suite" ]]; then return 0; fi
    mapfile -t folders < <(suite_folders)
    grep -rqw --include='*.swift' "$1" "${folders[@]}"
}

# The suite, and all programs where its tests start some.
quick_build() {
    local what=(--product countersignPackageTests)
    if needs COUNTERSIGN_BIN_DIR || needs COUNTERSIGN_STACK_DIR; then what=(--build-tests); fi
    swift build "${COUNTERSIGN_QUICK_FLAGS[@]}" "${what[@]}"
}

# PostgreSQL and the broker, as far as the suite wants them.
start_quick_servers() {
    if needs COUNTERSIGN_TEST_POSTGRES; then deploy/stack --dir "$quick_servers" start postgres || return 1; fi
    if needs COUNTERSIGN_TEST_KAFKA && has_broker; then
        deploy/stack --dir "$quick_servers" start broker || return 1
    fi
}

run_quick() {
    export COUNTERSIGN_SUITE="$suite"
    programs="$root/.build/quick/debug"
    phase build quick_build
    environment
    if needs COUNTERSIGN_STACK_DIR; then
        # Services of this build and of today's settings: a stack of its own, which goes with the tests.
        phase stack start_stack
        phase services start_services
    else
        stack="$(mktemp -d "${TMPDIR:-/tmp}/countersign-quick.XXXXXX")"
        folders+=("$stack")
        phase servers start_quick_servers
        servers="$quick_servers"
    fi
    phase tests run_tests "$suite" "${arguments[@]}"
    if [[ -n "$servers" ]] && { needs COUNTERSIGN_TEST_POSTGRES || needs COUNTERSIGN_TEST_KAFKA; }; then
        echo "test: the servers stay up for the next time; deploy/stack --dir .local/quick destroy ends them"
    fi
    finish 0
}
