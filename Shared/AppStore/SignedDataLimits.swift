/// What a verifier accepts at most, so that nobody can make it work or remember without end.
public struct SignedDataLimits: Sendable, Hashable {
    /// The defaults, each several times what Apple sends.
    public static let `default` = SignedDataLimits()

    /// Bytes of a signed payload in its compact form.
    ///
    /// Apple's largest, a notification with both of its signed parts, has 19 kB. Defaults to 262,144.
    public var signedDataBytesMaximum: Int
    /// How deep objects and arrays may nest in a header or payload.
    ///
    /// Apple's go 4 deep. Defaults to 32.
    public var nestingDepthMaximum: Int
    /// Bytes of one certificate in DER.
    ///
    /// Apple's have 1.1 kB. Defaults to 8,192.
    public var certificateBytesMaximum: Int
    /// Verified chains that are remembered; zero remembers none.
    ///
    /// Apple uses two or three at a time. Defaults to 64.
    public var chainsCachedMaximum: Int

    /// Sets the limits; see each property for its meaning and default.
    public init(
        signedDataBytesMaximum: Int = 262_144,
        nestingDepthMaximum: Int = 32,
        certificateBytesMaximum: Int = 8_192,
        chainsCachedMaximum: Int = 64
    ) {
        self.signedDataBytesMaximum = signedDataBytesMaximum
        self.nestingDepthMaximum = nestingDepthMaximum
        self.certificateBytesMaximum = certificateBytesMaximum
        self.chainsCachedMaximum = chainsCachedMaximum
    }
}
