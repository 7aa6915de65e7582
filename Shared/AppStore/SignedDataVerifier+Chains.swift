extension SignedDataVerifier {
    /// Whether the chain of a JWS was verified before, so that a further signature costs little.
    ///
    /// Nothing is judged here.
    ///
    /// - Parameter jws: the compact form.
    public func knowsChain(of jws: [UInt8]) -> Bool {
        guard jws.count <= limits.signedDataBytesMaximum, let parts = CompactJWS(jws) else { return false }
        if cache.chain(for: jws[parts.header]) != nil { return true }
        guard let certificates = certificates(of: jws) else { return false }
        return paths.chain(for: VerifiedPath.key(of: certificates)[...]) != nil
    }

    /// Verifies the chain of a header and remembers it, before anything comes that was signed with it.
    ///
    /// - Parameter header: the header's part of a JWS that was verified somewhere else: another's would take the place of
    ///   a chain that is in use.
    /// - Returns: false when the header has no chain that leads to a trusted root. The validity of its certificates is
    ///   judged with each payload.
    @discardableResult
    public func learn(header: [UInt8]) -> Bool {
        guard cache.chain(for: header[...]) == nil else { return true }
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
