/// After how many seconds an unknown is worth another look; fulfillment doubles them, up to its own maximum.
enum RetryTime {
    /// A deployment is under way: the app, or the kind of proof, is known to others already.
    static let deployment: Double = 30
    /// A database that does not answer, or that is not configured in this worker.
    static let claimCheck: Double = 30
    /// A field that nobody can read needs a newer program.
    static let unreadable: Double = 3_600
    /// A key is missing from the settings.
    static let notConfigured: Double = 600
    /// Somebody must mend a key, a secret or the app's entry.
    static let attention: Double = 300
    /// Apple answered with an error and did not say until when.
    static let appStoreTrouble: Double = 5
    /// Apple, or our share of what it allows, has no room and did not say until when.
    static let rateLimited: Double = 5
    /// The call is under way, and its answer will be remembered.
    static let late: Double = 2
    /// The API may lag behind a purchase.
    static let notFoundYet: Double = 30
    /// The longest between two questions about an id that Apple does not know: its outages of that kind last for days.
    static let notFoundMaximum: Double = 3 * 3_600
    /// A responder of certificates.
    static let revocation: Double = 60
    /// verifyReceipt had trouble of its own.
    static let verifyReceipt: Double = 30

    /// When to ask again about an id that Apple does not know: the longer it is so, the seldomer.
    ///
    /// - Parameter seconds: since Apple first said so; nil for just now.
    static func notFound(since seconds: Double?) -> Double {
        min(max(notFoundYet, (seconds ?? 0) / 4), notFoundMaximum)
    }
}
