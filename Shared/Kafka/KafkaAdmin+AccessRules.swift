extension KafkaAdmin {
    /// The rules that allow something to anybody, or to one principal, from any host.
    ///
    /// Denials, rules for single hosts, and rights that `KafkaAccessRule` has no name for are left out. Throws
    /// `.authorization` without the right to `Describe` the cluster, `.rejected` on a cluster without access control,
    /// `.timedOut` or `.transport` when it does not answer within `timeout`, and `.closed`.
    public func accessRules(
        of principal: String? = nil, timeout: Duration = .seconds(10)
    ) async throws(KafkaError) -> Set<KafkaAccessRule> {
        try await client.accessRules(of: principal, timeout: timeout)
    }

    /// Creates the rules that are missing.
    ///
    /// Throws as `accessRules`, and `.authorization` without the right to `Alter` the cluster; some of the rules may
    /// have been created all the same.
    ///
    /// - Returns: the rules that were not there before, in the order given.
    public func createAccessRules(
        _ rules: [KafkaAccessRule], timeout: Duration = .seconds(10)
    ) async throws(KafkaError) -> [KafkaAccessRule] {
        let present = try await client.accessRules(of: nil, timeout: timeout)
        let missing = rules.filter { !present.contains($0) }
        try await client.createAccessRules(missing, timeout: timeout)
        return missing
    }
}
