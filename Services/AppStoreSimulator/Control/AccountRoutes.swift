import Foundation
import HTTPTypes
import Hummingbird

/// Apple IDs and devices, and the proof that an account downloaded an app.
struct AccountRoutes: Sendable {
    let store: Store
    let signer: PayloadSigner

    func addRoutes(to group: RouterGroup<BasicRequestContext>) {
        group.put("accounts/{id}") { request, context in
            let id = try context.parameters.require("id")
            let body = try await ControlBody.decode(AccountRequest.self, from: request)
            return try ControlAnswer.encoded(
                try await store.change { state, now in
                    try body.put(id, in: &state, now: now)
                })
        }
        group.get("accounts/{id}") { _, context in
            let id = try context.parameters.require("id")
            return try ControlAnswer.encoded(await store.read { $0.account(id) })
        }
        group.put("devices/{id}") { request, context in
            let id = try context.parameters.require("id")
            let body = try await ControlBody.decode(DeviceRequest.self, from: request)
            return try ControlAnswer.encoded(try await store.change { state, _ in try body.put(id, in: &state) })
        }
        group.get("app-transactions") { request, _ in
            let query = request.uri.queryParameters
            guard let bundleId = query.get("bundleId"), let account = query.get("account") else {
                throw Problem(.badRequest, "bundleId, account: missing")
            }
            return try await appTransaction(
                bundleId: bundleId, account: account, device: query.get("device"),
                environment: try FieldCheck.environment(query.get("environment")))
        }
    }

    private func appTransaction(
        bundleId: String, account: String, device: String?, environment: StoreEnvironment
    ) async throws -> Response {
        let payload = try await store.change { state, now in
            let app = try state.apps.required(bundleId, "app")
            let download = state.download(
                bundleId: bundleId, accountId: account, environment: environment, now: now)
            return download.appTransaction(
                app: app, device: device.flatMap { state.devices[$0] }, signedDate: now)
        }
        var json = JSONText()
        json.add("signedAppTransaction", try signer.sign(payload))
        return ControlAnswer.json(json.object)
    }
}

/// The body of `PUT accounts/{id}`: what is left out stays as it is.
private struct AccountRequest: Decodable, Sendable {
    var storefront: String?
    var storefrontId: String?
    var family: String?
    var needsApproval: Bool?
    var canPay: Bool?
    var isDeleted: Bool?

    func put(_ id: String, in state: inout StoreState, now: Int64) throws -> AccountRecord {
        try FieldCheck.identifier(id, "id")
        try FieldCheck.require(!StoreState.isGuest(id), "id: a guest has no record")
        try FieldCheck.threeLetters(storefront, "storefront")
        try FieldCheck.digits(storefrontId, "storefrontId")
        var account = state.account(id)
        let family = account.family
        if let storefront {
            account.storefront = storefront
            account.storefrontId = Storefront.identifier(of: storefront)
        }
        account.storefrontId = storefrontId ?? account.storefrontId
        if let wanted = self.family { account.family = wanted.isEmpty ? nil : wanted }
        account.needsApproval = needsApproval ?? account.needsApproval
        account.canPay = canPay ?? account.canPay
        account.isDeleted = isDeleted ?? account.isDeleted
        if let family, account.family != family { try state.leaveFamily(id, now: now) }
        state.put(account)
        if canPay == true { state.collectPayments(of: id, now: now) }
        if account.family != nil, account.family != family { state.joinFamily(id, now: now) }
        return account
    }
}

/// The body of `PUT devices/{id}`.
private struct DeviceRequest: Decodable, Sendable {
    var account: String
    var vendorIdentifier: String?

    func put(_ id: String, in state: inout StoreState) throws -> DeviceRecord {
        try FieldCheck.identifier(id, "id")
        try FieldCheck.identifier(account, "account")
        try FieldCheck.uuid(vendorIdentifier, "vendorIdentifier")
        let device = DeviceRecord(
            id: id, accountId: account,
            vendorIdentifier: vendorIdentifier ?? state.devices[id]?.vendorIdentifier ?? UUID().uuidString)
        state.put(device)
        return device
    }
}
