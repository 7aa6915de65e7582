public import Foundation

/// Messages that keep subscribers, and their images (ADP, Retention Messaging API).
extension AppStoreServerClient {
    /// Upload Image: a PNG without transparency.
    ///
    /// - Parameter identifier: the caller's name for it.
    public func uploadRetentionImage(
        _ identifier: UUID, png: [UInt8], size: RetentionImageSize? = nil, in environment: AppStoreEnvironment
    ) async throws {
        guard png.starts(with: RetentionLimit.pngSignature) else {
            throw AppStoreServerError.refused(.invalidImage, "png: not a PNG")
        }
        guard png.count <= RetentionLimit.imageBytes else {
            throw AppStoreServerError.refused(.invalidImage, "png: at most \(RetentionLimit.imageBytes) bytes")
        }
        var call = APICall(.put, "v1", "messaging", "image", Self.text(identifier))
            .query([("imageSize", size?.rawValue)])
        call.body = .png(png)
        try await perform(call, in: environment)
    }

    /// Delete Image; one that a message shows stays.
    public func deleteRetentionImage(_ identifier: UUID, in environment: AppStoreEnvironment) async throws {
        try await perform(APICall(.delete, "v1", "messaging", "image", Self.text(identifier)), in: environment)
    }

    /// Get Image List.
    public func retentionImages(in environment: AppStoreEnvironment) async throws -> [RetentionImage] {
        struct List: Decodable { let imageIdentifiers: [RetentionImage]? }
        let list: List = try await value(APICall(.get, "v1", "messaging", "image", "list"), in: environment)
        return list.imageIdentifiers ?? []
    }

    /// Upload Message.
    ///
    /// - Parameter identifier: the caller's name for it.
    public func uploadRetentionMessage(
        _ identifier: UUID, _ message: RetentionMessageContent, in environment: AppStoreEnvironment
    ) async throws {
        try message.check()
        try await perform(
            APICall(.put, "v1", "messaging", "message", Self.text(identifier)).json(message), in: environment)
    }

    /// Delete Message.
    public func deleteRetentionMessage(_ identifier: UUID, in environment: AppStoreEnvironment) async throws {
        try await perform(APICall(.delete, "v1", "messaging", "message", Self.text(identifier)), in: environment)
    }

    /// Get Message List.
    public func retentionMessages(in environment: AppStoreEnvironment) async throws -> [RetentionMessage] {
        struct List: Decodable { let messageIdentifiers: [RetentionMessage]? }
        let list: List = try await value(APICall(.get, "v1", "messaging", "message", "list"), in: environment)
        return list.messageIdentifiers ?? []
    }

    /// A UUID as Apple writes it.
    static func text(_ identifier: UUID) -> String { identifier.uuidString.lowercased() }
}

/// An uploaded image.
public struct RetentionImage: Decodable, Sendable, Hashable {
    /// Its name.
    public let imageIdentifier: UUID
    /// Where its review stands.
    public let imageState: RetentionReviewState?
    /// What it is for.
    public let imageSize: RetentionImageSize?
}

/// An uploaded message.
public struct RetentionMessage: Decodable, Sendable, Hashable {
    /// Its name.
    public let messageIdentifier: UUID
    /// Where its review stands.
    public let messageState: RetentionReviewState?
}
