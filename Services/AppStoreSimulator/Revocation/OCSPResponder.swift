import Crypto
import Foundation
import SwiftASN1
import X509

/// Says whether certificates of the simulator's authority are revoked (RFC 6960).
///
/// Each answer is signed by the issuer of the certificate that is asked about: the root for intermediates, the
/// intermediate for leaves. A certificate counts by its issuer, not by its number: all leaves are good or none.
struct OCSPResponder: Sendable {
    enum Limit {
        /// For how long an answer may be kept, in seconds: Apple's last half a day; here a change must be seen soon.
        static let answerLifetime: TimeInterval = 600
    }

    fileprivate enum Issuer {
        case root
        case intermediate
    }

    private let authority: CertificateAuthority

    init(authority: CertificateAuthority) {
        self.authority = authority
    }

    /// The answer to a request, both in DER.
    ///
    /// - Parameter now: our own time, since who asks compares the answer with its own.
    func answer(_ request: [UInt8], setting: RevocationSetting, now: Date) -> [UInt8] {
        if setting.responder == .tryLater { return OCSPResponse.failure(.tryLater) }
        guard let request = try? OCSPRequest(derEncoded: request) else {
            return OCSPResponse.failure(.malformedRequest)
        }
        guard let issuer = issuer(of: request) else { return OCSPResponse.failure(.unauthorized) }
        do {
            return try signed(
                OCSPResponse.Single(
                    certificateID: request.certificateID, status: setting.status(issuer),
                    revocationDate: setting.revocationDate ?? now), by: issuer, now: now)
        } catch {
            return OCSPResponse.failure(.internalError)
        }
    }

    private func signed(_ single: OCSPResponse.Single, by issuer: Issuer, now: Date) throws -> [UInt8] {
        let (certificate, key) =
            switch issuer {
            case .root: (authority.root, authority.rootKey)
            case .intermediate: (authority.intermediate, authority.intermediateKey)
            }
        let content = try OCSPResponse.content(
            single, keyHash: Array(Insecure.SHA1.hash(data: certificate.publicKey.subjectPublicKeyInfoBytes)),
            validity: now...(now + Limit.answerLifetime))
        let signature = try key.signature(for: SHA384.hash(data: content))
        return try OCSPResponse.successful(content: content, signature: [UInt8](signature.derRepresentation))
    }

    /// Which of our authorities issued a certificate; nil when neither did.
    private func issuer(of certificate: OCSPRequest) -> Issuer? {
        if isIssued(certificate, by: authority.intermediate) { return .intermediate }
        if isIssued(certificate, by: authority.root) { return .root }
        return nil
    }

    private func isIssued(_ certificate: OCSPRequest, by issuer: Certificate) -> Bool {
        var name = DER.Serializer()
        guard (try? name.serialize(issuer.subject)) != nil,
            let nameHash = Self.hash(name.serializedBytes[...], certificate.hashAlgorithm),
            let keyHash = Self.hash(issuer.publicKey.subjectPublicKeyInfoBytes, certificate.hashAlgorithm)
        else { return false }
        return nameHash[...] == certificate.issuerNameHash && keyHash[...] == certificate.issuerKeyHash
    }

    private static func hash(_ bytes: ArraySlice<UInt8>, _ algorithm: ASN1ObjectIdentifier) -> [UInt8]? {
        switch algorithm {
        case [1, 3, 14, 3, 2, 26]: Array(Insecure.SHA1.hash(data: bytes))
        case [2, 16, 840, 1, 101, 3, 4, 2, 1]: Array(SHA256.hash(data: bytes))
        case [2, 16, 840, 1, 101, 3, 4, 2, 2]: Array(SHA384.hash(data: bytes))
        case [2, 16, 840, 1, 101, 3, 4, 2, 3]: Array(SHA512.hash(data: bytes))
        default: nil
        }
    }
}

extension RevocationSetting {
    /// What is said of certificates of an issuer.
    fileprivate func status(_ issuer: OCSPResponder.Issuer) -> RevocationStatus {
        switch issuer {
        case .root: intermediate
        case .intermediate: leaf
        }
    }
}
