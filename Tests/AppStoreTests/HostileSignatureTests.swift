import AppStore
import Crypto
import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("Hostile signatures")
struct HostileSignatureTests {
    private let store: SimulatedStore
    private let parts: [String]

    init() throws {
        store = try #require(SimulatedStore.shared)
        parts = String(decoding: try store.sign(SimulatedStore.payload()), as: UTF8.self)
            .split(separator: ".").map(String.init)
    }

    /// The good header and payload under another signature, judged by a new verifier and by one that knows the chain.
    private func rejections(signature: [UInt8]) throws -> [RejectionCode?] {
        let jws = Array("\(parts[0]).\(parts[1]).\(Base64URL.encode(signature))".utf8)
        let experienced = store.verifier
        _ = try experienced.payload(Array(parts.joined(separator: ".").utf8)).get()
        #expect(experienced.chainsCached == 1)
        return [rejection(store.verifier.payload(jws)), rejection(experienced.payload(jws))]
    }

    private func signature(of payload: String? = nil) throws -> P256.Signing.ECDSASignature {
        let input = "\(parts[0]).\(payload ?? parts[1])"
        return try store.authority.leafKey.signature(for: SHA256.hash(data: Array(input.utf8)))
    }

    @Test("the leaf's own signature is good")
    func good() throws {
        #expect(try rejections(signature: [UInt8](try signature().rawRepresentation)) == [nil, nil])
    }

    @Test("a signature in DER is refused, though it is the leaf's")
    func der() throws {
        let der = [UInt8](try signature().derRepresentation)
        #expect(try rejections(signature: der) == [.signatureInvalid, .signatureInvalid])
    }

    @Test("a signature of another length is refused", arguments: [1, 32, 63, 65, 96, 128])
    func length(_ count: Int) throws {
        let raw = [UInt8](try signature().rawRepresentation)
        let other = Array((raw + raw).prefix(count))
        #expect(try rejections(signature: other) == [.signatureInvalid, .signatureInvalid])
    }

    @Test("r or s of zero, or of the curve's order, is refused")
    func degenerate() throws {
        let raw = [UInt8](try signature().rawRepresentation)
        let zero = [UInt8](repeating: 0, count: 32)
        // The order of P-256 (SEC 2, section 2.4.2).
        let order: [UInt8] =
            [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 8)
            + [0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51]
        let signatures = [
            zero + zero, zero + raw.suffix(32), raw.prefix(32) + zero, order + order, raw.prefix(32) + order,
            [UInt8](repeating: 0xFF, count: 64),
        ]
        for signature in signatures {
            #expect(try rejections(signature: signature) == [.signatureInvalid, .signatureInvalid])
        }
    }

    @Test("r and s exchanged, or the signature of other content, is refused")
    func others() throws {
        let raw = [UInt8](try signature().rawRepresentation)
        let exchanged = Array(raw.suffix(32) + raw.prefix(32))
        #expect(try rejections(signature: exchanged) == [.signatureInvalid, .signatureInvalid])
        let other = [UInt8](try signature(of: Base64URL.encode(Array("{}".utf8))).rawRepresentation)
        #expect(try rejections(signature: other) == [.signatureInvalid, .signatureInvalid])
        let stranger = try P256.Signing.PrivateKey().signature(for: SHA256.hash(data: Array("x".utf8)))
        #expect(
            try rejections(signature: [UInt8](stranger.rawRepresentation)) == [.signatureInvalid, .signatureInvalid])
    }

    @Test("an edited payload under a genuine chain and signature is refused")
    func editedPayload() throws {
        for change in [["quantity": "10"], ["productId": "\"coins.10000\""], ["appAccountToken": "\"\(UUID())\""]] {
            let payload = SimulatedStore.payload(change)
            let jws = Array("\(parts[0]).\(Base64URL.encode(Array(payload.utf8))).\(parts[2])".utf8)
            #expect(rejection(store.verifier.transaction(jws, app: SimulatedStore.app)) == .signatureInvalid)
        }
    }

    @Test("the intermediate cannot sign payloads with the leaf's certificate in front")
    func otherKey() throws {
        let chain = store.authority.chain
        let impostor = CertificateAuthority.Chain(
            leaf: chain.leaf, intermediate: chain.intermediate, root: chain.root, leafKey: P256.Signing.PrivateKey())
        #expect(try store.rejectionOfChain(impostor) == .signatureInvalid)
    }
}
