import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("Triggers")
struct TriggerTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let kind: TriggerKind
        var testDescription: String { "\(kind.type.rawValue)/\(kind.subtype?.rawValue ?? "-")" }
    }

    static let cases = TriggerKind.all.map(Case.init)

    private static func body(_ kind: TriggerKind, _ more: String = "") -> String {
        let subtype = kind.subtype.map { ",\"subtype\":\"\($0.rawValue)\"" } ?? ""
        return "{\"notificationType\":\"\(kind.type.rawValue)\"\(subtype)\(more)}"
    }

    @Test("every type with every subtype comes about, is signed, and says what Apple's would", arguments: cases)
    func every(_ test: Case) async throws {
        for environment in ["Production", "Sandbox"] {
            try await NotificationDesk.with { desk in
                let answer = try await desk.control(
                    .post, "trigger", Self.body(test.kind, ",\"environment\":\"\(environment)\""))
                let rows = try #require(answer["notifications"]?.elements)
                let target = try #require(
                    rows.last { $0["notificationType"]?.string == test.kind.type.rawValue })
                #expect(target["subtype"]?.string == test.kind.subtype?.rawValue)
                for row in rows {
                    let payload = try desk.verified(try #require(row["signedPayload"]?.string))
                    #expect(payload["signedDate"]?.number == desk.store.clock.now)
                    #expect(row["environment"]?.string == environment)
                    for name in DecodedNotification.signedFields {
                        guard let jws = (payload["data"] ?? payload["appData"])?[name]?.string else { continue }
                        let isAppTransaction = name == "signedAppTransactionInfo"
                        let inner = try isAppTransaction ? desk.verifiedAppTransaction(jws) : desk.verified(jws)
                        let dated = inner[isAppTransaction ? "receiptCreationDate" : "signedDate"]
                        #expect(dated?.number == desk.store.clock.now)
                    }
                }
                try check(test.kind, try #require(target["payload"]), now: desk.store.clock.now)
                // Nothing that was played in the past is left undone.
                let due = await desk.store.read { state in
                    state.subscriptions.rows.values.compactMap(\.dueDate).min()
                }
                #expect((due ?? .max) > desk.store.clock.now)
                try await desk.timeline.catchUp()
                #expect(await desk.notifications().count == rows.count)
            }
        }
    }

    private func check(_ kind: TriggerKind, _ payload: OrderedJSON, now: Int64) throws {
        let status = payload.at("data.status")?.number
        let expires = payload.at("data.signedTransactionInfo.expiresDate")?.number
        switch kind.type {
        case .expired:
            #expect(status == 2)
            #expect(try #require(expires) <= now)
        case .didRenew:
            #expect(status == 1)
            #expect(try #require(expires) > now)
            #expect(payload.at("data.signedTransactionInfo.transactionReason")?.string == "RENEWAL")
        case .didFailToRenew:
            #expect(status == (kind.subtype == .gracePeriod ? 4 : 3))
            #expect(payload.at("data.signedRenewalInfo.isInBillingRetryPeriod") == .literal("true"))
        case .gracePeriodExpired: #expect(status == 3)
        case .subscribed, .didChangeRenewalPref, .didChangeRenewalStatus, .offerRedeemed, .priceIncrease:
            #expect(status == 1)
        case .refund: #expect(payload.at("data.signedTransactionInfo.revocationDate") != nil)
        case .refundReversed: #expect(payload.at("data.signedTransactionInfo.revocationDate") == nil)
        case .revoke:
            #expect(payload.at("data.signedTransactionInfo.inAppOwnershipType")?.string == "FAMILY_SHARED")
        case .consumptionRequest: #expect(payload.at("data.consumptionRequestReason") != nil)
        case .metadataUpdate, .migration, .priceChange:
            for name in ["signedTransactionInfo", "signedRenewalInfo"] {
                #expect(payload["data"]?[name]?["advancedCommerceInfo"]?["items"] != nil)
            }
        case .renewalExtension: #expect((payload["summary"] != nil) == (kind.subtype == .summary))
        case .rescindConsent: #expect(payload.at("appData.signedAppTransactionInfo.appTransactionId") != nil)
        case .externalPurchaseToken: #expect(payload.at("externalPurchaseToken.externalPurchaseId") != nil)
        case .test, .oneTimeCharge, .refundDeclined, .renewalExtended: #expect(payload["data"] != nil)
        }
    }

    @Test("all 23 types are listed, each with a sentence")
    func list() async throws {
        try await NotificationDesk.with { desk in
            let kinds = try #require(try await desk.control(.get, "trigger")["triggers"]?.elements)
            #expect(kinds.count == 39)
            #expect(
                Set(kinds.compactMap { $0["notificationType"]?.string })
                    == Set(NotificationType.allCases.map(\.rawValue)))
            #expect(kinds.allSatisfy { $0["plays"]?.string?.hasSuffix(".") == true })
        }
    }

    @Test("what a trigger plays does not change the app for others")
    func leavesNoTrace() async throws {
        try await NotificationDesk.with { desk in
            func app() async throws -> [String] {
                let encoder = JSONEncoder()
                encoder.outputFormatting = .sortedKeys
                let (app, products) = await desk.store.read { state in
                    (
                        state.apps[NotificationDesk.bundleId],
                        state.products.rows.values.sorted { $0.productId < $1.productId }
                    )
                }
                return [
                    String(decoding: try encoder.encode(app), as: UTF8.self),
                    String(decoding: try encoder.encode(products), as: UTF8.self),
                ]
            }
            let before = try await app()
            for kind in TriggerKind.all { _ = try await desk.control(.post, "trigger", Self.body(kind)) }
            #expect(try await app() == before)
        }
    }

    @Test("replaced fields are signed, inside and outside")
    func overrides() async throws {
        try await NotificationDesk.with { desk in
            let answer = try await desk.control(
                .post, "trigger",
                """
                {"notificationType":"DID_RENEW","override":{"data.status":3,
                "data.signedTransactionInfo.price":12345678901234567,"data.signedRenewalInfo.autoRenewStatus":"0",
                "data.bundleId":"com.example.other","data.new.deep":[1,{"a":null}],"version":null}}
                """)
            let row = try #require(answer["notifications"]?.elements.last)
            let payload = try desk.verified(try #require(row["signedPayload"]?.string))
            #expect(payload.at("data.status")?.number == 3)
            #expect(payload.at("data.bundleId")?.string == "com.example.other")
            #expect(payload.at("data.new.deep")?.text == #"[1,{"a":null}]"#)
            #expect(payload["version"] == .literal("null"))
            let transaction = try desk.verified(try #require(payload.at("data.signedTransactionInfo")?.string))
            #expect(transaction["price"]?.number == 12_345_678_901_234_567)
            let renewal = try desk.verified(try #require(payload.at("data.signedRenewalInfo")?.string))
            #expect(renewal["autoRenewStatus"]?.string == "0")
            // Only what was asked for is changed.
            let others = answer["notifications"]?.elements.dropLast() ?? []
            #expect(others.allSatisfy { $0.at("payload.data.bundleId")?.string == NotificationDesk.bundleId })
        }
    }

    @Test("a type that Apple does not have is sent only by force")
    func force() async throws {
        try await NotificationDesk.with { desk in
            for body in [
                #"{"notificationType":"NEW_THING"}"#, #"{"notificationType":"REFUND","subtype":"UPGRADE"}"#,
                #"{"notificationType":"REFUND","override":{"notificationType":"NEW_THING"}}"#,
                #"{"notificationType":"TEST","override":7}"#, #"{"notificationType":"TEST","override":{"a..b":1}}"#,
                #"{"notificationType":"TEST","override":{"version.x":1}}"#,
                #"{"notificationType":"TEST","environment":"Xcode"}"#, #"{"notificationType":"TEST","account":""}"#,
            ] {
                #expect(try await desk.request(.post, "trigger", body).status == .badRequest, "\(body)")
            }
            let unknown = try await desk.control(
                .post, "trigger", #"{"notificationType":"NEW_THING","subtype":"NEWER","force":true}"#)
            let row = try #require(unknown["notifications"]?.elements.last)
            #expect(row["notificationType"]?.string == "NEW_THING")
            #expect(row["subtype"]?.string == "NEWER")
            #expect(row.at("payload.subtype")?.string == "NEWER")
            let migrate = try await desk.control(
                .post, "trigger",
                #"{"notificationType":"MIGRATION","override":{"notificationType":"MIGRATE"},"force":true}"#)
            #expect(migrate["notifications"]?.elements.last?["notificationType"]?.string == "MIGRATE")
        }
    }

    @Test("a named account's own subscription is used, unless time would have to pass")
    func namedAccount() async throws {
        try await NotificationDesk.with { desk in
            let bought = try await desk.control(
                .post, "trigger", #"{"notificationType":"SUBSCRIBED","subtype":"INITIAL_BUY","account":"alice"}"#)
            let id = bought["notifications"]?.elements.last?["originalTransactionId"]?.string
            #expect(id != nil)
            for body in [
                #"{"notificationType":"PRICE_INCREASE","account":"alice"}"#,
                #"{"notificationType":"DID_CHANGE_RENEWAL_STATUS","subtype":"AUTO_RENEW_DISABLED","account":"alice"}"#,
            ] {
                let answer = try await desk.control(.post, "trigger", body)
                #expect(answer["notifications"]?.elements.last?["originalTransactionId"]?.string == id)
            }
            for body in [
                #"{"notificationType":"DID_RENEW","account":"alice"}"#,
                #"{"notificationType":"SUBSCRIBED","account":"alice"}"#,
            ] {
                let response = try await desk.request(.post, "trigger", body)
                #expect(response.status == .conflict)
                #expect(String(buffer: response.body).contains(id ?? "?"))
            }
        }
    }

    @Test("an app that nobody registered is made, and one that sells other things keeps them")
    func otherApps() async throws {
        try await NotificationDesk.with { desk in
            let made = try await desk.control(
                .post, "trigger", #"{"notificationType":"REFUND","bundleId":"com.example.new"}"#)
            #expect(made["notifications"]?.elements.last?["bundleId"]?.string == "com.example.new")
            try await desk.store.change { state, _ in
                _ = state.ensureApp("com.example.shop")
                state.put(
                    ProductRecord(
                        bundleId: "com.example.shop", productId: "gems", type: .consumable, price: 1_000,
                        currency: "EUR", storefrontPrices: [:], level: 1, isFamilyShareable: false, isForSale: true,
                        offers: []))
            }
            let refund = try await desk.control(
                .post, "trigger", #"{"notificationType":"REFUND","bundleId":"com.example.shop"}"#)
            let row = try #require(refund["notifications"]?.elements.last)
            #expect(row.at("payload.data.signedTransactionInfo.productId")?.string == "gems")
            let renewal = try await desk.control(
                .post, "trigger", #"{"notificationType":"DID_RENEW","bundleId":"com.example.shop"}"#)
            #expect(
                renewal["notifications"]?.elements.last?.at("payload.data.signedTransactionInfo.productId")?.string
                    == "com.example.shop.basic")
            let products = await desk.store.read { state in
                state.products.rows.values.filter { $0.bundleId == "com.example.shop" }.map(\.productId).sorted()
            }
            #expect(products == ["com.example.shop.basic", "com.example.shop.premium", "gems"])
        }
    }
}
