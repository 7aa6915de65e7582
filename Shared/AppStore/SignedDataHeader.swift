import JSONText

/// The header of a JWS, as far as the App Store uses it: `alg` and `x5c` (ADP JWSDecodedHeader).
struct SignedDataHeader {
    /// Leaf, intermediate, root: what the header claims, in DER, of which nothing has been checked.
    let certificates: [[UInt8]]

    private static let certificateCount = 3
    /// The key that Xcode says it signs with; it has one certificate of its own.
    static let xcodeKeyId = "Apple_Xcode_Key"

    /// Reads a header, part of C6's first step: ES256 exactly, and exactly three certificates.
    init(_ bytes: [UInt8], limits: SignedDataLimits) throws(SignedDataRejection) {
        let header: JSONObject
        let elements: [JSONValue]
        do {
            header = try JSONObject(bytes, nestingDepthMaximum: limits.nestingDepthMaximum)
        } catch {
            throw SignedDataRejection(.headerInvalid, "the header is not JSON: \(error.reason)")
        }
        guard case .string("ES256") = header["alg"] else {
            throw SignedDataRejection(.algorithmNotES256, "alg is not ES256")
        }
        // RFC 7515, section 4.1.11: who does not understand what `crit` names must refuse, and Apple names nothing.
        guard header["crit"] == nil else { throw SignedDataRejection(.headerInvalid, "crit is not supported") }
        // RFC 7515, section 4.1.4: a `kid` is text. RFC 7797, section 6: what is not base64url says so in `crit` too.
        switch header["kid"] {
        case nil, .string?: break
        default: throw SignedDataRejection(.headerInvalid, "kid is not a string")
        }
        guard header["b64"] != .bool(false) else { throw SignedDataRejection(.headerInvalid, "b64 is not supported") }
        switch header["x5c"] {
        case .array(let place): elements = header.elements(at: place)
        case nil, .null?: throw SignedDataRejection(.certificateCount, "no x5c")
        default: throw SignedDataRejection(.headerInvalid, "x5c is not an array")
        }
        if elements.count != Self.certificateCount, case .string(Self.xcodeKeyId)? = header["kid"] {
            // It is refused either way; this says what a developer has to know.
            throw SignedDataRejection(.environmentXcode, "signed by StoreKit Testing in Xcode")
        }
        guard elements.count == Self.certificateCount else {
            throw SignedDataRejection(.certificateCount, "x5c has \(elements.count) certificates, not 3")
        }
        var certificates: [[UInt8]] = []
        for (index, element) in elements.enumerated() {
            guard case .string(let text) = element else {
                throw SignedDataRejection(.headerInvalid, "x5c[\(index)] is not a string")
            }
            guard let certificate = Base64Decoding.padded(Array(text.utf8)[...]) else {
                throw SignedDataRejection(.certificateInvalid, "x5c[\(index)] is not base64")
            }
            guard certificate.count <= limits.certificateBytesMaximum else {
                throw SignedDataRejection(.certificateInvalid, "x5c[\(index)] is too large")
            }
            certificates.append(certificate)
        }
        self.certificates = certificates
    }
}
