import AppStoreServerAPI
import PurchaseModel
import ServiceRuntime

/// Which transaction has an id: Get Transaction Info.
struct TransactionQuestion: LookupQuestion {
    let transactionId: String
    /// Where it is looked for, whatever the order.
    let environments: Set<AppStoreEnvironment>

    func ask(_ apple: LookupCalls, for asker: Asker, patience: Duration) async -> LookupFinding<Transaction> {
        let id = transactionId
        for environment in asker.order where environments.contains(environment) {
            let outcome = await apple.serverAPI(environment, for: asker, patience: patience) {
                try await $0.transactionInfo(id, in: environment)
            }
            switch outcome {
            case .answer(let answer):
                let checked = await apple.answers.transaction(
                    answer.signedTransactionInfo, of: asker.app, in: environment, named: id)
                switch checked {
                case .success(let transaction): return .found(transaction)
                case .failure(let refusal): return .stated(refusal.verdict)
                }
            case .later(let reason, let seconds): return .unknown(reason, after: seconds)
            case .refused(let error):
                if let finding = finding(about: error, apple, for: asker, in: environment) { return finding }
            }
        }
        return .notFound
    }

    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    /// What an error means; nil when the next environment is to be asked.
    private func finding(
        about error: AppStoreServerError, _ apple: LookupCalls, for asker: Asker, in environment: AppStoreEnvironment
    ) -> LookupFinding<Transaction>? {
        let refusal = TransactionRefusal(error)
        switch refusal {
        case .notHere: return nil
        // Production knows no key of an app that was never released; its transactions are all in the sandbox.
        case .unauthorized where environment == .production && !asker.app.isReleased: return nil
        case .gone: return .notFound
        // All of Apple's ids are numbers: that this one is none is Apple's word of today.
        case .invalidId where transactionId.utf8.allSatisfy(Self.digits.contains): return nil
        case .invalidId: return .stated(.rejected(.transactionIdInvalid, detail: "it cannot be a transaction id"))
        case .unauthorized, .passing, .misunderstood:
            return .stated(apple.answers.verdict(about: error, refusal, of: asker.app))
        }
    }
}
