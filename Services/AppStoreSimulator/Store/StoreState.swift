import Foundation

/// Everything that the store knows.
///
/// Pure: it is told the time, and does no input or output. A record is changed by reading it, changing the copy and ``put(_:)`` ting it back; that keeps the indices, and the
/// journal learns of it. What it can do is in extensions, one file a subject.
struct StoreState: Sendable {
    enum Limit {
        /// Transactions that are kept; a sale beyond that is refused.
        static let transactions = 2_000_000
        /// Notifications that are kept; beyond that the oldest go.
        static let notifications = 500_000
    }

    private(set) var apps = Table<AppRecord>()
    private(set) var products = Table<ProductRecord>()
    private(set) var accounts = Table<AccountRecord>()
    private(set) var devices = Table<DeviceRecord>()
    private(set) var downloads = Table<DownloadRecord>()
    private(set) var deferredPurchases = Table<DeferredPurchaseRecord>()
    private(set) var transactions = Table<TransactionRecord>()
    private(set) var subscriptions = Table<SubscriptionRecord>()
    private(set) var refundRequests = Table<RefundRequestRecord>()
    private(set) var consumptionAnswers = Table<ConsumptionAnswerRecord>()
    private(set) var notifications = Table<NotificationRecord>()
    private(set) var externalPurchases = Table<ExternalPurchaseRecord>()
    private(set) var massExtensions = Table<MassExtensionRecord>()
    private(set) var settings = Table<SettingRecord>()
    private(set) var offerNonces = Table<OfferNonceRecord>()

    /// Transaction ids by original transaction id, oldest first.
    private(set) var lineages: [String: [String]] = [:]
    /// Transaction ids by ``DownloadRecord/key(_:_:_:)``, oldest first.
    private(set) var holdings: [String: [String]] = [:]
    /// Ids of a purchase's further transactions by the id of its first, oldest first; nothing of a purchase with one id.
    private(set) var furtherTransactions: [String: [String]] = [:]
    /// Device ids by what the devices call themselves to apps.
    private(set) var devicesByVendor: [UUID: String] = [:]
    /// Transaction ids by order id.
    private(set) var orders: [String: [String]] = [:]
    /// Original transaction ids of subscriptions by `ProductRecord`'s key of what they run or renew to.
    private(set) var subscribers: [String: Set<String>] = [:]
    /// Notification UUIDs by environment and bundle id, oldest first: `Production/com.example.game`.
    private(set) var notificationLog: [String: [String]] = [:]
    /// Download keys by app transaction id.
    private(set) var downloadKeys: [String: String] = [:]
    var due = DueQueue()

    /// Signs what notifications carry.
    let signer: PayloadSigner

    init(signer: PayloadSigner) {
        self.signer = signer
    }

    // MARK: Putting records back

    mutating func put(_ row: AppRecord) { apps.put(row) }
    mutating func put(_ row: ProductRecord) { products.put(row) }
    mutating func put(_ row: AccountRecord) { accounts.put(row) }
    mutating func put(_ row: DeferredPurchaseRecord) { deferredPurchases.put(row) }
    mutating func removeDeferredPurchase(_ id: String) { deferredPurchases.remove(id) }
    mutating func put(_ row: ConsumptionAnswerRecord) { consumptionAnswers.put(row) }
    mutating func put(_ row: SettingRecord) { settings.put(row) }
    mutating func put(_ row: OfferNonceRecord) { offerNonces.put(row) }
    mutating func removeOfferNonce(_ id: String) { offerNonces.remove(id) }

    mutating func put(_ row: DeviceRecord) {
        if let old = devices[row.id].flatMap({ UUID(uuidString: $0.vendorIdentifier) }) { devicesByVendor[old] = nil }
        devices.put(row)
        index(row)
    }

    mutating func put(_ row: DownloadRecord) {
        downloads.put(row)
        downloadKeys[row.appTransactionId] = row.id
    }

    /// Puts a transaction back and gives it the next revision.
    mutating func put(_ row: TransactionRecord, now: Int64) {
        var row = row
        row.revision = nextNumber(.revision)
        row.modifiedDate = now
        let old = transactions[row.id]
        transactions.put(row)
        guard let old else { return index(row) }
        guard old.originalTransactionId != row.originalTransactionId else { return }
        lineages[old.originalTransactionId]?.removeAll { $0 == row.id }
        lineages[row.originalTransactionId, default: []].append(row.id)
    }

