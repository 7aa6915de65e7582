/// Tries again until it holds; for conditions that nothing signals.
package func eventually(
    within limit: Duration = .seconds(30), _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline {
        if try await condition() { return true }
        // Brokers and statistics signal nothing, so this one looks again.
        try? await Task.sleep(for: .milliseconds(20))
    }
    return try await condition()
}
