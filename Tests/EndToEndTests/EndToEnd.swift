import Testing

/// Everything that needs the whole stack: one after the other, since they kill its parts.
///
/// `deploy/test` brings the stack up, names it in `COUNTERSIGN_STACK_DIR`, and takes it down.
@Suite(
    "The whole stack", .serialized,
    .enabled(if: Stack.isAvailable, "SKIPPED: no stack; run deploy/test, or set COUNTERSIGN_STACK_DIR"))
struct EndToEnd {}
