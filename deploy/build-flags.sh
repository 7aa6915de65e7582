# Sourced by the scripts that build or test: one set of flags, or SwiftPM builds everything twice.
# Tests run on what ships, so the one build is a release build that tests can look into (-enable-testing).
source "$(dirname "${BASH_SOURCE[0]}")/../.local/env.sh"
# Nobody runs a debugger on it: without debug information the tests compile in three fifths of the processor's time, and the C of
# others (BoringSSL, twice) in three quarters. The index of the test targets stays: SwiftPM finds XCTest's cases by it, and ends
# where it is missing.
COUNTERSIGN_BUILD_FLAGS=(-c release -Xswiftc -enable-testing -Xswiftc -gnone -Xcc -g0)
# Of `deploy/test --quick`: a debug build in a folder of its own, which leaves the other one as it is.
COUNTERSIGN_QUICK_FLAGS=(-c debug --scratch-path .build/quick)
# Of `deploy/demo` where nothing is built yet: what compiles soonest, for looking at and not for a debugger.
COUNTERSIGN_DEMO_FLAGS=(-c debug --scratch-path .build/demo --disable-index-store -Xswiftc -gnone -Xcc -g0)
if [[ -n "$COUNTERSIGN_RDKAFKA_LIB" ]]; then
    COUNTERSIGN_BUILD_FLAGS+=(-Xlinker -rpath -Xlinker "$COUNTERSIGN_RDKAFKA_LIB")
    COUNTERSIGN_QUICK_FLAGS+=(-Xlinker -rpath -Xlinker "$COUNTERSIGN_RDKAFKA_LIB")
    COUNTERSIGN_DEMO_FLAGS+=(-Xlinker -rpath -Xlinker "$COUNTERSIGN_RDKAFKA_LIB")
fi
