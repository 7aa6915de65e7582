/// The rules of retention messaging: what may be uploaded, used and deleted (Apple, Retention Messaging API).
///
/// Everything belongs to an app and an environment. Each function throws an ``APIError`` before it changes anything.
extension StoreState {
    enum RetentionLimit {
        /// Images of an app, and messages of an app (Apple, Upload Image and Upload Message).
        static let images = 2_000
        static let messages = 2_000
        /// Performance tests that are kept for an app; beyond that the oldest go.
        static let performanceTests = 100
    }

    mutating func uploadImage(_ image: RetentionImage, of bundleId: String, in environment: StoreEnvironment) throws {
        let images = retentionItems(RetentionImage.self, of: bundleId, in: environment)
        guard !images.contains(where: { $0.key == image.key }) else { throw APIError.imageAlreadyExists }
        guard images.count < RetentionLimit.images else { throw APIError.maximumNumberOfImagesReached }
        try putRetention(image, of: bundleId, in: environment)
    }

    mutating func deleteImage(_ identifier: String, of bundleId: String, in environment: StoreEnvironment) throws {
        guard retentionItem(RetentionImage.self, identifier, of: bundleId, in: environment) != nil else {
            throw APIError.imageNotFound
        }
        let messages = retentionItems(RetentionMessage.self, of: bundleId, in: environment)
        guard !messages.contains(where: { $0.content.images.contains { $0.identifier == identifier } }) else {
            throw APIError.imageInUse
        }
        removeRetention(RetentionImage.self, identifier, of: bundleId, in: environment)
    }

    mutating func uploadMessage(
        _ message: RetentionMessage, of bundleId: String, in environment: StoreEnvironment
    ) throws {
        let messages = retentionItems(RetentionMessage.self, of: bundleId, in: environment)
        guard !messages.contains(where: { $0.key == message.key }) else { throw APIError.messageAlreadyExists }
        guard messages.count < RetentionLimit.messages else { throw APIError.maximumNumberOfMessagesReached }
        for (identifier, size) in message.content.images {
            guard let image = retentionItem(RetentionImage.self, identifier, of: bundleId, in: environment) else {
                throw APIError.imageNotFound
            }
            guard image.size == size else { throw APIError.badImageSize }
        }
        try putRetention(message, of: bundleId, in: environment)
    }

    /// Deletes a message, and where it was a default: a message that is gone cannot be shown.
    mutating func deleteMessage(_ identifier: String, of bundleId: String, in environment: StoreEnvironment) throws {
        guard retentionItem(RetentionMessage.self, identifier, of: bundleId, in: environment) != nil else {
            throw APIError.messageNotFound
        }
        for row in retentionItems(RetentionDefault.self, of: bundleId, in: environment)
        where row.messageIdentifier == identifier {
            removeRetention(RetentionDefault.self, row.key, of: bundleId, in: environment)
        }
        removeRetention(RetentionMessage.self, identifier, of: bundleId, in: environment)
    }

    mutating func configureDefault(
        _ row: RetentionDefault, of bundleId: String, in environment: StoreEnvironment, now: Int64
    ) throws {
        try checkDefault(row.productId, row.locale, of: bundleId)
        guard
            let message = retentionItem(RetentionMessage.self, row.messageIdentifier, of: bundleId, in: environment)
        else { throw APIError.messageNotFound }
        guard message.state(in: environment, now: now) == .approved else { throw APIError.messageNotApproved }
        guard areImagesApproved(message, of: bundleId, in: environment, now: now) else {
            throw APIError.imageNotApproved
        }
        try putRetention(row, of: bundleId, in: environment)
    }

    /// A default message is for a subscription of the app, in a locale.
    func checkDefault(_ productId: String, _ locale: String, of bundleId: String) throws {
        let product = products[ProductRecord.key(bundleId, productId)]
        guard product?.type == .autoRenewableSubscription else { throw APIError.invalidProductId }
        guard RetentionIdentifier.isLocale(locale) else { throw APIError.invalidLocale }
    }

    /// Sets where real-time requests go; production wants a performance test that was passed.
    mutating func configureRealtimeURL(_ url: String, of bundleId: String, in environment: StoreEnvironment) throws {
        guard environment == .sandbox || hasPassedPerformanceTest(bundleId) else {
            throw APIError.noPassingPerformanceTest
        }
        try putRetention(RetentionURL(realtimeURL: url), of: bundleId, in: environment)
    }

    /// Decides about images and messages with this identifier, in these environments.
    ///
    /// - Returns: how many there were.
    mutating func reviewRetention(
        _ identifier: String, _ state: RetentionState, bundleId: String?, environments: [StoreEnvironment]
    ) throws -> Int {
        var count = 0
        for app in bundleId.map({ [$0] }) ?? Array(apps.rows.keys) {
            for environment in environments {
                if var image = retentionItem(RetentionImage.self, identifier, of: app, in: environment) {
                    image.review = state
                    try putRetention(image, of: app, in: environment)
                    count += 1
                }
                if var message = retentionItem(RetentionMessage.self, identifier, of: app, in: environment) {
                    message.review = state
                    try putRetention(message, of: app, in: environment)
                    count += 1
                }
            }
        }
        return count
    }

    /// Whether a message can be shown: it is approved, and so is each of its images.
    func canShow(
        _ messageIdentifier: String, of bundleId: String, in environment: StoreEnvironment, now: Int64
    ) -> Bool {
        guard let message = retentionItem(RetentionMessage.self, messageIdentifier, of: bundleId, in: environment)
        else { return false }
        return message.state(in: environment, now: now) == .approved
            && areImagesApproved(message, of: bundleId, in: environment, now: now)
    }

    private func areImagesApproved(
        _ message: RetentionMessage, of bundleId: String, in environment: StoreEnvironment, now: Int64
    ) -> Bool {
        message.content.images.allSatisfy { identifier, _ in
            retentionItem(RetentionImage.self, identifier, of: bundleId, in: environment)?
                .state(in: environment, now: now) == .approved
        }
    }

    private func hasPassedPerformanceTest(_ bundleId: String) -> Bool {
        StoreEnvironment.allCases.contains { environment in
            retentionItems(PerformanceTest.self, of: bundleId, in: environment).contains { $0.outcome?.passed == true }
        }
    }
}
