import PurchaseModel
import Synchronization

/// How many requests of an account may wait for something at a time: for an outcome, or for a version.
///
/// One more is answered at once with what is known, as where too many wait in all. The studio's backend speaks for many
/// accounts and has no such limit.
final class AccountWaits: Sendable {
    fileprivate struct Account: Hashable {
        let app: String
        let name: String
    }

    /// A request's place among those that wait.
    struct Place: Sendable {
        /// How long it may wait.
        let time: Duration
        fileprivate let account: Account?

        fileprivate init(time: Duration, account: Account? = nil) {
            self.time = time
            self.account = account
        }
    }

    /// Of one account.
    let maximum: Int
    private let waiting = Mutex<[Account: Int]>([:])

    init(maximum: Int) {
        self.maximum = maximum
    }

    /// How many accounts wait for something.
    var accountsCount: Int { waiting.withLock { $0.count } }

    /// A place for a request; must be followed by ``leave(_:)``.
    ///
    /// - Parameter caller: nil for the studio's backend.
    func enter(_ caller: Caller?, wait: Duration) -> Place {
        guard wait > .zero, case .account(let app, let name, _)? = caller else { return Place(time: wait) }
        let account = Account(app: app, name: name.text)
        let isRoom = waiting.withLock { waiting in
            let count = waiting[account, default: 0]
            guard count < maximum else { return false }
            waiting[account] = count + 1
            return true
        }
        guard isRoom else {
            RequestsLimited.count("waits", .hastened)
            return Place(time: .zero)
        }
        return Place(time: wait, account: account)
    }

    /// Gives a place back.
    func leave(_ place: Place) {
        guard let account = place.account else { return }
        waiting.withLock { waiting in
            let count = waiting[account, default: 1] - 1
            waiting[account] = count > 0 ? count : nil
        }
    }
}
