import Foundation

/// What a message says: Apple's `UploadMessageRequestBody`.
struct RetentionMessageContent: Codable, Sendable {
    /// Apple's limits (Upload Message), in characters.
    enum Limit {
        static let header = 66
        static let body = 144
        static let altText = 150
        static let bulletPointText = 66
        static let bulletPoints = 5
        /// Bytes of a request's body: all texts at their longest in UTF-8, and room to spare.
        static let requestBytes = 65_536
    }

    /// Apple's `headerPosition`.
    enum HeaderPosition: String, Codable, Sendable {
        case aboveBody = "ABOVE_BODY"
        case aboveImage = "ABOVE_IMAGE"
    }

    struct Image: Codable, Sendable {
        var imageIdentifier: String
        var altText: String
    }

    struct BulletPoint: Codable, Sendable {
        var text: String
        var imageIdentifier: String
        var altText: String
    }

    var header: String
    var body: String
    var image: Image?
    var headerPosition: HeaderPosition?
    var bulletPoints: [BulletPoint]?

    /// Every image that it shows, with the size that the image must have.
    var images: [(identifier: String, size: RetentionImage.Size)] {
        (image.map { [($0.imageIdentifier, .full)] } ?? [])
            + (bulletPoints ?? []).map { ($0.imageIdentifier, .bulletPoint) }
    }

    /// Reads an upload and checks its lengths; which images there are, the store knows.
    init(json: Data) throws {
        do {
            self = try JSONDecoder().decode(Self.self, from: json)
        } catch {
            throw APIError.generalBadRequest
        }
        guard header.count <= Limit.header else { throw APIError.headerTooLong }
        guard body.count <= Limit.body else { throw APIError.bodyTooLong }
        let points = bulletPoints ?? []
        guard points.count <= Limit.bulletPoints else { throw APIError.tooManyBulletPoints }
        guard points.allSatisfy({ $0.text.count <= Limit.bulletPointText }) else {
            throw APIError.bulletPointTextTooLong
        }
        guard (points.map(\.altText) + [image?.altText ?? ""]).allSatisfy({ $0.count <= Limit.altText }) else {
            throw APIError.altTextTooLong
        }
        guard headerPosition != .aboveImage || image != nil else { throw APIError.aboveImageRequiresAnImage }
        if let image {
            self.image?.imageIdentifier = try RetentionIdentifier.uuid(image.imageIdentifier)
        }
        for index in points.indices {
            bulletPoints?[index].imageIdentifier = try RetentionIdentifier.uuid(points[index].imageIdentifier)
        }
    }
}

/// The names in paths and bodies.
enum RetentionIdentifier {
    /// A UUID in lower case, as it is kept.
    static func uuid(_ text: (some StringProtocol)?) throws(APIError) -> String {
        guard let text, UUID(uuidString: String(text)) != nil else { throw APIError.generalBadRequest }
        return text.lowercased()
    }

    /// A locale as Apple writes it: language, perhaps script, perhaps region (BCP 47), such as `en-US`.
    static func isLocale(_ text: String) -> Bool {
        text.wholeMatch(of: /[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?/) != nil
    }
}
