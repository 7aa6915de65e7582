/// A receipt's SignerInfo (RFC 5652, section 5.3): who signed, with what, and the signature.
struct ReceiptSigner {
    /// Object identifiers as they are encoded.
    private enum Name {
        // 1.2.840.113549.1.9.3
        static let contentType: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x03]
        // 1.2.840.113549.1.9.4
        static let messageDigest: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x04]
        /// 1.2.840.113549.1.7.1, with tag and length.
        static let data: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
    }

    private enum Limit {
        /// Signed attributes; signers have two to four.
        static let attributes = 16
    }

    /// The name of the certificate's issuer, with tag and length.
    let issuer: Range<Int>
    /// The certificate's serial number, without tag and length.
    let serialNumber: Range<Int>
    let digest: ReceiptDigest
    /// The signed attributes, without tag and length; Apple's receipts have none.
    let signedAttributes: DERWalk.Element?
    let signature: Range<Int>

    /// - Parameter range: the content of a SignerInfo.
    init(_ bytes: [UInt8], in range: Range<Int>) throws(SignedDataRejection) {
        var walk = DERWalk(bytes, in: range)
        guard walk.next(DERWalk.Tag.integer) != nil, var name = walk.enter(DERWalk.Tag.sequence),
            let issuer = name.next(DERWalk.Tag.sequence), let serialNumber = name.next(DERWalk.Tag.integer),
            name.isAtEnd, let digestName = Self.algorithm(&walk)
        else { throw SignedDataRejection(.notAReceipt, "the signer is not named by issuer and serial number") }
        let signedAttributes = walk.next(DERWalk.Tag.context0)
        guard let signatureName = Self.algorithm(&walk), let signature = walk.next(DERWalk.Tag.octetString) else {
            throw SignedDataRejection(.notAReceipt, "no signature")
        }
        // Unsigned attributes may stand here, and are nobody's word.
        if walk.nextTag == DERWalk.Tag.context1 { _ = walk.next() }
        guard walk.isAtEnd else { throw SignedDataRejection(.notAReceipt, "more than a signature") }
        guard let digest = ReceiptDigest(objectIdentifier: bytes[digestName]) else {
            throw SignedDataRejection(.algorithmNotSupported, "the digest is neither SHA-1 nor SHA-256")
        }
        guard digest.isSigned(by: bytes[signatureName]) else {
            throw SignedDataRejection(.algorithmNotSupported, "the signature is not RSA over the named digest")
        }
        self.issuer = issuer.whole
        self.serialNumber = serialNumber.content
        self.digest = digest
        self.signedAttributes = signedAttributes
        self.signature = signature.content
    }

    /// Where the object identifier of the next AlgorithmIdentifier lies; its parameters must be NULL or absent.
    private static func algorithm(_ walk: inout DERWalk) -> Range<Int>? {
        guard var algorithm = walk.enter(DERWalk.Tag.sequence),
            let name = algorithm.next(DERWalk.Tag.objectIdentifier)
        else { return nil }
        if !algorithm.isAtEnd {
            guard let parameters = algorithm.next(DERWalk.Tag.null), parameters.content.isEmpty else { return nil }
        }
        return algorithm.isAtEnd ? name.content : nil
    }

    /// What the signature is over: the content, or the signed attributes as a SET, when those vouch for the content
    /// (RFC 5652, section 5.4).
    func signedParts(_ bytes: [UInt8], content: Range<Int>) throws(SignedDataRejection) -> [ArraySlice<UInt8>] {
        guard let signedAttributes else { return [bytes[content]] }
        let vouched = Self.attributes(bytes, in: signedAttributes.content, contentDigest: digest.hash(bytes[content]))
        guard vouched else {
            throw SignedDataRejection(.signatureInvalid, "the signed attributes do not vouch for this content")
        }
        return [[DERWalk.Tag.set], bytes[signedAttributes.whole].dropFirst()]
    }

    /// Whether the attributes have the content's type and digest, each once and with one value (RFC 5652, section 11).
    private static func attributes(_ bytes: [UInt8], in range: Range<Int>, contentDigest: [UInt8]) -> Bool {
        var walk = DERWalk(bytes, in: range)
        var types = 0
        var digests = 0
        for _ in 0..<Limit.attributes where !walk.isAtEnd {
            guard var attribute = walk.enter(DERWalk.Tag.sequence),
                let name = attribute.next(DERWalk.Tag.objectIdentifier),
                var values = attribute.enter(DERWalk.Tag.set), attribute.isAtEnd, let value = values.next()
            else { return false }
            if DERWalk.areEqual(bytes[name.content], Name.contentType[...]) {
                guard values.isAtEnd, DERWalk.areEqual(bytes[value.whole], Name.data[...]) else { return false }
                types += 1
            } else if DERWalk.areEqual(bytes[name.content], Name.messageDigest[...]) {
                guard values.isAtEnd, value.tag == DERWalk.Tag.octetString,
                    DERWalk.areEqual(bytes[value.content], contentDigest[...])
                else { return false }
                digests += 1
            }
        }
        return walk.isAtEnd && types == 1 && digests == 1
    }
}
