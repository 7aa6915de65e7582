public import Foundation

/// What retention messages may be (ADP, Upload Message), in characters and numbers.
enum RetentionLimit {
    static let header = 66
    static let body = 144
    static let altText = 150
    static let bulletPointText = 66
    static let bulletPoints = 5
    /// Characters of a real-time URL.
    static let url = 256
    /// Bytes of an image: Apple names no limit, and a PNG of 3840 by 2160 pixels of noise has 25 million.
    static let imageBytes = 32 << 20
    /// How every PNG begins (W3C PNG, 5.2).
    static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
}

/// What a message says (ADP, UploadMessageRequestBody).
public struct RetentionMessageContent: Encodable, Sendable, Hashable {
    /// Up to 66 characters.
    public var header: String
    /// Up to 144 characters.
    public var body: String
    /// Above the text.
    public var image: Image?
    /// Where the header stands; above the image only if there is one.
    public var headerPosition: RetentionHeaderPosition?
    /// Up to five.
    public var bulletPoints: [BulletPoint]?

    /// An image that was uploaded in full size.
    public struct Image: Encodable, Sendable, Hashable {
        /// Its name.
        public var imageIdentifier: UUID
        /// For those who do not see it; up to 150 characters.
        public var altText: String

        /// Takes the fields.
        public init(imageIdentifier: UUID, altText: String) {
            self.imageIdentifier = imageIdentifier
            self.altText = altText
        }
    }

    /// A line with an image.
    public struct BulletPoint: Encodable, Sendable, Hashable {
        /// Up to 66 characters.
        public var text: String
        /// The name of an image of a bullet point's size.
        public var imageIdentifier: UUID
        /// For those who do not see it; up to 150 characters.
        public var altText: String

        /// Takes the fields.
        public init(text: String, imageIdentifier: UUID, altText: String) {
            self.text = text
            self.imageIdentifier = imageIdentifier
            self.altText = altText
        }
    }

    /// Takes the fields.
    public init(
        header: String, body: String, image: Image? = nil, headerPosition: RetentionHeaderPosition? = nil,
        bulletPoints: [BulletPoint]? = nil
    ) {
        self.header = header
        self.body = body
        self.image = image
        self.headerPosition = headerPosition
        self.bulletPoints = bulletPoints
    }

    /// Refuses what Apple would refuse.
    ///
    /// - Throws: ``AppStoreServerError`` with 4000162, 4000163, 4000175, 4000218, 4000219, 4000224.
    func check() throws {
        let points = bulletPoints ?? []
        let altTexts = points.map(\.altText) + [image?.altText ?? ""]
        try Self.require(header.count <= RetentionLimit.header, .headerTooLong, "header: at most 66 characters")
        try Self.require(body.count <= RetentionLimit.body, .bodyTooLong, "body: at most 144 characters")
        try Self.require(
            points.count <= RetentionLimit.bulletPoints, .badRequestTooManyBulletPoints, "bulletPoints: at most 5")
        try Self.require(
            points.allSatisfy { $0.text.count <= RetentionLimit.bulletPointText },
            .badRequestBulletPointTextTooLong, "bulletPoints: texts of at most 66 characters")
        try Self.require(
            altTexts.allSatisfy { $0.count <= RetentionLimit.altText }, .altTextTooLong,
            "altText: at most 150 characters")
        try Self.require(
            headerPosition != .aboveImage || image != nil, .badRequestAboveImageRequiresAnImage,
            "headerPosition: above an image, there must be one")
    }

    private static func require(_ isGood: Bool, _ code: AppStoreServerError.Code, _ message: String) throws {
        guard isGood else { throw AppStoreServerError.refused(code, message) }
    }
}
