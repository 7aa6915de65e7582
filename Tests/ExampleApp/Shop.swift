import CountersignClientStoreKit
import Foundation

/// The shop of the example app, without its looks: everything an app has to do about purchases.
@MainActor
final class Shop {
    /// What the screen shows.
    struct State: Equatable {
        var products: [StoreProduct] = []
        /// A sentence for the person.
        var message: String?
        var isBusy = false
        /// Purchases that are paid and not delivered yet.
        var pending: [PendingPurchase] = []
    }

    /// What this shop sells.
    static let productIDs: Set<String> = ["gems.100", "castle", "pass.month"]

    private(set) var state = State() {
        didSet { onChange(state) }
    }
    /// Told of every change of the state.
    var onChange: (State) -> Void = { _ in }
    /// Told when the server has granted something: ask your server what the account has now.
    var onGranted: (PurchaseReport) -> Void = { _ in }

    private let queue: PurchaseQueue
    /// Who is logged in, as the screen shows it.
    private(set) var account: String?
    /// Chosen on the app's page in the App Store while nobody was logged in: nothing of it is paid.
    private var promoted: [PromotedPurchase] = []
    private var listening: Task<Void, Never>?

    init(queue: PurchaseQueue) {
        self.queue = queue
    }

    /// Where the journal is: a folder of the app's own, which is in no backup.
    ///
    /// A backup that comes back would bring purchases that were delivered long ago; that does no harm, and is of no use.
    static func journalFolder() throws -> URL {
        let support = try FileManager.default.url(
            for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
        var folder = support.appendingPathComponent("Purchases", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        try folder.setResourceValues(values)
        return folder
    }

    /// Begins, once at launch: from here on nothing that is paid gets lost.
    func start() async {
        let updates = await queue.updates()
        listening = Task { [weak self] in
            for await update in updates { await self?.take(update) }
        }
        await queue.start()
        await loadProducts()
    }

    /// Somebody logged in, or was logged in at launch.
    func logIn(_ account: String) async {
        self.account = account
        await queue.logIn(account)
        await refresh()
        let chosen = promoted
        promoted = []
        // Whoever chose it sees the payment sheet, and says yes or no.
        for choice in chosen { await buy(choice.productID, for: account, offer: choice.offer) }
    }

    /// The person logged out; purchases wait, and nothing is lost.
    func logOut() async {
        account = nil
        await queue.logOut()
        await refresh()
    }

    /// The app came to the foreground.
    func enterForeground() async {
        await queue.enterForeground()
        await refresh()
    }

    /// Asks the App Store for names and prices; what it does not sell is not shown.
    func loadProducts() async {
        do {
            state.products = try await queue.products(Self.productIDs)
        } catch {
            state.message = "The shop cannot be opened. Try again later."
        }
    }

    /// Buys what somebody chose on the app's page in the App Store, now or after the log-in.
    func buyPromoted(_ choice: PromotedPurchase) async {
        if let account { return await buy(choice.productID, for: account, offer: choice.offer) }
        if !promoted.contains(where: { $0.productID == choice.productID }) { promoted.append(choice) }
        state.message = "Please log in to buy what you chose in the App Store."
    }

    /// Buys something.
    ///
    /// - Parameter buyer: who was logged in when the button was pressed, read before any `Task` begins.
    func buy(_ productID: String, for buyer: String?, offer: SubscriptionOffer? = nil) async {
        guard let buyer else {
            state.message = PurchaseError(.accountRequired, "nobody is logged in").localizedDescription
            return
        }
        state.isBusy = true
        defer { state.isBusy = false }
        do {
            let result = try await queue.purchase(productID, for: buyer, offer: offer)
            state.message = Self.sentence(about: result)
            // What the call returns, `updates()` does not tell once more.
            if case .settled(let report) = result { tellGranted(report) }
        } catch {
            // `errorDescription` says whether the person was charged.
            state.message = error.localizedDescription
        }
        await refresh()
    }

    /// The button that App Review asks for, where something lasts.
    ///
    /// - Parameter asker: who was logged in when it was pressed.
    func restore(for asker: String?) async {
        guard let asker else {
            state.message = PurchaseError(.accountRequired, "nobody is logged in").localizedDescription
            return
        }
        state.isBusy = true
        defer { state.isBusy = false }
        do {
            let result = try await queue.restore(for: asker)
            result.reports.forEach(tellGranted)
            state.message =
                result.reports.isEmpty
                ? "There is nothing to restore." : "\(result.grantedCount) of \(result.reports.count) restored."
        } catch is CancellationError {
            state.message = nil
        } catch {
            state.message = error.localizedDescription
        }
        await refresh()
    }

    private func take(_ update: PurchaseUpdate) async {
        switch update {
        case .paid(let report): state.message = Self.sentence(aboutPaid: report)
        case .report(let report):
            tellGranted(report)
            state.message = Self.sentence(about: report) ?? state.message
        case .credentialsRefused: state.message = "Please log in again, so that your purchases can be delivered."
        case .serverUnavailable: state.message = "Purchases will be delivered when the shop can be reached."
        case .serverAvailable: state.message = nil
        case .journalUnavailable(let error): state.message = error.localizedDescription
        }
        await refresh()
    }

    private func tellGranted(_ report: PurchaseReport) {
        if report.outcome == .granted { onGranted(report) }
    }

    private func refresh() async {
        state.pending = await queue.pending()
    }

    private static func sentence(about result: PurchaseResult) -> String? {
        switch result {
        case .settled(let report): sentence(about: report)
        case .processing: "Thank you. It is paid, and will be here in a moment."
        case .pending: "It has to be approved first."
        case .cancelled: nil
        case .earlierPurchase(let report) where report.outcome == .belongsToAnother:
            "You were not charged: this Apple Account has it already, for another account of this game."
        case .earlierPurchase: "You have bought this before, and were not charged again."
        }
    }

    private static func sentence(aboutPaid report: PurchaseReport) -> String {
        report.occasion == .bought ? "It is paid, and being checked." : "An earlier purchase is being delivered."
    }

    private static func sentence(about report: PurchaseReport) -> String? {
        switch report.outcome {
        case .granted: "Thank you. You have it."
        case .held: "It is paid, and somebody is looking at it. Write to us with \(report.transactionID)."
        case .belongsToAnother: "This purchase belongs to another account, which has it."
        case .refused: "The shop does not know this purchase. Write to us with \(report.transactionID)."
        case .processing(.account(let name?)): "A purchase waits for \(name) to log in."
        case .processing(.account(nil)): "Log in to get what was bought."
        case .processing(.claim): "A purchase waits for you to say that it is yours."
        case .processing(.legacyName):
            "A purchase of an earlier version waits. Write to us with \(report.transactionID)."
        case .processing(.journal): "Purchases are delivered once this device is unlocked."
        case .processing(.server): nil
        }
    }
}
