/// What a load did and what came of it: printed as text, written as JSON.
struct LoadReport: Codable, Sendable {
    /// One genuine purchase.
    struct Purchase: Codable, Sendable {
        let transactionId: String
        let originalTransactionId: String
        let account: String
        /// What it was posted as.
        var proof = LoadProofKind.signedTransaction
        /// The submission's id; nil when it was never accepted.
        var submissionId: String?
        /// `received` until it has an outcome; nil when it was never accepted.
        var state: String?
        var reason: String?
        var finish: Bool?
        /// From the first attempt until it was accepted, in milliseconds.
        var acceptedMilliseconds: Double?
        /// From the first attempt until its outcome was learnt, in milliseconds.
        var outcomeMilliseconds: Double?
        /// What went wrong last.
        var problem: String?

        var isSettled: Bool { state.map { $0 != "received" } ?? false }
    }

    /// One forgery.
    struct Forgery: Codable, Sendable {
        let kind: String
        let expectedReason: String
        let account: String
        var submissionId: String?
        /// `rejected`, also where intake refused it at the door; nil when no answer came.
        var state: String?
        var reason: String?
        var problem: String?
        /// The end of the problem's type, where intake refused it at the door, which it does without a reason.
        var problemCode: String?

        var isBreach: Bool { state == "fulfilled" || state == "parked" }

        /// Whether intake itself saw that it has not the shape of a JWS, so that it never came to be verified.
        var isShapeless: Bool {
            submissionId == nil && problemCode == "proof-malformed" && expectedReason == "not_a_jws"
        }

        var isRefusedAsExpected: Bool { state == "rejected" && (reason == expectedReason || isShapeless) }
    }

    let app: String
    let product: String
    let environment: String
    let seed: UInt64
    let startedAt: String
    /// Requests that posted something, without retries: purchases, duplicates and forgeries.
    let sent: Int
    let duplicates: Int
    let retries: Int
    /// Duplicates that were answered with another submission id than the first copy; must be none.
    let mismatchedIds: Int
    /// Answers by HTTP status; `unreachable` where none came.
    let statuses: [String: Int]
    /// From the first post to the last answer of a post, in seconds.
    let postingSeconds: Double
    /// From the first post until the last outcome was learnt, or the time for that was up, in seconds.
    let settlingSeconds: Double
    let purchases: [Purchase]
    let forgeries: [Forgery]

    var accepted: Int { purchases.count { $0.submissionId != nil } }
    var settled: Int { purchases.count { $0.isSettled } }
    var acceptLatency: Percentiles? { Percentiles(purchases.compactMap(\.acceptedMilliseconds)) }
    var outcomeLatency: Percentiles? { Percentiles(purchases.compactMap(\.outcomeMilliseconds)) }

    /// Purchases by state, with the reason where there is one: `fulfilled`, `rejected: sandbox_refused`.
    var outcomes: [String: Int] { Self.outcomes(purchases) }

    /// What came of the purchases that were posted as one kind of proof.
    struct KindResult: Encodable, Sendable {
        let purchases: Int
        let accepted: Int
        let settled: Int
        let outcomes: [String: Int]
        let acceptLatency: Percentiles?
        let outcomeLatency: Percentiles?
    }

    /// The same for each kind of proof that was posted, in the order of their declaration.
    var byProof: [(kind: LoadProofKind, result: KindResult)] {
        let groups = Dictionary(grouping: purchases, by: \.proof)
        return LoadProofKind.allCases.compactMap { kind in
            groups[kind].map { purchases in
                (
                    kind,
                    KindResult(
                        purchases: purchases.count, accepted: purchases.count { $0.submissionId != nil },
                        settled: purchases.count { $0.isSettled }, outcomes: Self.outcomes(purchases),
                        acceptLatency: Percentiles(purchases.compactMap(\.acceptedMilliseconds)),
                        outcomeLatency: Percentiles(purchases.compactMap(\.outcomeMilliseconds)))
                )
            }
        }
    }

    private static func outcomes(_ purchases: [Purchase]) -> [String: Int] {
        purchases.reduce(into: [:]) { counts, purchase in
            let state = purchase.state ?? "not accepted"
            counts[purchase.reason.map { "\(state): \($0)" } ?? state, default: 0] += 1
        }
    }

    /// What must not be, a sentence each; empty after a good run.
    var failures: [String] {
        var failures: [String] = []
        let open = purchases.count { !$0.isSettled }
        if open > 0 { failures.append("\(open) genuine purchases have no outcome") }
        let breaches = forgeries.count(where: \.isBreach)
        if breaches > 0 { failures.append("\(breaches) forgeries were taken for genuine") }
        if mismatchedIds > 0 { failures.append("\(mismatchedIds) duplicates got another submission id") }
        return failures
    }
}
