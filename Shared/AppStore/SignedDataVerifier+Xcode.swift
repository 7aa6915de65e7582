import Crypto
import JSONText
import SwiftASN1
import X509

/// What StoreKit Testing in Xcode signs: an app's own tests, on a developer's machine.
///
/// Xcode signs with a key of each machine, under one certificate that it made itself. A verifier that is told none of them, which is
/// every one but a development server's, refuses all of it (``RejectionCode/environmentXcode``).
extension SignedDataVerifier {
    /// Whether it was signed under a certificate of Xcode that this server takes.
    public func isSignedByXcode(_ jws: [UInt8]) -> Bool { signedByXcode(jws) != nil }

    /// The content of a transaction that was signed under one of the trusted certificates of Xcode.
    ///
    /// - Returns: nil for everything else, whatever is wrong with it.
    func signedByXcode(_ jws: [UInt8]) -> SignedContent? {
        guard let xcode, jws.count <= limits.signedDataBytesMaximum, let parts = CompactJWS(jws),
            let header = Base64Decoding.urlSafe(jws[parts.header]),
            let payload = Base64Decoding.urlSafe(jws[parts.payload]),
            let signature = Base64Decoding.urlSafe(jws[parts.signature]),
            let encoded = xcodeCertificate(in: header), xcode.contains(certificate: encoded),
            xcode.firstDenied(in: [encoded]) == nil,
            let certificate = try? Certificate(derEncoded: encoded),
            let key = P256.Signing.PublicKey(certificate.publicKey),
            var content = try? readContent(payload)
        else { return nil }
        let validity = ChainValidity(from: certificate.notValidBefore, until: certificate.notValidAfter)
        let path = VerifiedPath(certificates: [encoded], leafKey: key, validity: validity)
        let chain = VerifiedChain(header: Array(jws[parts.header]), path: path)
        do {
            try validity.check(at: content.signedDate)
            try chain.checkSignature(signature, of: jws[parts.payload])
        } catch {
            return nil
        }
        content = content.signed(under: validity)
        content.isXcodes = true
        return content
    }

    /// The one certificate of a header of Xcode's.
    private func xcodeCertificate(in header: [UInt8]) -> [UInt8]? {
        guard let fields = try? JSONObject(header, nestingDepthMaximum: limits.nestingDepthMaximum),
            case .string("ES256")? = fields["alg"], case .string(SignedDataHeader.xcodeKeyId)? = fields["kid"],
            fields["crit"] == nil, fields["b64"] == nil, case .array(let place)? = fields["x5c"]
        else { return nil }
        let elements = fields.elements(at: place)
        guard elements.count == 1, case .string(let text) = elements[0],
            let certificate = Base64Decoding.padded(Array(text.utf8)[...]),
            certificate.count <= limits.certificateBytesMaximum
        else { return nil }
        return certificate
    }
}
