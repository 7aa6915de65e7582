import Crypto

/// The root certificates that signed data may end at, by their SHA-256 fingerprints.
///
/// A root is never trusted because it is in a payload's header: only because its fingerprint is in here.
public struct TrustedRoots: Sendable, Hashable {
    /// Apple Root CA - G3, the root of everything StoreKit 2 and the App Store Server API sign.
    ///
    /// The fingerprint was computed from the certificate that Apple publishes at apple.com/certificateauthority; it is
    /// valid until 2039-04-30.
    public static let appleRootG3 = TrustedRoots(
        checked: ["63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"])

    /// Apple Root CA, the root of every PKCS #7 receipt, old and new.
    ///
    /// The fingerprint is that of the certificate in genuine receipts of 2015 to 2025, and of the one that Apple
    /// publishes; it is valid until 2035-02-09.
    public static let appleRoot = TrustedRoots(
        checked: ["b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024"])

    /// The fingerprints, in lower-case hexadecimal without separators.
    public let fingerprints: Set<String>

    /// Trusts the roots with these SHA-256 fingerprints.
    ///
    /// - Parameter fingerprints: 64 hexadecimal digits each, in either case; colons between the bytes are ignored.
    /// - Throws: ``TrustedRootsError`` when there is none, or when one is not a SHA-256 fingerprint.
    public init(fingerprints: some Sequence<String>) throws(TrustedRootsError) {
        var checked: Set<String> = []
        for (index, fingerprint) in fingerprints.enumerated() {
            let digits = fingerprint.filter { $0 != ":" }.lowercased()
            guard digits.utf8.count == 64, digits.utf8.allSatisfy(Self.isHexDigit) else {
                throw TrustedRootsError(
                    description: "root fingerprint \(index + 1) is not a SHA-256 in hexadecimal (64 digits)")
            }
            checked.insert(digits)
        }
        guard !checked.isEmpty else {
            throw TrustedRootsError(description: "no root fingerprint: nothing could ever be verified")
        }
        self.init(checked: checked)
    }

    /// These roots and those.
    public func union(_ other: TrustedRoots) -> TrustedRoots {
        TrustedRoots(checked: fingerprints.union(other.fingerprints))
    }

    /// Whether the certificate with these DER bytes is one of the roots.
    func contains(certificate: [UInt8]) -> Bool {
        fingerprints.contains(Self.fingerprint(of: certificate))
    }

    static func fingerprint(of certificate: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in SHA256.hash(data: certificate) {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    private init(checked: Set<String>) {
        self.fingerprints = checked
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
    }
}

/// A list of root fingerprints that cannot be used; `description` says which entry and why.
public struct TrustedRootsError: Error, CustomStringConvertible {
    /// What is wrong, safe to show.
    public let description: String
}
