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

    /// The certificates of a server notification and of everything signed in it, each different chain once.
    ///
    /// Nothing is judged here, as in ``certificates(of:)``.
    ///
    /// - Parameter jws: the compact form, as ``notification(_:app:)`` took it.
    /// - Returns: the notification's own chain first; nil when one of them cannot be read.
    public func certificateChains(ofNotification jws: [UInt8]) -> [[[UInt8]]]? {
        guard let own = certificates(of: jws), let parts = CompactJWS(jws),
            let payload = Base64Decoding.urlSafe(jws[parts.payload]),
            let fields = try? JSONObject(
                payload, nestingDepthMaximum: limits.nestingDepthMaximum, keepsUnreadable: true)
        else { return nil }
        var chains = [own]
        for name in ["data", "appData"] {
            guard let inner = try? PayloadFields(fields).strictObject(name) else { continue }
            for field in ["signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo"] {
                guard let nested = try? inner.strictString(field) else { continue }
                guard let chain = certificates(of: Array(nested.utf8)) else { return nil }
                if !chains.contains(chain) { chains.append(chain) }
            }
        }
        return chains
    }
}
