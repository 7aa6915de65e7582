extension SignedDataVerifier {
    /// The certificates of a JWS's header, for asking whether they are revoked.
    ///
    /// Nothing of them is judged here: only a JWS that was verified before says who signed it.
    ///
    /// - Parameter jws: the compact form, as ``transaction(_:app:)`` took it.
    /// - Returns: leaf, intermediate and root in DER, in this order; nil when the JWS is larger than the limits or its
    ///   header does not carry exactly three certificates.
    public func certificates(of jws: [UInt8]) -> [[UInt8]]? {
        guard jws.count <= limits.signedDataBytesMaximum, let parts = CompactJWS(jws),
            let header = Base64Decoding.urlSafe(jws[parts.header])
        else { return nil }
        return try? SignedDataHeader(header, limits: limits).certificates
    }
}
