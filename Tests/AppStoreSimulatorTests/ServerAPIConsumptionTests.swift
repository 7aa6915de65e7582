import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("Server API: consumption")
struct ServerAPIConsumptionTests {
    static let goodV2 = #"{"customerConsented":true,"sampleContentProvided":false,"deliveryStatus":"DELIVERED"}"#
    static let goodV1 = body(of: v1)

    private static let v1: [String: String] = [
        "customerConsented": "true", "consumptionStatus": "3", "platform": "1", "sampleContentProvided": "true",
        "deliveryStatus": "0", "appAccountToken": "\"\"", "accountTenure": "7", "playTime": "7",
        "lifetimeDollarsRefunded": "1", "lifetimeDollarsPurchased": "7", "userStatus": "1",
    ]

    private static func body(of fields: [String: String]) -> String {
        "{\(fields.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ","))}"
    }

    @Test("the second version takes every type of product, and a share only where it may be said")
    func secondVersion() async throws {
        let shop = try await ServerAPIShop()
        for product in ["coins", "sword", "season", "gold"] {
            let id = try await shop.buy(product)
            let path = "v2/transactions/consumption/\(id)"
            #expect(try await shop.call(.put, path, Self.goodV2).status == .accepted, "\(product)")
            let withShare =
                #"{"customerConsented":true,"sampleContentProvided":true,"deliveryStatus":"DELIVERED","#
                + #""consumptionPercentage":50000,"refundPreference":"GRANT_PRORATED"}"#
            let expected: Int64? = product == "gold" ? 4_000_000 : nil
            #expect(try await shop.refusal(.put, path, withShare) == expected, "\(product)")
        }
        let id = try await shop.buy("coins")
        try await shop.edit(id) { $0.advancedCommerceInfo = "{}" }
        #expect(try await shop.refusal(.put, "v2/transactions/consumption/\(id)", Self.goodV2) == 4_000_000)
        #expect(try await shop.call(.put, "v1/transactions/consumption/\(id)", Self.goodV1).status == .accepted)
        await shop.store.close()
    }

    @Test(
        "each field of the second version that is wrong has its code",
        arguments: [
            (#""customerConsented":false"#, 4_000_035), (#""customerConsented":null"#, 4_000_035),
            (#""customerConsented":1"#, 4_000_035), (#""sampleContentProvided":null"#, 4_000_041),
            (#""sampleContentProvided":"true""#, 4_000_041), (#""deliveryStatus":null"#, 4_000_036),
            (#""deliveryStatus":"LOST""#, 4_000_036), (#""deliveryStatus":0"#, 4_000_036),
            (#""refundPreference":"PLEASE""#, 4_000_000), (#""refundPreference":1"#, 4_000_000),
            (#""consumptionPercentage":-1"#, 4_000_000), (#""consumptionPercentage":100001"#, 4_000_000),
            (#""consumptionPercentage":"1""#, 4_000_000),
            (#""deliveryStatus":"UNDELIVERED_OTHER","consumptionPercentage":1"#, 4_000_000),
        ] as [(String, Int64)])
    func refusedV2(_ fields: String, _ code: Int64) async throws {
        let shop = try await ServerAPIShop()
        let id = try await shop.buy("coins")
        let path = "v2/transactions/consumption/\(id)"
        // Of a field that comes twice, the parser takes the first.
        let body = "{\(fields),\(Self.goodV2.dropFirst())"
        let unique = try JSONSerialization.jsonObject(with: Data("{\(fields)}".utf8)) as? [String: Any] ?? [:]
        var object = try JSONSerialization.jsonObject(with: Data(Self.goodV2.utf8)) as? [String: Any] ?? [:]
        object.merge(unique) { _, new in new }
        let text = String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
        #expect(try await shop.refusal(.put, path, text) == code, "\(body)")
        #expect(await shop.store.read { $0.consumptionAnswers.count } == 0)
        await shop.store.close()
    }

    @Test("what is left out of the second version, or is no object, is refused")
    func missingV2() async throws {
        let shop = try await ServerAPIShop()
        let path = "v2/transactions/consumption/\(try await shop.buy("coins"))"
        #expect(try await shop.refusal(.put, path, "{}") == 4_000_035)
        #expect(try await shop.refusal(.put, path, #"{"customerConsented":true}"#) == 4_000_041)
        #expect(
            try await shop.refusal(.put, path, #"{"customerConsented":true,"sampleContentProvided":true}"#) == 4_000_036
        )
        for body in [nil, "", "[]", "null", "{"] { #expect(try await shop.refusal(.put, path, body) == 4_000_000) }
        await shop.store.close()
    }

    @Test(
        "each field of the first version that is wrong or missing has its code",
        arguments: [
            ("customerConsented", "false", 4_000_035), ("consumptionStatus", "4", 4_000_034),
            ("platform", "3", 4_000_039), ("sampleContentProvided", "1", 4_000_041), ("deliveryStatus", "6", 4_000_036),
            ("appAccountToken", "\"me\"", 4_000_033), ("accountTenure", "8", 4_000_032), ("playTime", "-1", 4_000_040),
            ("lifetimeDollarsRefunded", "8", 4_000_038), ("lifetimeDollarsPurchased", "\"7\"", 4_000_037),
            ("userStatus", "5", 4_000_042), ("refundPreference", "4", 4_000_000),
        ] as [(String, String, Int64)])
    func refusedV1(_ field: String, _ value: String, _ code: Int64) async throws {
        let shop = try await ServerAPIShop()
        let path = "v1/transactions/consumption/\(try await shop.buy("coins"))"
        var fields = Self.v1
        fields[field] = value
        #expect(try await shop.refusal(.put, path, Self.body(of: fields)) == code)
        fields[field] = nil
        let missing: Int64? = field == "refundPreference" ? nil : code
        #expect(try await shop.refusal(.put, path, Self.body(of: fields)) == missing)
        await shop.store.close()
    }

    @Test("the first version is for consumables and subscriptions that renew")
    func typesV1() async throws {
        let shop = try await ServerAPIShop()
        for (product, code) in [("sword", 4_000_047), ("season", 4_000_047), ("gold", nil)] as [(String, Int64?)] {
            let path = "v1/transactions/consumption/\(try await shop.buy(product))"
            #expect(try await shop.refusal(.put, path, Self.goodV1) == code, "\(product)")
        }
        await shop.store.close()
    }
}
