#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What happens to the queue.
enum QueueEvent: Sendable {
    /// An account wants to buy; the payment sheet opens once this is saved.
    case intentOpened(PurchaseIntent)
    /// Its payment sheet closed without a transaction.
    case intentEnded(UUID, PurchaseIntent.State)
    /// It could not be saved, and no payment sheet opened.
    case intentDropped(UUID)
    /// The store gave a transaction; `ordered` is the intent of the payment sheet that gave it.
    case seen(StoreTransaction, ordered: UUID?)
    /// The store gave a transaction because this account's player asked to restore.
    case restored(StoreTransaction, asker: String)
    /// The payment sheet of this account gave a transaction that it did not sell.
    case givenAgain(StoreTransaction, asker: String)
    /// The person wants a purchase to be tried again now.
    case retried(String)
    /// The journal, which could not be read at launch, was read.
    case journalRead([JournalRecord])
    /// The person says that a purchase is the account's that is logged in.
    case claimed(String)
    case loggedIn(String)
    case loggedOut
    /// A post ended.
    case posted(PurchaseKey, PostResult)
    /// The store was told that a transaction is finished, or could not be.
    case finished(PurchaseKey, isDone: Bool)
    /// A timer ended.
    case elapsed(QueueTimer)
    /// The network is there again.
    case woken
    /// The app came to the foreground.
    case broughtForward
}

/// What the queue does next.
enum QueueAction: Hashable, Sendable {
    case write(JournalRecord)
    case post(PurchaseKey, PostOrder)
    case finish(PurchaseKey, StoreTransaction)
    case wait(QueueTimer, QueueWait)
    case tell(PurchaseUpdate)
    /// For whoever waits for this transaction alone: nothing of it is news.
    case inform(PurchaseReport)
    case log(QueueLogLine)
}

/// What is to be posted.
struct PostOrder: Hashable, Sendable {
    let transaction: StoreTransaction
    /// Who posts.
    let account: String
    /// The submission to ask about; nil to post the proof.
    let submissionID: String?
    /// Whether to post the transaction's number and no receipt: Apple's data says whose it is, and possession must not.
    let isNumberOnly: Bool
    /// Whether a new receipt may be asked for, since the person is waiting.
    let isRefreshing: Bool
}

/// A timer of the machine.
///
/// One that is of an older number means nothing any more.
struct QueueTimer: Hashable, Sendable {
    let subject: Subject
    let number: Int

    enum Subject: Hashable, Sendable {
        /// The pause of all requests.
        case pause
        /// When to look at a purchase again.
        case purchase(PurchaseKey)
        /// When to try the credentials again.
        case credentials
    }
}

/// How long a timer runs; whoever runs it adds chance, so that devices do not come all at once.
enum QueueWait: Hashable, Sendable {
    /// The n-th pause after failures, from 1; and at least so many seconds, where the server said so.
    case backOff(Int, atLeast: Double)
    /// The n-th time that something is held, from 1.
    case hold(Int)
}

/// How a post ended.
enum PostResult: Hashable, Sendable {
    case answered(PurchaseAnswer)
    case failed(PostFailure)
}

/// Why there is no answer to a post.
enum PostFailure: Error, Hashable, Sendable {
    /// No answer, a 5xx, or an answer that is none.
    case unavailable(String, retryAfter: Double?)
    /// 429: too many requests of the account.
    case limited(retryAfter: Double?)
    /// The server refused the account's token twice, or the account in it is another.
    case credentialsRefused(String)
    /// There is no token for the account now.
    case credentialsMissing
    /// The server knows no such submission.
    case submissionUnknown
    /// The server will not take this request, however often it is sent.
    case refused(problem: String, detail: String)
}

/// The server's answer about a purchase.
struct PurchaseAnswer: Hashable, Sendable {
    /// The submission's id.
    let id: String
    /// `received`, `fulfilled`, `rejected`, `parked`, or a word of a later server.
    let state: String
    /// Whether the transaction may be finished.
    let isFinish: Bool
    let reason: String?
    /// After how many seconds to ask again.
    let retryAfter: Double?

    init(id: String, state: String, isFinish: Bool, reason: String? = nil, retryAfter: Double? = nil) {
        self.id = id
        self.state = state
        self.isFinish = isFinish
        self.reason = reason
        self.retryAfter = retryAfter
    }

    /// What it means for the app.
    var outcome: PurchaseOutcome {
        switch (state, reason) {
        case ("received", _): .processing(.server)
        case ("rejected", "belongs_to_another_account") where isFinish: .belongsToAnother
        case ("rejected", let reason): .refused(reason: reason ?? "rejected")
        case ("fulfilled", "revoked_by_apple"): .refused(reason: "revoked_by_apple")
        case ("fulfilled", _): .granted
        case (let state, let reason): .held(reason: reason ?? state)
        }
    }
}
