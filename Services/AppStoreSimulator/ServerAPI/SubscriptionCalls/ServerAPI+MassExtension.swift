import Hummingbird

extension ServerAPI {
    /// Extend Subscription Renewal Dates for All Active Subscribers, and Get Status of Subscription Renewal Date Extensions.
    func addMassExtensionRoutes(to group: RouterGroup<ServerAPIContext>) {
        limited(group, .massExtendRenewalDate).post("v1/subscriptions/extend/mass") { request, context in
            let app = try context.caller()
            let wanted = try MassExtensionRequest(try await APIBody.object(request))
            try await store.change { state, now in
                try state.request(wanted, app: app, environment: environment, now: now)
            }
            var json = JSONText()
            json.add("requestIdentifier", wanted.fields.requestIdentifier)
            return APIAnswer.json(json.object)
        }
        // Apple names no limit for this one.
        group.get("v1/subscriptions/extend/mass/{productId}/{requestIdentifier}") { _, context in
            let app = try context.caller()
            let productId = try context.pathPart("productId")
            let id = try context.pathPart("requestIdentifier")
            let row = await store.read { $0.massExtensions[id] }
            guard let row, row.bundleId == app.bundleId, row.environment == environment, row.productId == productId
            else { throw APIError.statusRequestNotFound }
            var json = JSONText()
            json.add("requestIdentifier", row.requestIdentifier)
            json.add("complete", row.completeDate != nil)
            if let completeDate = row.completeDate {
                json.add("completeDate", completeDate)
                json.add("succeededCount", row.succeededCount)
                json.add("failedCount", row.failedCount)
            }
            return APIAnswer.json(json.object)
        }
    }
}

/// Apple's `MassExtendRenewalDateRequest`, checked.
struct MassExtensionRequest: Sendable {
    enum Limit {
        /// Storefronts of one request; Apple has some 175.
        static let storefronts = 300
    }

    let fields: ExtensionFields
    let productId: String
    /// ISO 3166-1 alpha-3; empty for all.
    let storefrontCountryCodes: [String]

    /// - Throws: 4000009, 4000010, 4000011, 4000023, 4000027, 4000028.
    init(_ body: [String: JSONValue]) throws(APIError) {
        fields = try ExtensionFields(body)
        guard let productId = body["productId"]?.text, !productId.isEmpty else { throw .invalidProductId }
        self.productId = productId
        guard let codes = body["storefrontCountryCodes"], !codes.isNull else {
            storefrontCountryCodes = []
            return
        }
        guard let list = codes.list, list.count <= Limit.storefronts else { throw .invalidStorefrontCountryCode }
        guard !list.isEmpty else { throw .invalidEmptyStorefrontCountryCodeList }
        let texts = list.compactMap(\.text).filter { code in
            code.utf8.count == 3 && code.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
        }
        guard texts.count == list.count else { throw .invalidStorefrontCountryCode }
        storefrontCountryCodes = texts
    }
}
