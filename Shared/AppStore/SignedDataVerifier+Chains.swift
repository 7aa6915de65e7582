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
        guard header.count <= limits.signedDataBytesMaximum, let path = path(of: header) else { return false }
        cache.insert(VerifiedChain(header: header, path: path))
        paths.insert(path)
        return true
    }

    /// Whether a trusted leaf signed it, whatever it says, and whenever that was.
    func isSigned(_ jws: [UInt8]) -> Bool {
        guard let parts = CompactJWS(jws), let signature = Base64Decoding.urlSafe(jws[parts.signature]) else {
            return false
        }
        let header = Array(jws[parts.header])
        guard
            let chain = cache.chain(for: header[...])
                ?? path(of: header).map({ VerifiedChain(header: header, path: $0) })
        else { return false }
        return (try? chain.checkSignature(signature, of: jws[parts.payload])) != nil
    }

    /// The path of a header's certificates, judged now or before, whatever the time; nil where it leads to no trusted root.
    private func path(of header: [UInt8]) -> VerifiedPath? {
        guard let text = Base64Decoding.urlSafe(header[...]),
            let certificates = try? SignedDataHeader(text, limits: limits).certificates
        else { return nil }
        return paths.chain(for: VerifiedPath.key(of: certificates)[...]) ?? (try? judgedPath(of: certificates))
    }

    private func judgedPath(of certificates: [[UInt8]]) throws(SignedDataRejection) -> VerifiedPath? {
        let chain = try CertificateChain(certificates, roots: roots)
        try chain.checkPath()
        try chain.checkMarkers()
        return chain.verifiedPath(certificates)
    }
}
