import HTTPTypes
import PurchaseModel
import ServiceRuntime

/// How often a player may ask for what.
///
/// The studio's backend may as often as it likes.
struct AccountLimits: Sendable {
    /// Proofs of any kind.
    let posts: AccountRate
    /// Ids about which Apple has to be asked: an unknown one costs a dozen calls of the app's budget.
    let ids: AccountRate
    /// What is read from the database.
    let reads: AccountRate

    init(postsPerMinute: Int, idsPerMinute: Int, readsPerMinute: Int) {
        posts = AccountRate(perMinute: postsPerMinute)
        ids = AccountRate(perMinute: idsPerMinute)
        reads = AccountRate(perMinute: readsPerMinute)
    }

    /// Takes a turn for a proof, before anything is written.
    ///
    /// - Throws: `ProblemDetails`, 429.
    func admit(_ proof: PurchaseProof, from caller: Caller) throws {
        switch proof {
        case .transactionId, .orderId: try take("ids", of: ids, caller)
        case .signedTransaction, .receipt: break
        }
        try take("posts", of: posts, caller)
    }

    /// Takes a turn for something that is read.
    ///
    /// - Throws: `ProblemDetails`, 429.
    func admitReading(by caller: Caller) throws {
        try take("reads", of: reads, caller)
    }

    private func take(_ name: String, of rate: AccountRate, _ caller: Caller) throws {
        guard case .account(let app, let account, _) = caller else { return }
        do throws(AccountRate.Exceeded) {
            try rate.take(app: app, account: account.text)
        } catch {
            throw ProblemDetails.rateLimited(name, perMinute: rate.perMinute, wait: error.wait)
        }
    }
}

extension ProblemDetails {
    /// 429 with the headers of draft-ietf-httpapi-ratelimit-headers-10; the app asks again, and nothing is lost.
    static func rateLimited(_ name: String, perMinute: Int, wait: Duration) -> ProblemDetails {
        let seconds = wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)
        return ProblemDetails(
            "rate-limited", title: "The account asks too often", status: .tooManyRequests,
            detail: "A player may have \(perMinute) \(name) a minute. Nothing is lost: do not finish a transaction "
                + "that was posted, and send the same request again."
        )
        .with(header: .retryAfter, "\(seconds)")
        .with(header: .rateLimitPolicy, "\"\(name)\";q=\(perMinute);w=\(AccountRate.Limit.window.components.seconds)")
        .with(header: .rateLimit, "\"\(name)\";r=0;t=\(seconds)")
    }
}

extension HTTPField.Name {
    static var rateLimitPolicy: HTTPField.Name { rateLimitPolicyName }
    static var rateLimit: HTTPField.Name { rateLimitName }
}

private let rateLimitPolicyName = fieldName("RateLimit-Policy")
private let rateLimitName = fieldName("RateLimit")

private func fieldName(_ text: String) -> HTTPField.Name {
    guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is a field name") }
    return name
}
