import Crypto

/// The root certificates that signed data may end at, and the certificates that no chain may have, by their SHA-256
/// fingerprints.
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
    /// The fingerprints of certificates that are denied: leaves, intermediates or roots.
    public let denied: Set<String>

    /// Those that are none of the two of Apple's above: whoever has such a root's key can sign what is trusted.
    public var foreign: Set<String> {
        fingerprints.subtracting(Self.appleRootG3.fingerprints).subtracting(Self.appleRoot.fingerprints)
    }

    /// Trusts the roots with these SHA-256 fingerprints.
    ///
    /// - Parameter fingerprints: 64 hexadecimal digits each, in either case; colons between the bytes are ignored.
    /// - Throws: ``TrustedRootsError`` when there is none, or when one is not a SHA-256 fingerprint.
    public init(fingerprints: some Sequence<String>) throws(TrustedRootsError) {
        let checked = try Self.checked(fingerprints, of: "root")
        guard !checked.isEmpty else {
            throw TrustedRootsError(description: "no root fingerprint: nothing could ever be verified")
        }
        self.init(checked: checked)
    }

    /// The same roots, under which no chain is good that has one of these certificates, whatever it signed and when.
    ///
    /// - Parameter fingerprints: as of the roots; none denies nothing.
    /// - Throws: ``TrustedRootsError`` when one is not a SHA-256 fingerprint.
    public func denying(_ fingerprints: some Sequence<String>) throws(TrustedRootsError) -> TrustedRoots {
        TrustedRoots(
            checked: self.fingerprints,
            denied: denied.union(try Self.checked(fingerprints, of: "denied certificate's")))
    }

    /// These roots and those; what either denies is denied.
    public func union(_ other: TrustedRoots) -> TrustedRoots {
        TrustedRoots(
            checked: fingerprints.union(other.fingerprints), denied: denied.union(other.denied))
    }

    /// Whether the certificate with these DER bytes is one of the roots.
    func contains(certificate: [UInt8]) -> Bool {
        fingerprints.contains(Self.fingerprint(of: certificate))
    }

    /// Where in a chain the first certificate is that is denied.
    func firstDenied(in certificates: [[UInt8]]) -> Int? {
        // Nothing is hashed where nothing is denied.
        guard !denied.isEmpty else { return nil }
        return certificates.firstIndex { denied.contains(Self.fingerprint(of: $0)) }
    }

    private static func checked(
        _ fingerprints: some Sequence<String>, of noun: String
    ) throws(TrustedRootsError) -> Set<String> {
        var checked: Set<String> = []
        for (index, fingerprint) in fingerprints.enumerated() {
            let digits = fingerprint.filter { $0 != ":" }.lowercased()
            guard digits.utf8.count == 64, digits.utf8.allSatisfy(isHexDigit) else {
                throw TrustedRootsError(
                    description: "\(noun) fingerprint \(index + 1) is not a SHA-256 in hexadecimal (64 digits)")
            }
            checked.insert(digits)
        }
        return checked
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

    private init(checked: Set<String>, denied: Set<String> = []) {
        self.fingerprints = checked
        self.denied = denied
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
    }
}

/// A list of fingerprints that cannot be used; `description` says which entry and why.
public struct TrustedRootsError: Error, CustomStringConvertible {
    /// What is wrong, safe to show.
    public let description: String
}
