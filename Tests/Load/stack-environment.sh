# Sourced by the producers: the folder of a stack that runs becomes its environment and the programs' paths.
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
if [[ $# -eq 0 || "$1" == -* ]]; then
    sed -n '2,/^set /{/^# /s/^# //p}' "$0" >&2
    exit 2
fi
stack_folder="$1"
shift
set -a
source <("$root/deploy/stack" --dir "$stack_folder" env)
set +a
countersign="$COUNTERSIGN_BIN_DIR/countersign"
laboratory="$COUNTERSIGN_BIN_DIR/app-store-simulator"

# Takes the next argument where it is a number, else the default; sets `number` and `shifted`.
take_number() {
    shifted=0
    number="$1"
    if [[ "${2:-}" =~ ^[0-9]+$ ]]; then
        number="$2"
        shifted=1
    fi
}
