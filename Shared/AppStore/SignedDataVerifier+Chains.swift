extension SignedDataVerifier {
    /// Whether something was verified with exactly this header, so that what comes under it costs one signature.
    ///
    /// Nothing is judged here. It costs a comparison.
    ///
    /// - Parameter header: the header's part of a JWS.
    public func knows(header: [UInt8]) -> Bool { cache.chain(for: header[...]) != nil }

    /// Verifies the chain of a header and remembers it, before anything comes that was signed with it.
    ///
    /// - Parameter header: the header's part of a JWS that was verified somewhere else: another's would take the place of
    ///   a chain that is in use.
    /// - Returns: false when the header has no chain that leads to a trusted root. The validity of its certificates is
    ///   judged with each payload.
    @discardableResult
    public func learn(header: [UInt8]) -> Bool {
        guard !knows(header: header) else { return true }
        guard header.count <= limits.signedDataBytesMaximum, let text = Base64Decoding.urlSafe(header[...]),
            let certificates = try? SignedDataHeader(text, limits: limits).certificates,
            let path = try? judgedPath(of: certificates)
        else { return false }
        cache.insert(VerifiedChain(header: header, path: path))
        paths.insert(path)
        return true
    }

    private func judgedPath(of certificates: [[UInt8]]) throws(SignedDataRejection) -> VerifiedPath? {
        let chain = try CertificateChain(certificates, roots: roots)
        try chain.checkPath()
        try chain.checkMarkers()
        return chain.verifiedPath(certificates)
    }
}
