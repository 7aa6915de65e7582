/// What an app tells Apple when a customer asks for a refund.
extension AppStoreServerClient {
    /// Send Consumption Information, version 2: for every type of product; Apple waits twelve hours for it.
    public func sendConsumption(
        _ request: ConsumptionRequest, of transactionId: String, in environment: AppStoreEnvironment
    ) async throws {
        let id = try PathPart.identifier(transactionId, .invalidTransactionId)
        try request.check()
        try await perform(APICall(.put, "v2", "transactions", "consumption", id).json(request), in: environment)
    }

    /// Send Consumption Information, version 1: deprecated, and still the one for Advanced Commerce.
    public func sendConsumptionV1(
        _ request: ConsumptionRequestV1, of transactionId: String, in environment: AppStoreEnvironment
    ) async throws {
        let id = try PathPart.identifier(transactionId, .invalidTransactionId)
        try request.check()
        try await perform(APICall(.put, "v1", "transactions", "consumption", id).json(request), in: environment)
    }
}

/// What became of a purchase (ADP, ConsumptionRequest).
public struct ConsumptionRequest: Encodable, Sendable, Hashable {
    enum Limit {
        /// Thousandths of a per cent.
        static let percentage = 0...100_000
    }

    /// Whether the customer agreed to this being told; without that nothing may be sent, and such a request is refused.
    public var customerConsented: Bool
    /// Whether the customer could try before.
    public var sampleContentProvided: Bool
    /// Whether it was delivered.
    public var deliveryStatus: DeliveryStatus
    /// How much was used, in thousandths of a per cent; not of a subscription that renews; 0 if nothing was delivered.
    public var consumptionPercentage: Int?
    /// What the developer would like.
    public var refundPreference: RefundPreference?

    /// Takes the fields.
    public init(
        customerConsented: Bool, sampleContentProvided: Bool, deliveryStatus: DeliveryStatus,
        consumptionPercentage: Int? = nil, refundPreference: RefundPreference? = nil
    ) {
        self.customerConsented = customerConsented
        self.sampleContentProvided = sampleContentProvided
        self.deliveryStatus = deliveryStatus
        self.consumptionPercentage = consumptionPercentage
        self.refundPreference = refundPreference
    }

    /// The body as it is sent, byte for byte.
    ///
    /// - Throws: ``AppStoreServerError`` when a value cannot be written.
    public func bodyText() throws -> String {
        String(decoding: try APICall.encoded(self), as: UTF8.self)
    }

    func check() throws {
        guard customerConsented else {
            throw AppStoreServerError.refused(.invalidCustomerConsented, "customerConsented: true, or nothing is sent")
        }
        guard let percentage = consumptionPercentage else { return }
        // Apple's pages name these two errors, but not their numbers.
        guard Limit.percentage.contains(percentage) else {
            throw AppStoreServerError.refused(nil, "consumptionPercentage: 0 to 100000")
        }
        guard deliveryStatus == .delivered || percentage == 0 else {
            throw AppStoreServerError.refused(nil, "consumptionPercentage: 0 when nothing was delivered")
        }
    }
}
