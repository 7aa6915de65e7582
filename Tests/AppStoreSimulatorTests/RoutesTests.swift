import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("Routes")
struct RoutesTests {
    private static let good = #""bundleId":"a","productId":"p","type":"Consumable""#

    @Test("it is ready")
    func ready() async throws {
        let response = try await Simulator().request(.get, "/readyz")
        #expect(response.status == .ok)
    }

    @Test(
        "bad input is answered by a problem that names the field",
        arguments: [
            ("", "bundleId"), ("null", "body"), ("[]", "body"), ("{", "body"), ("{}", "bundleId"),
            (#"{"bundleId":"a"}"#, "productId"), (#"{"bundleId":"a","productId":"p"}"#, "type"),
            (#"{"bundleId":1,"productId":"p","type":"Consumable"}"#, "bundleId"),
            (#"{"bundleId":"","productId":"p","type":"Consumable"}"#, "bundleId"),
            (#"{"bundleId":"a\u0000","productId":"p","type":"Consumable"}"#, "bundleId"),
            (#"{"bundleId":"a","productId":"p","type":"consumable"}"#, "type"),
            ("{\(good),\"quantity\":0}", "quantity"), ("{\(good),\"quantity\":11}", "quantity"),
            ("{\(good),\"quantity\":\"1\"}", "quantity"), ("{\(good),\"price\":-1}", "price"),
            ("{\(good),\"price\":1000000000001}", "price"), ("{\(good),\"count\":0}", "count"),
            ("{\(good),\"count\":1001}", "count"), ("{\(good),\"appAccountToken\":\"me\"}", "appAccountToken"),
            ("{\(good),\"environment\":\"Xcode\"}", "environment"), ("{\(good),\"currency\":\"eur\"}", "currency"),
            ("{\(good),\"storefront\":\"GERMANY\"}", "storefront"),
            ("{\(good),\"storefrontId\":\"x\"}", "storefrontId"),
            ("{\(good),\"originalTransactionId\":\"\"}", "originalTransactionId"),
            ("{\(good),\"originalTransactionId\":\"12345678901234567890\"}", "originalTransactionId"),
            ("{\(good),\"expiresDate\":1}", "expiresDate"),
        ])
    func problems(_ body: String, _ field: String) async throws {
        let response = try await Simulator().request(.post, "/simulator/v1/sales", body: body)
        #expect(response.status == .badRequest)
        #expect(response.headers[.contentType] == "application/problem+json")
        let problem = try JSONDecoder().decode(Simulator.ProblemDetails.self, from: response.json)
        #expect(problem.type == "about:blank")
        #expect(problem.title == "Bad Request")
        #expect(problem.status == 400)
        #expect(problem.detail.contains(field))
    }

    @Test("a body beyond the limit is refused with the limit's number")
    func tooLarge() async throws {
        let body = "{\(Self.good),\"x\":\"\(String(repeating: "x", count: 70_000))\"}"
        let response = try await Simulator().request(.post, "/simulator/v1/sales", body: body)
        #expect(response.status == .contentTooLarge)
        let problem = try JSONDecoder().decode(Simulator.ProblemDetails.self, from: response.json)
        #expect(problem.detail.contains("65536"))
    }

    @Test("an unknown path or method is a problem too")
    func unknown() async throws {
        let simulator = try Simulator()
        for (method, path) in [(.get, "/"), (.get, "/simulator/v1/sales"), (.post, "/simulator/v2/sales")]
            as [(HTTPRequest.Method, String)]
        {
            let response = try await simulator.request(method, path)
            #expect([.notFound, .methodNotAllowed].contains(response.status))
            #expect(response.headers[.contentType] == "application/problem+json")
        }
    }

    @Test("text that needs escaping arrives as it was sent")
    func escaping() async throws {
        let simulator = try Simulator()
        let sold = try await simulator.sell(#"{"bundleId":"a\"\\\n\té😀","productId":"p","type":"Consumable"}"#)
        struct Payload: Decodable { let bundleId: String }
        let data = try #require(Base64URL.decode(sold[0].signedTransaction.split(separator: ".")[1]))
        #expect(try JSONDecoder().decode(Payload.self, from: data).bundleId == "a\"\\\n\té😀")
    }
}
