/// A transaction, and the environment in which it was found.
public struct ResolvedTransaction: Sendable, Hashable {
    /// Where Apple has it; what is signed must say the same.
    public let environment: AppStoreEnvironment
    /// What Apple has.
    public let answer: TransactionInfoResponse
}

extension AppStoreServerClient {
    /// Finds a transaction of which nothing but the id is known: in production, or else in the sandbox.
    ///
    /// The sandbox is asked only when production says 404 4040010 (ADP, Get Transaction Info). Production answers 401 for
    /// an app that was never released, whatever the key: then, and only for such an app, a 401 leads to the sandbox, too.
    /// For a released app a 401 is thrown: it is a matter of the configuration, never a missing transaction.
    ///
    /// - Parameter isReleased: whether the app was ever released.
    public func resolve(transactionId: String, isReleased: Bool) async throws -> ResolvedTransaction {
        do {
            let answer = try await transactionInfo(transactionId, in: .production)
            return ResolvedTransaction(environment: .production, answer: answer)
        } catch let error as AppStoreServerError {
            let isElsewhere = error.category == .notFound && error.code == .transactionIdNotFound
            let isUnreleased = error.category == .unauthorized && !isReleased
            guard isElsewhere || isUnreleased else { throw error }
        }
        let answer = try await transactionInfo(transactionId, in: .sandbox)
        return ResolvedTransaction(environment: .sandbox, answer: answer)
    }
}
