import Crypto
import Foundation
import SwiftASN1
import Testing
import VectorTesting
import X509

@testable import AppStore

/// What StoreKit Testing in Xcode signs, on a server that is told whose.
@Suite("Xcode's certificates")
struct XcodeCertificateTests {
    private static let app = AppIdentity(bundleId: "com.example.game")

    /// A developer's machine.
    private struct Machine {
        let key = P256.Signing.PrivateKey()
        let certificate: [UInt8]

        init(from: Date = Date(timeIntervalSince1970: 1_700_000_000)) throws {
            let name = try DistinguishedName { CommonName("StoreKit Testing in Xcode") }
            let key = Certificate.PrivateKey(key)
            let made = try Certificate(
                version: .v3, serialNumber: Certificate.SerialNumber(1), publicKey: key.publicKey, notValidBefore: from,
                notValidAfter: from.addingTimeInterval(365 * 86_400), issuer: name, subject: name,
                signatureAlgorithm: .ecdsaWithSHA256, extensions: Certificate.Extensions(), issuerPrivateKey: key)
            var serializer = DER.Serializer()
            try serializer.serialize(made)
            certificate = serializer.serializedBytes
        }

        var roots: TrustedRoots {
            get throws { try TrustedRoots(fingerprints: [TrustedRoots.fingerprint(of: certificate)]) }
        }

        func sign(
            _ changes: [String: Any] = [:], header: [String: Any] = [:], by signer: P256.Signing.PrivateKey? = nil
        ) throws -> [UInt8] {
            let head: [String: Any] = [
                "alg": "ES256", "kid": "Apple_Xcode_Key", "typ": "JWT",
                "x5c": [Data(certificate).base64EncodedString()],
            ].merging(header) { $1 }
            let payload: [String: Any] = [
                "transactionId": "0", "originalTransactionId": "0", "bundleId": "com.example.game",
                "productId": "gems.100", "type": "Consumable", "environment": "Xcode", "quantity": 1,
                "purchaseDate": 1_700_000_100_049.7297, "signedDate": 1_700_000_100_056.485,
                "appAccountToken": "8f5d2a54-0f0c-4f5e-9c6e-2f6d0a3f1b11",
            ].merging(changes) { $1 }
            let text = try [head, payload].map { fields in
                Self.encoded(try JSONSerialization.data(withJSONObject: fields))
            }.joined(separator: ".")
            let signature = try (signer ?? key).signature(for: Data(text.utf8)).rawRepresentation
            return Array("\(text).\(Self.encoded(signature))".utf8)
        }

        private static func encoded(_ data: Data) -> String {
            data.base64EncodedString().replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
        }
    }

    private func code(_ jws: [UInt8], xcode: TrustedRoots?) -> RejectionCode? {
        let verifier = SignedDataVerifier(roots: .appleRootG3, xcode: xcode)
        return rejection(verifier.transaction(jws, app: Self.app))
    }

    @Test("a transaction under a certificate that is told counts as the sandbox's, with the token of the intent")
    func taken() throws {
        let machine = try Machine()
        let verifier = SignedDataVerifier(roots: .appleRootG3, xcode: try machine.roots)
        let jws = try machine.sign()
        let transaction = try verifier.transaction(jws, app: Self.app).get()
        #expect(transaction.environment == .sandbox && transaction.transactionId == "0")
        #expect(transaction.appAccountToken?.uuidString == "8F5D2A54-0F0C-4F5E-9C6E-2F6D0A3F1B11")
        #expect(verifier.isSignedByXcode(jws))
    }

    @Test("without the setting, or with another machine's certificate, it is refused")
    func refused() throws {
        let (machine, other) = (try Machine(), try Machine())
        #expect(code(try machine.sign(), xcode: nil) == .environmentXcode)
        #expect(code(try machine.sign(), xcode: try other.roots) == .environmentXcode)
        #expect(
            code(try machine.sign(), xcode: try machine.roots.denying(machine.roots.fingerprints)) == .environmentXcode)
        #expect(code(try machine.sign(by: other.key), xcode: try machine.roots) == .environmentXcode)
    }

    @Test(
        "nothing that it signs is Apple's: no other environment, and no time at which its certificate was not valid",
        arguments: ["Production", "Sandbox", "LocalTesting", "xcode"])
    func environments(_ environment: String) throws {
        let machine = try Machine()
        #expect(code(try machine.sign(["environment": environment]), xcode: try machine.roots) == .environmentXcode)
    }

    @Test("neither is one without an environment, of another time, of another app, or with another header")
    func others() throws {
        let machine = try Machine()
        let roots = try machine.roots
        var jws = try machine.sign(["environment": NSNull()])
        #expect(code(jws, xcode: roots) == .environmentXcode)
        for date in [1_690_000_000_000, 1_800_000_000_000] {
            #expect(code(try machine.sign(["signedDate": date]), xcode: roots) == .environmentXcode)
        }
        #expect(code(try machine.sign(["bundleId": "com.example.other"]), xcode: roots) == .bundleMismatch)
        #expect(code(try machine.sign(header: ["alg": "HS256"]), xcode: roots) == .algorithmNotES256)
        #expect(code(try machine.sign(header: ["kid": "other"]), xcode: roots) == .certificateCount)
        #expect(code(try machine.sign(header: ["crit": ["b64"]]), xcode: roots) == .headerInvalid)
        jws = try machine.sign()
        jws[jws.count - 3] ^= 1
        #expect(code(jws, xcode: roots) != nil)
    }

    @Test("renewal info, app transactions and notifications of Xcode's are refused all the same")
    func transactionsAlone() throws {
        let machine = try Machine()
        let verifier = SignedDataVerifier(roots: .appleRootG3, xcode: try machine.roots)
        let jws = try machine.sign()
        #expect(rejection(verifier.renewalInfo(jws, originalTransactionId: "0")) == .environmentXcode)
        #expect(rejection(verifier.appTransaction(jws, app: Self.app)) == .environmentXcode)
        #expect(rejection(verifier.notification(jws, app: Self.app)) == .environmentXcode)
        #expect(rejection(verifier.payload(jws)) == .environmentXcode)
    }

    @Test(
        "what a real Xcode signed is taken, where its certificate is told",
        .enabled(if: Vectors.areAvailable, Comment(rawValue: Vectors.skipped)))
    func genuine() throws {
        let jws = try Vectors.bytes("apple-library/xcode/xcode-signed-transaction")
        let header = try #require(CompactJWS(jws).flatMap { Base64Decoding.urlSafe(jws[$0.header]) })
        let fields = try #require(try JSONSerialization.jsonObject(with: Data(header)) as? [String: Any])
        let text = try #require((fields["x5c"] as? [String])?.first)
        let certificate = Array(try #require(Data(base64Encoded: text)))
        let verifier = SignedDataVerifier(
            roots: .appleRootG3, xcode: try TrustedRoots(fingerprints: [TrustedRoots.fingerprint(of: certificate)]))
        let app = AppIdentity(bundleId: "com.example.naturelab.backyardbirds.example")
        let transaction = try verifier.transaction(jws, app: app).get()
        #expect(transaction.productId == "pass.premium" && transaction.environment == .sandbox)
    }
}
