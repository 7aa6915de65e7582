import Crypto
import Foundation

/// A way to cheat, each wrong in exactly one thing.
enum ForgeryKind: String, Sendable, CaseIterable {
    case selfMadeChain = "self_made_chain"
    case editedPayload = "edited_payload"
    case algorithmNone = "algorithm_none"
    case algorithmHS256 = "algorithm_hs256"
    case expiredLeaf = "expired_leaf"
    case wrongBundle = "wrong_bundle"
    case xcode = "xcode"
    case localTesting = "local_testing"
    case swappedCertificates = "swapped_certificates"
    case missingCertificate = "missing_certificate"
    case missingLeafMarker = "missing_leaf_marker"
    case missingIntermediateMarker = "missing_intermediate_marker"

    /// The rejection code with which a good backend answers.
    var expectedRejection: String {
        switch self {
        case .selfMadeChain: "root_not_trusted"
        case .editedPayload: "signature_invalid"
        case .algorithmNone, .algorithmHS256: "algorithm_not_es256"
        case .expiredLeaf: "certificate_expired"
        case .wrongBundle: "bundle_mismatch"
        case .xcode: "environment_xcode"
        case .localTesting: "environment_local_testing"
        case .swappedCertificates: "chain_invalid"
        case .missingCertificate: "certificate_count"
        case .missingLeafMarker: "leaf_marker_missing"
        case .missingIntermediateMarker: "intermediate_marker_missing"
        }
    }
}

/// Makes forged transactions; its false chains are made once.
struct ForgeryWorkshop: Sendable {
    private let signer: PayloadSigner
    private let signers: [ForgeryKind: PayloadSigner]

    /// A forger beside an authority, who has its keys: otherwise most forgeries would fail more than one check.
    init(authority: CertificateAuthority, now: Date) throws {
        let genuine = authority.chain
        let encoded = try genuine.encoded
        signer = try PayloadSigner(chain: genuine)
        var expired = CertificateRecipe.leaf
        expired.notValidBefore = now - 400 * 86_400
        expired.notValidAfter = now - 35 * 86_400
        var unmarkedLeaf = CertificateRecipe.leaf
        unmarkedLeaf.marker = nil
        var unmarkedIntermediate = CertificateRecipe.intermediate
        unmarkedIntermediate.marker = nil
        signers = [
            .selfMadeChain: try PayloadSigner(chain: try CertificateAuthority(now: now).chain),
            .expiredLeaf: try PayloadSigner(chain: try authority.chain(replacingLeaf: expired, now: now)),
            .missingLeafMarker: try PayloadSigner(chain: try authority.chain(replacingLeaf: unmarkedLeaf, now: now)),
            .missingIntermediateMarker: try PayloadSigner(
                chain: try authority.chain(replacingIntermediate: unmarkedIntermediate, now: now)),
            // An unsecured JWS has an empty signature; this one keeps it, so that the algorithm is all that is wrong.
            .algorithmNone: try PayloadSigner(chain: genuine, algorithm: "none"),
            .algorithmHS256: try PayloadSigner(chain: genuine, algorithm: "HS256"),
            .swappedCertificates: try PayloadSigner(
                chain: genuine, certificates: [encoded[1], encoded[0], encoded[2]]),
            .missingCertificate: try PayloadSigner(chain: genuine, certificates: [encoded[0], encoded[2]]),
        ]
    }

    /// A forged transaction.
    func forge(_ kind: ForgeryKind, sale: Sale, transactionId: Int64, now: Date) throws -> String {
        var sale = sale
        switch kind {
        case .wrongBundle: sale.bundleId += ".other"
        case .xcode: sale.environment = "Xcode"
        case .localTesting: sale.environment = "LocalTesting"
        default: break
        }
        let payload = sale.payload(transactionId: transactionId, now: now)
        switch kind {
        case .editedPayload:
            return try edited(payload, sale: sale, transactionId: transactionId, now: now)
        default:
            return try (signers[kind] ?? signer).sign(payload)
        }
    }

    /// A genuine signature, under a payload that says ten times as much.
    private func edited(_ payload: String, sale: Sale, transactionId: Int64, now: Date) throws -> String {
        var greedy = sale
        greedy.quantity *= 10
        let parts = try signer.sign(payload).split(separator: ".")
        let other = greedy.payload(transactionId: transactionId, now: now)
        return "\(parts[0]).\(Base64URL.encode(Array(other.utf8))).\(parts[2])"
    }
}

/// The body of `POST /simulator/v1/forgeries`: a kind, and the sale to forge.
struct ForgeryRequest: Decodable, Sendable {
    let kind: String
    let sale: SaleRequest

    private enum CodingKeys: String, CodingKey {
        case kind
    }

    init(from decoder: any Decoder) throws {
        kind = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .kind)
        var sale = try SaleRequest(from: decoder)
        sale.type = sale.type ?? SaleRequest.ProductType.consumable.rawValue
        self.sale = sale
    }
}
