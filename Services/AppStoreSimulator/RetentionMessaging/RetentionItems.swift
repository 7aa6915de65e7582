import Foundation

/// What a developer uploaded or configured for retention messaging; each kind is a row of its own.
protocol RetentionItem: Codable, Sendable {
    /// The first part of the row's id.
    static var kind: String { get }
    /// Its own name within an app and environment; empty where there is only one.
    var key: String { get }
}

/// Where the review of an image or a message stands (Apple's `imageState`, `messageState`).
enum RetentionState: String, Codable, Sendable, CaseIterable {
    case pending = "PENDING"
    case approved = "APPROVED"
    case rejected = "REJECTED"
}

/// Images and messages: Apple looks at each before it may be shown.
///
/// The sandbox approves at once (Apple, Upload Image); in production the simulator approves after
/// ``RetentionReview/length`` of virtual time, unless the control API decided otherwise.
protocol ReviewedRetentionItem: RetentionItem {
    /// Virtual milliseconds since 1970.
    var uploadedDate: Int64 { get }
    /// What the control API decided.
    var review: RetentionState? { get set }
}

enum RetentionReview {
    /// How long a review takes in production when nobody decides: a day, in milliseconds; Apple promises nothing.
    static let length: Int64 = 86_400_000
}

extension ReviewedRetentionItem {
    func state(in environment: StoreEnvironment, now: Int64) -> RetentionState {
        if let review { return review }
        return environment == .sandbox || now >= uploadedDate + RetentionReview.length ? .approved : .pending
    }
}

/// An uploaded picture: not the picture, only what tells it from others.
struct RetentionImage: ReviewedRetentionItem {
    /// Apple's `imageSize`.
    enum Size: String, Codable, Sendable {
        case full = "FULL_SIZE"
        case bulletPoint = "BULLET_POINT"
    }

    static let kind = "image"
    var key: String { imageIdentifier }
    /// The developer's UUID, in lower case.
    var imageIdentifier: String
    var size: Size
    var byteCount: Int
    /// SHA-256, hexadecimal.
    var digest: String
    var width: Int
    var height: Int
    var uploadedDate: Int64
    var review: RetentionState?
}

/// An uploaded message.
struct RetentionMessage: ReviewedRetentionItem {
    static let kind = "message"
    var key: String { messageIdentifier }
    /// The developer's UUID, in lower case.
    var messageIdentifier: String
    var content: RetentionMessageContent
    var uploadedDate: Int64
    var review: RetentionState?
}

/// The message that is shown for a product in a locale when no real-time answer comes.
struct RetentionDefault: RetentionItem {
    static let kind = "default"
    var key: String { Self.key(productId, locale) }
    var productId: String
    var locale: String
    var messageIdentifier: String

    static func key(_ productId: String, _ locale: String) -> String { "\(locale)/\(productId)" }
}

/// Where real-time requests go.
struct RetentionURL: RetentionItem {
    static let kind = "url"
    var key: String { "" }
    var realtimeURL: String
}

/// Rows of retention messaging as what they are.
extension StoreState {
    /// One item of an app in an environment.
    func retentionItem<Item: RetentionItem>(
        _ type: Item.Type, _ key: String = "", of bundleId: String, in environment: StoreEnvironment
    ) -> Item? {
        retentionMessaging[Self.retentionId(Item.kind, key, bundleId, environment)].flatMap(Self.decoded)
    }

    /// Every item of a kind that an app has in an environment, by its key.
    func retentionItems<Item: RetentionItem>(
        _ type: Item.Type, of bundleId: String, in environment: StoreEnvironment
    ) -> [Item] {
        let prefix = Self.retentionId(Item.kind, "", bundleId, environment)
        let items: [Item] = retentionMessaging.rows.values
            .filter { $0.bundleId == bundleId && $0.environment == environment && $0.id.hasPrefix(prefix) }
            .compactMap(Self.decoded)
        return items.sorted { $0.key < $1.key }
    }

    /// Keeps an item; one with the same key goes.
    mutating func putRetention(
        _ item: some RetentionItem, of bundleId: String, in environment: StoreEnvironment
    ) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        put(
            RetentionMessagingRecord(
                id: Self.retentionId(type(of: item).kind, item.key, bundleId, environment), bundleId: bundleId,
                environment: environment, body: String(decoding: try encoder.encode(item), as: UTF8.self)))
    }

    mutating func removeRetention<Item: RetentionItem>(
        _ type: Item.Type, _ key: String = "", of bundleId: String, in environment: StoreEnvironment
    ) {
        removeRetentionMessaging(Self.retentionId(Item.kind, key, bundleId, environment))
    }

    private static func retentionId(
        _ kind: String, _ key: String, _ bundleId: String, _ environment: StoreEnvironment
    ) -> String {
        "\(kind)/\(environment.rawValue)/\(bundleId)/\(key)"
    }

    private static func decoded<Item: RetentionItem>(_ row: RetentionMessagingRecord) -> Item? {
        try? JSONDecoder().decode(Item.self, from: Data(row.body.utf8))
    }
}
