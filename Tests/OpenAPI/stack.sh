# A stack for the commands of this folder, and Python packages in environments of their own. Sourced, not run.
# Sets `root`, and after start_stack: `intake`, `api_key`, `simulator`, and `value_of NAME` for what else `deploy/stack env` prints.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export COUNTERSIGN_BIN_DIR="${COUNTERSIGN_BIN_DIR:-$root/.build/release}"
# Nothing between these commands and the stack.
export NO_PROXY="*" no_proxy="*"

# Prints the folder of an environment that has these packages; says loudly why there is none.
installed() { # NAME PACKAGES
    local folder="$root/.local/$1" log="$root/.local/$1.log"
    mkdir -p "$root/.local"
    exec 9>"$root/.local/$1.lock"
    flock 9
    if [ "$(cat "$folder/installed" 2>/dev/null)" != "$2" ]; then
        rm -rf "$folder"
        # shellcheck disable=SC2086 (several packages)
        if ! { python3 -m venv "$folder" && "$folder/bin/python" -m pip install --quiet --disable-pip-version-check $2; } \
            </dev/null >"$log" 2>&1; then
            echo "SKIPPED: $2 could not be installed; $log says why:" >&2
            tail -n 5 "$log" >&2
            return 1
        fi
        printf '%s' "$2" >"$folder/installed"
    fi
    exec 9>&-
    printf '%s' "$folder"
}

start_stack() {
    folder=$(mktemp -d "${TMPDIR:-/tmp}/countersign-openapi.XXXXXX")
    trap 'status=$?; "$root/deploy/stack" --dir "$folder" destroy >/dev/null 2>&1; rm -rf "$folder"; exit $status' EXIT
    mkdir "$folder/templates"
    cp "$root"/deploy/configuration/*.{yaml,json} "$folder/templates/"
    # A key with every scope: the stack's usual one may not sign offers, nor do what an operator does.
    sed -i -e '/^  api_keys_sha256: /d' \
        -e 's/^  api_keys: .*/&\n    - { name: all, sha256: "@API_KEY_SHA256@", scopes: [post, read, spend, sign, operate] }/' \
        "$folder/templates/apps.yaml"
    # And a key that signs offers, for every app.
    sed -i 's/^apps:$/subscription_offers: { issuer_id: "@APP_STORE_ISSUER_ID@", key_id: "@APP_STORE_KEY_ID@", private_key_file: "@APP_STORE_KEY_FILE@" }\napps:/' \
        "$folder/templates/apps.yaml"
    COUNTERSIGN_STACK_TEMPLATES="$folder/templates" "$root/deploy/stack" --dir "$folder/stack" up
    # From here on the folder of the stack is what is removed.
    trap 'status=$?; "$root/deploy/stack" --dir "$folder/stack" destroy >/dev/null 2>&1; rm -rf "$folder"; exit $status' EXIT

    values=$("$root/deploy/stack" --dir "$folder/stack" env)
    value_of() { sed -n "s/^$1=//p" <<<"$values" | tr -d "'\""; }
    intake=$(value_of COUNTERSIGN_RECEIPT_INTAKE_URL) api_key=$(value_of COUNTERSIGN_API_KEY)
    simulator=$(value_of COUNTERSIGN_SIMULATOR_URL)
}
