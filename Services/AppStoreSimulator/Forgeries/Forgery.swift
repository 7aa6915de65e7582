import Crypto
import Foundation
import Synchronization

/// A signed transaction that is wrong in exactly one thing.
struct Forgery: Sendable {
    /// Its name in the control API.
    let kind: String
    /// The rejection code with which Countersign's verification answers.
    let expectedRejection: String
    /// What is wrong with it, a sentence.
    let what: String
    let make: @Sendable (ForgeryMaterial) throws -> String

    init(
        _ kind: String, _ expectedRejection: String, _ what: String,
        _ make: @escaping @Sendable (ForgeryMaterial) throws -> String
    ) {
        self.kind = kind
        self.expectedRejection = expectedRejection
        self.what = what
        self.make = make
    }

    /// All of them, in the order of the checks that they try.
    static let all = encodings + headers + chains + payloads + signatures + claims

    static func named(_ kind: String) -> Forgery? { all.first { $0.kind == kind } }
}

/// What a forger has at hand: a transaction, and more keys than any attacker, or most forgeries would fail more than one
/// check.
struct ForgeryMaterial: Sendable {
    let transaction: TransactionRecord
    /// The store's time, milliseconds since 1970.
    let signedDate: Int64
    let authority: CertificateAuthority
    /// An authority that nobody trusts, with the names of ours.
    let stranger: CertificateAuthority
    let shelf: SignerShelf
    /// Our own time, for certificates.
    let now: Date

    /// The transaction as the store would sign it.
    var payload: String { transaction.payload(signedDate: signedDate) }

    /// The payload with fields changed.
    func payload(_ change: (inout PayloadText) -> Void) -> String {
        var text = PayloadText(payload)
        change(&text)
        return text.text
    }

    /// Signs anything as the store would.
    func sign(_ payload: String) throws -> String { try sign([UInt8](payload.utf8)) }

    func sign(_ payload: [UInt8]) throws -> String {
        try shelf.signer("genuine") { try PayloadSigner(chain: authority.chain) }.sign(payload)
    }

    /// Signs the payload under a header of which a part is another.
    ///
    /// - Parameters:
    ///   - algorithm: the value of `alg`, JSON; nil leaves it out.
    ///   - x5c: JSON; nil for the genuine chain, empty to leave it out.
    ///   - more: fields that follow, JSON with a comma at the front.
    func sign(algorithm: String? = "\"ES256\"", x5c: String? = nil, more: String = "") throws -> String {
        try PayloadSigner(header: try header(algorithm: algorithm, x5c: x5c, more: more), key: authority.leafKey)
            .sign(payload)
    }

    /// A header as JSON; see ``sign(algorithm:x5c:more:)``.
    func header(algorithm: String? = "\"ES256\"", x5c: String? = nil, more: String = "") throws -> String {
        var json = JSONText()
        if let algorithm { json.add("alg", json: algorithm) }
        let certificates = try x5c ?? Self.list(try authority.chain.encoded)
        if !certificates.isEmpty { json.add("x5c", json: certificates) }
        return json.text + more + "}"
    }

    /// Certificates as `x5c` lists them.
    static func list(_ certificates: [[UInt8]]) -> String {
        "[\(certificates.map { "\"\(Data($0).base64EncodedString())\"" }.joined(separator: ","))]"
    }

    /// The parts of the genuine thing: what is signed, and the signature's 64 bytes.
    func genuineParts() throws -> (signed: String, signature: [UInt8]) {
        let signed = "\(Base64URL.encode(Array(try header().utf8))).\(Base64URL.encode(Array(payload.utf8)))"
        let signature = try authority.leafKey.signature(for: SHA256.hash(data: Array(signed.utf8)))
        return (signed, [UInt8](signature.rawRepresentation))
    }

    /// The genuine header and payload under another signature.
    func replacingSignature(_ change: ([UInt8]) throws -> [UInt8]) throws -> String {
        let (signed, signature) = try genuineParts()
        return "\(signed).\(Base64URL.encode(try change(signature)))"
    }

    /// Signs the payload with a chain that is made once.
    func sign(
        as name: String, certificates: ((CertificateAuthority.Chain) throws -> [[UInt8]])? = nil,
        _ chain: () throws -> CertificateAuthority.Chain
    ) throws -> String {
        try shelf.signer(name) {
            let chain = try chain()
            return try PayloadSigner(chain: chain, certificates: try certificates?(chain))
        }.sign(payload)
    }

    /// Signs with a chain whose leaf is another.
    func sign(leaf name: String, _ change: (inout CertificateRecipe) -> Void) throws -> String {
        var recipe = CertificateRecipe.leaf
        change(&recipe)
        return try sign(as: name) { try authority.chain(replacingLeaf: recipe, now: now) }
    }

    /// Signs with a chain whose intermediate is another.
    func sign(intermediate name: String, _ change: (inout CertificateRecipe) -> Void) throws -> String {
        var recipe = CertificateRecipe.intermediate
        change(&recipe)
        return try sign(as: name) { try authority.chain(replacingIntermediate: recipe, now: now) }
    }
}

/// False chains that were made already, with their signers: making one takes a few milliseconds.
///
/// Their validity fits wherever the store's clock stands, so they never grow old.
final class SignerShelf: Sendable {
    private let signers = Mutex<[String: PayloadSigner]>([:])

    func signer(_ name: String, make: () throws -> PayloadSigner) throws -> PayloadSigner {
        if let known = signers.withLock({ $0[name] }) { return known }
        let made = try make()
        return signers.withLock { signers in
            let kept = signers[name] ?? made
            signers[name] = kept
            return kept
        }
    }
}