    mutating func put(_ row: SubscriptionRecord) {
        if let old = subscriptions[row.id] { unindex(old) }
        subscriptions.put(row)
        index(row)
    }

    mutating func removeSubscription(_ id: String) {
        if let old = subscriptions[id] { unindex(old) }
        subscriptions.remove(id)
    }

    mutating func put(_ row: RefundRequestRecord) {
        refundRequests.put(row)
        if let date = row.nextRequestDate { due.push(.refundRequest(row.id), at: date) }
    }

    mutating func put(_ row: NotificationRecord) {
        let isNew = notifications[row.id] == nil
        notifications.put(row)
        if isNew { notificationLog[Self.logKey(row.bundleId, row.environment), default: []].append(row.id) }
        if let date = row.nextAttemptDate { due.push(.notification(row.id), at: date) }
    }

    mutating func put(_ row: ExternalPurchaseRecord) {
        externalPurchases.put(row)
        if let date = row.nextNoticeDate { due.push(.externalPurchase(row.id), at: date) }
    }

    mutating func put(_ row: MassExtensionRecord) {
        massExtensions.put(row)
        if let date = row.dueDate { due.push(.massExtension(row.id), at: date) }
    }

    /// Forgets the first of a log, see ``logKey(_:_:)``.
    mutating func removeOldestNotifications(_ count: Int, of logKey: String) {
        for id in notificationLog[logKey, default: []].prefix(count) { notifications.remove(id) }
        notificationLog[logKey]?.removeFirst(count)
    }

    static func logKey(_ bundleId: String, _ environment: StoreEnvironment) -> String {
        "\(environment.rawValue)/\(bundleId)"
    }

    // MARK: Numbers

    /// The numbers that are counted up.
    enum Counter: String {
        case transactionId
        case revision
        case sequence
    }

    /// The next of a number; the first transaction id has 16 digits, as Apple's have had since 2021.
    mutating func nextNumber(_ counter: Counter) -> Int64 {
        let first: Int64 = counter == .transactionId ? Self.firstTransactionId : 1
        let next = numbers[counter, default: first]
        numbers[counter] = next + 1
        return next
    }

    static let firstTransactionId: Int64 = 2_000_000_000_000_001
    /// What comes next, by counter; kept by the journal in blocks.
    var numbers: [Counter: Int64] = [:]

    // MARK: The journal's side

    /// Takes rows back from the journal.
    mutating func load(_ change: JournalChange, decoder: JSONDecoder) throws {
        func row<Row: Decodable>(_ type: Row.Type) throws -> Row? {
            try change.row.map { try decoder.decode(Row.self, from: $0) }
        }
        switch change.table {
        case .apps: apps.load(change.id, try row(AppRecord.self))
        case .products: products.load(change.id, try row(ProductRecord.self))
        case .accounts: accounts.load(change.id, try row(AccountRecord.self))
        case .devices: devices.load(change.id, try row(DeviceRecord.self))
        case .downloads: downloads.load(change.id, try row(DownloadRecord.self))
        case .deferredPurchases: deferredPurchases.load(change.id, try row(DeferredPurchaseRecord.self))
        case .transactions: transactions.load(change.id, try row(TransactionRecord.self))
        case .subscriptions: subscriptions.load(change.id, try row(SubscriptionRecord.self))
        case .refundRequests: refundRequests.load(change.id, try row(RefundRequestRecord.self))
        case .consumptionAnswers: consumptionAnswers.load(change.id, try row(ConsumptionAnswerRecord.self))
        case .notifications: notifications.load(change.id, try row(NotificationRecord.self))
        case .externalPurchases: externalPurchases.load(change.id, try row(ExternalPurchaseRecord.self))
        case .massExtensions: massExtensions.load(change.id, try row(MassExtensionRecord.self))
        case .settings: settings.load(change.id, try row(SettingRecord.self))
        case .offerNonces: offerNonces.load(change.id, try row(OfferNonceRecord.self))
        }
    }

