/// A receipt's envelope, a SignedData of PKCS #7 (RFC 2315; RFC 5652, section 5): where its parts lie.
///
/// Nothing of it has been checked but its form.
struct SignedReceipt {
    /// A certificate, as far as the signer and the issuers are found by it.
    struct Certificate {
        let whole: Range<Int>
        /// The number, without tag and length.
        let serialNumber: Range<Int>
        /// The issuer's name, with tag and length.
        let issuer: Range<Int>
        /// The subject's name, with tag and length.
        let subject: Range<Int>
    }

    /// Object identifiers as they are encoded.
    private enum Name {
        // 1.2.840.113549.1.7.1
        static let data: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
        // 1.2.840.113549.1.7.2
        static let signedData: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
    }

    /// The whole receipt in DER.
    let bytes: [UInt8]
    /// What is signed: the receipt's attributes.
    let content: Range<Int>
    let certificates: [Certificate]
    let signer: ReceiptSigner

    /// Reads the envelope: what is not DER, or has another form, is no receipt.
    init(_ bytes: [UInt8], limits: ReceiptLimits) throws(SignedDataRejection) {
        var outer = DERWalk(bytes)
        guard var contentInfo = outer.enter(DERWalk.Tag.sequence), outer.isAtEnd,
            let type = contentInfo.next(DERWalk.Tag.objectIdentifier),
            DERWalk.areEqual(bytes[type.content], Name.signedData[...]),
            var explicit = contentInfo.enter(DERWalk.Tag.context0), contentInfo.isAtEnd,
            var signedData = explicit.enter(DERWalk.Tag.sequence), explicit.isAtEnd
        else { throw SignedDataRejection(.notAReceipt, "not a PKCS #7 SignedData in DER") }

        guard signedData.next(DERWalk.Tag.integer) != nil, signedData.next(DERWalk.Tag.set) != nil,
            let content = Self.content(&signedData)
        else { throw SignedDataRejection(.notAReceipt, "no signed content") }
        guard var certificates = signedData.enter(DERWalk.Tag.context0) else {
            throw SignedDataRejection(.certificateCount, "no certificates")
        }
        // Revocation lists may stand here; Apple sends none, and nothing here would use them.
        if signedData.nextTag == DERWalk.Tag.context1 { _ = signedData.next() }
        guard var signers = signedData.enter(DERWalk.Tag.set), signedData.isAtEnd,
            let signer = signers.next(DERWalk.Tag.sequence), signers.isAtEnd
        else { throw SignedDataRejection(.notAReceipt, "not exactly one signer") }

        self.bytes = bytes
        self.content = content
        self.certificates = try Self.certificates(&certificates, limits: limits)
        self.signer = try ReceiptSigner(bytes, in: signer.content)
    }

    /// The content of EncapsulatedContentInfo (RFC 5652, section 5.2), which must be plain data.
    private static func content(_ signedData: inout DERWalk) -> Range<Int>? {
        guard var encapsulated = signedData.enter(DERWalk.Tag.sequence),
            let type = encapsulated.next(DERWalk.Tag.objectIdentifier),
            DERWalk.areEqual(encapsulated.bytes[type.content], Name.data[...]),
            var explicit = encapsulated.enter(DERWalk.Tag.context0), encapsulated.isAtEnd,
            let octets = explicit.next(DERWalk.Tag.octetString), explicit.isAtEnd
        else { return nil }
        return octets.content
    }

    private static func certificates(
        _ walk: inout DERWalk, limits: ReceiptLimits
    ) throws(SignedDataRejection) -> [Certificate] {
        var certificates: [Certificate] = []
        while !walk.isAtEnd {
            guard certificates.count < limits.certificatesMaximum else {
                throw SignedDataRejection(.certificateCount, "more than \(limits.certificatesMaximum) certificates")
            }
            guard let element = walk.next(DERWalk.Tag.sequence), let certificate = certificate(element, in: walk.bytes)
            else {
                throw SignedDataRejection(.certificateInvalid, "certificate \(certificates.count + 1) cannot be read")
            }
            guard element.whole.count <= limits.certificateBytesMaximum else {
                throw SignedDataRejection(.certificateInvalid, "certificate \(certificates.count + 1) is too large")
            }
            certificates.append(certificate)
        }
        return certificates
    }

    /// The names of a certificate (RFC 5280, section 4.1).
    private static func certificate(_ element: DERWalk.Element, in bytes: [UInt8]) -> Certificate? {
        var walk = DERWalk(bytes, in: element.content)
        guard var body = walk.enter(DERWalk.Tag.sequence) else { return nil }
        if body.nextTag == DERWalk.Tag.context0 { _ = body.next() }
        guard let serialNumber = body.next(DERWalk.Tag.integer), body.next(DERWalk.Tag.sequence) != nil,
            let issuer = body.next(DERWalk.Tag.sequence), body.next(DERWalk.Tag.sequence) != nil,
            let subject = body.next(DERWalk.Tag.sequence)
        else { return nil }
        return Certificate(
            whole: element.whole, serialNumber: serialNumber.content, issuer: issuer.whole, subject: subject.whole)
    }
}
