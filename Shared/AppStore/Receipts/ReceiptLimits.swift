/// What a receipt may have at most, so that nobody can make a verifier work or remember without end.
///
/// How deep values nest needs no number: a receipt is read in a fixed number of steps downwards, without recursion.
public struct ReceiptLimits: Sendable, Hashable {
    /// The defaults, each several times what Apple sends.
    public static let `default` = ReceiptLimits()

    /// Bytes of a receipt in DER.
    ///
    /// The largest at hand, of 187 purchases, has 79 kB. Defaults to 4 MiB, some 10,000 purchases.
    public var receiptBytesMaximum: Int
    /// Certificates in a receipt.
    ///
    /// Apple's have 3. Defaults to 8.
    public var certificatesMaximum: Int
    /// Bytes of one certificate in DER.
    ///
    /// Apple's have 1.5 kB. Defaults to 8,192.
    public var certificateBytesMaximum: Int
    /// Purchases in a receipt; defaults to 10,000.
    public var purchasesMaximum: Int
    /// Verified chains that are remembered; zero remembers none.
    ///
    /// Apple has used some five in ten years. Defaults to 64.
    public var chainsCachedMaximum: Int

    /// Sets the limits; see each property for its meaning and default.
    public init(
        receiptBytesMaximum: Int = 4 << 20,
        certificatesMaximum: Int = 8,
        certificateBytesMaximum: Int = 8_192,
        purchasesMaximum: Int = 10_000,
        chainsCachedMaximum: Int = 64
    ) {
        self.receiptBytesMaximum = receiptBytesMaximum
        self.certificatesMaximum = certificatesMaximum
        self.certificateBytesMaximum = certificateBytesMaximum
        self.purchasesMaximum = purchasesMaximum
        self.chainsCachedMaximum = chainsCachedMaximum
    }
}
