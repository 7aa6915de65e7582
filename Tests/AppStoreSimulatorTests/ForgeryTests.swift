import AppStore
import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import AppStoreSimulator

@Suite("Forgeries")
struct ForgeryTests {
    private let app = AppIdentity(bundleId: "com.example.game")

    private func body(_ kind: String) -> String {
        #"{"kind":"\#(kind)","bundleId":"com.example.game","productId":"coins.100"}"#
    }

    @Test("each kind is refused with exactly the code it names", arguments: ForgeryKind.allCases)
    func refused(_ kind: ForgeryKind) async throws {
        let simulator = try Simulator()
        let response = try await simulator.request(.post, "/simulator/v1/forgeries", body: body(kind.rawValue))
        #expect(response.status == .ok)
        let forged = try JSONDecoder().decode(Simulator.Forged.self, from: response.json)
        #expect(forged.kind == kind.rawValue)
        #expect(forged.expectedRejection == kind.expectedRejection)
        let jws = Array(forged.signedTransaction.utf8)
        let verifier = SignedDataVerifier(roots: try simulator.roots())
        #expect(code(verifier.transaction(jws, app: app)) == kind.expectedRejection)

        // And by a verifier that has just seen something genuine, hence has the genuine chain at hand.
        let genuine = try await simulator.sell(
            #"{"bundleId":"com.example.game","productId":"p","type":"Consumable"}"#)
        _ = try verifier.transaction(Array(genuine[0].signedTransaction.utf8), app: app).get()
        #expect(code(verifier.transaction(jws, app: app)) == kind.expectedRejection)
    }

    @Test("the list names every kind and a code for each")
    func list() async throws {
        struct List: Decodable {
            struct Kind: Decodable {
                let kind: String
                let expectedRejection: String
            }
            let kinds: [Kind]
        }
        let simulator = try Simulator()
        let response = try await simulator.request(.get, "/simulator/v1/forgeries")
        let list = try JSONDecoder().decode(List.self, from: response.json)
        #expect(list.kinds.map(\.kind) == ForgeryKind.allCases.map(\.rawValue))
        #expect(list.kinds.map(\.expectedRejection) == ForgeryKind.allCases.map(\.expectedRejection))
    }

    @Test("a kind that does not exist, and more than one at a time, are problems")
    func bad() async throws {
        let simulator = try Simulator()
        for body in [body("magic"), body(""), #"{"kind":"xcode","bundleId":"a","productId":"p","count":2}"#, "{}"] {
            let response = try await simulator.request(.post, "/simulator/v1/forgeries", body: body)
            #expect(response.status == .badRequest)
            #expect(response.headers[.contentType] == "application/problem+json")
        }
    }
}
