import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// `GET receipts`: the receipt that a device would send to its server.
struct ReceiptRoutes: Sendable {
    let store: Store
    let receipts: ReceiptAuthority

    func addRoutes(to router: RouterGroup<BasicRequestContext>) {
        router.get("receipts") { request, _ in
            let query = request.uri.queryParameters
            let environment = try FieldCheck.environment(query.get("environment"))
            guard let bundleId = query["bundleId"].map(String.init) else {
                throw Problem(.badRequest, "bundleId: missing")
            }
            let account = query["account"].map(String.init)
            let device = query["device"].map(String.init)
            var contents = try await contents(
                bundleId: bundleId, account: account, device: device, environment: environment)
            contents.fraction = try query["fraction"].map { text throws(Problem) in
                guard let fraction = Int64(text), (0...999).contains(fraction) else {
                    throw Problem(.badRequest, "fraction: 0 to 999 milliseconds")
                }
                return fraction
            }
            var json = JSONText()
            json.add("receipt", Data(try receipts.receipt(contents)).base64EncodedString())
            return ControlAnswer.json(json.object)
        }
    }

    /// What the receipt says; asking for it is a download of the app.
    private func contents(
        bundleId: String, account: String?, device: String?, environment: StoreEnvironment
    ) async throws -> ReceiptContents {
        try await store.change { state, now in
            _ = try state.apps.required(bundleId, "app")
            let device = try device.map { id in
                let device = try state.devices.required(id, "device")
                return device
            }
            guard let accountId = account ?? device?.accountId else {
                throw Problem(.badRequest, "account: missing; or name a device that one is signed in on")
            }
            // Guests are too many to keep a record of each.
            if !StoreState.isGuest(accountId) {
                _ = state.download(bundleId: bundleId, accountId: accountId, environment: environment, now: now)
            }
            return AppReceipt.contents(
                of: state, bundleId: bundleId, accountId: accountId, device: device, environment: environment, now: now)
        }
    }
}
