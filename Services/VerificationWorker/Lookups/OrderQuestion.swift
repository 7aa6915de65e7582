import AppStoreServerAPI
import PurchaseModel
import ServiceRuntime

/// Which transactions an order has, by the id in Apple's e-mail: Look Up Order ID.
///
/// Only production is asked. The call does not exist in the sandbox, which answers it with nothing at all (Apple's page Look
/// Up Order ID; agisboye/app-store-server-api#17): to the breaker, that would be a broken host. Nobody gets an e-mail
/// about a sandbox purchase either.
struct OrderQuestion: LookupQuestion {
    /// Orders that are asked about at a time: at Apple's ten a second, more would only wait.
    static let flightsMaximum = 64
    /// Orders that are remembered.
    static let rememberedMaximum = 1_000
    /// Transactions of an order; whatever has more is not one customer's shopping.
    static let transactionsMaximum = 500

    let orderId: String

    func ask(_ apple: LookupCalls, for asker: Asker, patience: Duration) async -> LookupFinding<[Transaction]> {
        let id = orderId
        let outcome = await apple.serverAPI(.production, for: asker, callClass: .orders, patience: patience) {
            try await $0.lookUpOrder(id, in: .production)
        }
        switch outcome {
        case .answer(let answer): return await checked(answer, apple, for: asker)
        case .later(let reason, let seconds): return .unknown(reason, after: seconds)
        case .refused(let error): return finding(about: error, apple, for: asker)
        }
    }

    /// What an error means.
    ///
    /// Apple documents none for an id that is not known (status 1 says so); one that says it all the same means the same.
    private func finding(
        about error: AppStoreServerError, _ apple: LookupCalls, for asker: Asker
    ) -> LookupFinding<[Transaction]> {
        let refusal = TransactionRefusal(error)
        switch refusal {
        case .notHere, .gone, .invalidId: return .notFound
        // Nobody could buy in production what was never released.
        case .unauthorized where !asker.app.isReleased: return .notFound
        // The order id is all that the request says: what is wrong with it is the id; so is one that was not sent.
        case .misunderstood where error.category == .invalidRequest && [nil, .generalBadRequest].contains(error.code):
            return .notFound
        case .unauthorized, .passing, .misunderstood:
            return .stated(apple.answers.verdict(about: error, refusal, of: asker.app))
        }
    }

    /// The transactions of an order, when each of them is what Apple says; of half an order nothing is concluded.
    private func checked(
        _ answer: OrderLookupResponse, _ apple: LookupCalls, for asker: Asker
    ) async -> LookupFinding<[Transaction]> {
        func mismatch(_ message: String) -> LookupFinding<[Transaction]> {
            apple.answers.attention.raise(.answerMismatch, app: asker.app.bundleId, message)
            return .stated(ServerAnswers.mismatch)
        }
        switch answer.status {
        case .valid where answer.signedTransactions.count > Self.transactionsMaximum:
            return mismatch("an order of the App Store has more transactions than an order can have")
        case .valid: break
        case .invalid: return .notFound
        default: return mismatch("an answer about an order has a status that nobody knows")
        }
        var found: [Transaction] = []
        for jws in answer.signedTransactions {
            switch await apple.answers.transaction(jws, of: asker.app, in: .production, named: nil) {
            case .success(let transaction): found.append(transaction)
            case .failure(let refusal): return .stated(refusal.verdict)
            }
        }
        return found.isEmpty ? .notFound : .found(found)
    }
}