    /// What changed since the last call, for the journal; or every row.
    mutating func takeChanges(all: Bool = false, encoder: JSONEncoder) throws -> [JournalChange] {
        var changes: [JournalChange] = []
        func take<Row>(
            _ table: inout Table<Row>, _ name: JournalChange.Table, as encoded: ((Row) -> Data)? = nil
        ) throws {
            let ids = all ? Array(table.rows.keys) : Array(table.changed)
            for id in ids {
                let row = try table[id].map { try encoded?($0) ?? encoder.encode($0) }
                changes.append(JournalChange(table: name, id: id, row: row))
            }
            table.forgetChanges()
        }
        try take(&apps, .apps)
        try take(&products, .products)
        try take(&accounts, .accounts)
        try take(&devices, .devices)
        try take(&downloads, .downloads)
        try take(&deferredPurchases, .deferredPurchases)
        try take(&transactions, .transactions) { Data($0.journalText.utf8) }
        try take(&subscriptions, .subscriptions)
        try take(&refundRequests, .refundRequests)
        try take(&consumptionAnswers, .consumptionAnswers)
        try take(&notifications, .notifications)
        try take(&externalPurchases, .externalPurchases)
        try take(&massExtensions, .massExtensions)
        try take(&settings, .settings)
        try take(&offerNonces, .offerNonces)
        return changes
    }

    /// For a store without a journal.
    mutating func forgetChanges() {
        transactions.forgetChanges()
        subscriptions.forgetChanges()
        notifications.forgetChanges()
    }

    /// Makes the indices anew, after everything was loaded.
    mutating func reindex() {
        for row in transactions.rows.values.sorted(by: { $0.revision < $1.revision }) { index(row) }
        // The order in which they were bought, not the one in which they changed last.
        for key in lineages.keys { lineages[key]?.sort(by: Self.isOlder) }
        for key in holdings.keys { holdings[key]?.sort(by: Self.isOlder) }
        for key in furtherTransactions.keys { furtherTransactions[key]?.sort(by: Self.isOlder) }
        for row in devices.rows.values { index(row) }
        for row in subscriptions.rows.values { index(row) }
        for row in downloads.rows.values { downloadKeys[row.appTransactionId] = row.id }
        for row in notifications.rows.values.sorted(by: { $0.sequence < $1.sequence }) {
            notificationLog[Self.logKey(row.bundleId, row.environment), default: []].append(row.id)
            if let date = row.nextAttemptDate { due.push(.notification(row.id), at: date) }
        }
        for row in refundRequests.rows.values {
            if let date = row.nextRequestDate { due.push(.refundRequest(row.id), at: date) }
        }
        for row in externalPurchases.rows.values {
            if let date = row.nextNoticeDate { due.push(.externalPurchase(row.id), at: date) }
        }
        for row in massExtensions.rows.values {
            if let date = row.dueDate { due.push(.massExtension(row.id), at: date) }
        }
        let revision = transactions.rows.values.lazy.map(\.revision).max() ?? 0
        numbers[.revision] = max(numbers[.revision] ?? 1, revision + 1)
        let sequence = notifications.rows.values.lazy.map(\.sequence).max() ?? 0
        numbers[.sequence] = max(numbers[.sequence] ?? 1, sequence + 1)
    }

    /// Transaction ids are counted up, and have equal lengths or the longer is the later.
    private static func isOlder(_ left: String, _ right: String) -> Bool {
        (left.utf8.count, left) < (right.utf8.count, right)
    }

    private mutating func index(_ row: TransactionRecord) {
        lineages[row.originalTransactionId, default: []].append(row.id)
        holdings[DownloadRecord.key(row.bundleId, row.accountId, row.environment), default: []].append(row.id)
        orders[row.orderId, default: []].append(row.id)
        if let first = row.firstTransactionId { furtherTransactions[first, default: []].append(row.id) }
    }

    private mutating func index(_ row: DeviceRecord) {
        if let vendor = UUID(uuidString: row.vendorIdentifier) { devicesByVendor[vendor] = row.id }
    }

    private mutating func index(_ row: SubscriptionRecord) {
        for product in [row.productId, row.autoRenewProductId] {
            subscribers[ProductRecord.key(row.bundleId, product), default: []].insert(row.id)
        }
        if let date = row.dueDate { due.push(.subscription(row.id), at: date) }
    }

    private mutating func unindex(_ row: SubscriptionRecord) {
        for product in [row.productId, row.autoRenewProductId] {
            subscribers[ProductRecord.key(row.bundleId, product)]?.remove(row.id)
        }
    }
}

/// A value that is kept: the clock, the numbers that were handed out.
struct SettingRecord: Codable, Sendable, Identifiable {
    var id: String
    var clock: VirtualClock.Setting?
    var number: Int64?
}
