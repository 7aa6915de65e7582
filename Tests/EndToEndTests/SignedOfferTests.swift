import Foundation
import Messages
import NIOHTTP1
import ProcessTesting
import PurchaseModel
import Testing

extension EndToEnd {
    /// Subscription offers: signed by intake with a key that a command gave it, checked and sold by the simulator.
    @Suite("Offers that intake signs")
    struct SignedOfferTests {
        private static let app = "com.example.watched"

        /// What intake answers, in the fields that a purchase needs.
        private struct Signature: Decodable {
            let nonce: String
            let timestamp: Int64
            let signature: String
            let jws: String
            let keyId: String

            enum CodingKeys: String, CodingKey {
                case nonce, timestamp, signature, jws
                case keyId = "key_id"
            }

            /// For `SKPaymentDiscount`.
            var discount: [String: any Sendable] {
                ["keyId": keyId, "nonce": nonce, "timestamp": timestamp, "signature": signature]
            }
        }

        @Test("what intake signs sells the offer once, to that account, and is refused for everything else")
        func sold() async throws {
            try await withOffers { stack, client, backend in
                try await self.sellOnce(stack, client, backend: backend)
            }
        }

        private func sellOnce(_ stack: Stack, _ client: IntakeClient, backend: String) async throws {
            let player = "bargain-\(UInt32.random(in: 0...UInt32.max))"
            let buyer = "apple-id-of-\(player)"
            let token = try await client.intent(player, app: Self.app, product: "vip.offered")
            // Promotional offers are for those who subscribe or did.
            let before = try #require(
                try await sell(client, player: buyer, token: token, offer: nil, signed: nil).transactions.first)
            try await client.control(
                "POST", "subscriptions/\(before.originalTransactionId)/auto-renew", #"{"on":false}"#)
            try await client.advanceStore("P32D")
            let playerToken = try PlayerToken.make(of: player, secret: try stack.setting("COUNTERSIGN_JWT_SECRET"))
            let good = try await sign(client, as: playerToken, offer: "comeback", token: token)
            try await expectRefusals(client, buyer: buyer, token: token, good: good)
            let sale = try await sell(client, player: buyer, token: token, offer: "comeback", signed: good.discount)
            #expect(sale.transactions.count == 1, "\(sale.detail)")
            for again in [good.discount, ["jws": good.jws]] {
                let second = try await sell(client, player: buyer, token: token, offer: "comeback", signed: again)
                #expect(second.detail.contains("nonce was used already"), "\(second.detail)")
            }
            let bought = try #require(sale.transactions.first)
            let outcome = try await client.purchase(bought.signedTransaction, app: Self.app, account: player)
            #expect(outcome.state == "fulfilled")
            #expect(outcome.transactions.map(\.state?.rawValue) == ["granted"])
            // An offer that is not for every player: the backend has it signed, in StoreKit 2's form.
            let refused = try await post(client, as: playerToken, offer: "secret", token: token)
            #expect(refused.status == 403 && refused.problem == "offer-forbidden")
            try await client.control(
                "POST", "subscriptions/\(bought.originalTransactionId)/auto-renew", #"{"on":false}"#)
            try await client.advanceStore("P32D")
            let secretOffer = try await sign(
                client, as: backend, offer: "secret", token: token, customer: bought.transactionId)
            let hers: [String: any Sendable] = ["jws": secretOffer.jws]
            let stranger = try await sell(client, player: "somebody", token: token, offer: "secret", signed: hers)
            #expect(stranger.detail.contains("another customer"), "\(stranger.detail)")
            let third = try await sell(client, player: buyer, token: token, offer: "secret", signed: hers)
            #expect(third.transactions.count == 1, "\(third.detail)")
        }

        /// Another offer, product and account, a time that is not the signed one or is over, another key.
        private func expectRefusals(
            _ client: IntakeClient, buyer: String, token: String, good: Signature
        ) async throws {
            func why(
                _ changes: [String: any Sendable] = [:], product: String = "vip.offered", offer: String = "comeback",
                token other: String? = nil
            ) async throws -> String {
                let signed = good.discount.merging(changes) { $1 }
                return try await sell(
                    client, player: buyer, token: other ?? token, product: product, offer: offer, signed: signed
                ).detail
            }
            #expect(try await why(offer: "secret").contains("not of this purchase"))
            #expect(try await why(product: "vip.other").contains("not of this purchase"))
            let stranger = try await client.intent("somebody else", app: Self.app, product: "vip.offered")
            #expect(try await why(token: stranger).contains("not of this purchase"))
            #expect(try await why(["nonce": UUID().uuidString]).contains("not of this purchase"))
            #expect(try await why(["timestamp": good.timestamp - 1]).contains("not of this purchase"))
            #expect(try await why(["timestamp": good.timestamp - 86_400_000]).contains("last 24 hours"))
            #expect(try await why(["keyId": "UNKNOWN000"]).contains("no such key"))
            let swapped = try await sell(
                client, player: buyer, token: token, product: "vip.other", offer: "comeback",
                signed: ["jws": good.jws])
            #expect(swapped.detail.contains("productId is another's"), "\(swapped.detail)")
        }

        private struct Sold: Decodable {
            let transactions: [IntakeClient.Sale]
            /// Why not.
            let detail: String

            enum CodingKeys: String, CodingKey { case transactions, detail }

            init(from decoder: any Decoder) throws {
                let members = try decoder.container(keyedBy: CodingKeys.self)
                transactions =
                    try members.decodeIfPresent([IntakeClient.Sale].self, forKey: .transactions) ?? []
                detail = try members.decodeIfPresent(String.self, forKey: .detail) ?? ""
            }
        }

        private func sell(
            _ client: IntakeClient, player: String, token: String, product: String = "vip.offered", offer: String?,
            signed: [String: any Sendable]?
        ) async throws -> Sold {
            var order: [String: any Sendable] = [
                "bundleId": Self.app, "productId": product, "account": player, "appAccountToken": token,
            ]
            if let offer {
                let choice: [String: any Sendable] = [
                    "kind": "promotional", "identifier": offer, "signed": signed ?? [:],
                ]
                order["offer"] = choice
            }
            let answer = try await client.send(
                .POST, "\(client.simulator)/simulator/v1/sales", headers: ["content-type": "application/json"],
                body: Array(try JSONSerialization.data(withJSONObject: order)))
            return try JSONDecoder().decode(Sold.self, from: answer.body)
        }

        private func post(
            _ client: IntakeClient, as bearer: String, offer: String, token: String, customer: String? = nil
        ) async throws -> IntakeClient.Answer {
            var body = [
                "app": Self.app, "product_id": "vip.offered", "offer_id": offer, "app_account_token": token,
            ]
            body["transaction_id"] = customer
            return try await client.send(
                .POST, "\(client.intake)/v1/offer-signatures", headers: client.headers(playerToken: bearer),
                body: Array(try JSONSerialization.data(withJSONObject: body)))
        }

        private func sign(
            _ client: IntakeClient, as bearer: String, offer: String, token: String, customer: String? = nil
        ) async throws -> Signature {
            let answer = try await post(client, as: bearer, offer: offer, token: token, customer: customer)
            #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
            return try JSONDecoder().decode(Signature.self, from: answer.body)
        }

        /// Gives the app a key of offers, and a backend one to have them signed, by the commands that operators have.
        private func withOffers(_ body: (Stack, IntakeClient, String) async throws -> Void) async throws {
            try await withStack { stack, client, _ in
                let apps = stack.configuration("apps.yaml")
                let before = try Data(contentsOf: apps)
                let folder = FileManager.default.temporaryDirectory.appending(path: "offers-\(UUID().uuidString)")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                let secrets = apps.deletingLastPathComponent().appending(path: "secrets")
                let had = Set((try? FileManager.default.contentsOfDirectory(atPath: secrets.path)) ?? [])
                func putBack() async throws {
                    try before.write(to: apps, options: .atomic)
                    for name in (try? FileManager.default.contentsOfDirectory(atPath: secrets.path)) ?? []
                    where !had.contains(name) {
                        try? FileManager.default.removeItem(at: secrets.appending(path: name))
                    }
                    try? FileManager.default.removeItem(at: folder)
                    try await client.setStoreClock(Date())
                }
                do {
                    try await client.setStoreClock(Date(timeIntervalSinceNow: -70 * 86_400))
                    try await define(client)
                    try await give(stack, client, folder: folder)
                    let key = try String(contentsOf: folder.appending(path: "backend.key"), encoding: .utf8)
                    let backend = key.trimmingCharacters(in: .whitespacesAndNewlines)
                    try await waitUntilSigned(client, as: backend)
                    try await body(stack, client, backend)
                } catch {
                    try? await putBack()
                    throw error
                }
                try await putBack()
            }
        }

        private func define(_ client: IntakeClient) async throws {
            for product in ["vip.offered", "vip.other"] {
                try await client.control(
                    "PUT", "apps/\(Self.app)/products/\(product)",
                    #"""
                    {"type":"Auto-Renewable Subscription","period":"P1M","price":4990,
                    "subscriptionGroupIdentifier":"21000088","offers":[
                    {"kind":"promotional","identifier":"comeback","discount":"PAY_UP_FRONT","period":"P1M","price":990},
                    {"kind":"promotional","identifier":"secret","discount":"PAY_UP_FRONT","period":"P1M","price":490}]}
                    """#)
            }
        }

        private func give(_ stack: Stack, _ client: IntakeClient, folder: URL) async throws {
            struct Key: Decodable {
                let issuerId: String
                let keyId: String
                let privateKey: String
            }
            let made = try await client.send(
                .POST, "\(client.simulator)/simulator/v1/apps/\(Self.app)/keys",
                headers: ["content-type": "application/json"])
            let key = try JSONDecoder().decode(Key.self, from: made.body)
            let file = folder.appending(path: "SubscriptionKey_\(key.keyId).p8")
            try key.privateKey.write(to: file, atomically: true, encoding: .utf8)
            let settings = stack.configuration("apps.yaml").deletingLastPathComponent().path
            for arguments in [
                [
                    "app", "offers", Self.app, "--offer-key-id", key.keyId, "--offer-private-key", file.path,
                    "--offer-issuer-id", key.issuerId, "--player-offers", "comeback",
                ],
                [
                    "key", "create", "--name", "offers", "--scopes", "sign", "--output",
                    folder.appending(path: "backend.key").path,
                ],
            ] {
                let result = try await stack.built("countersign", arguments + ["--dir", settings]).run()
                #expect(result.status == 0, "\(result.output)")
            }
        }

        private func waitUntilSigned(_ client: IntakeClient, as backend: String) async throws {
            let deadline = ContinuousClock.now + .seconds(30)
            while true {
                let answer = try await post(client, as: backend, offer: "comeback", token: UUID().uuidString)
                if answer.status == 200 { return }
                guard ContinuousClock.now < deadline else {
                    throw StackFailure("no offer is signed: \(String(decoding: answer.body, as: UTF8.self))")
                }
                // The file is looked at every two seconds, and nobody is called.
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }
}
