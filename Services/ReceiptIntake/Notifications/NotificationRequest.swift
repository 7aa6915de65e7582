import PurchaseModel

/// What Apple posts: a signed payload, or what it posts where nobody has chosen version 2 in App Store Connect.
///
/// Source: developer.apple.com/documentation/appstoreservernotifications/responsebodyv2, and …/responsebodyv1.
enum NotificationRequest: Decodable, Sendable, Equatable {
    /// Version 2.
    case signed(String)
    /// Version 1, which nobody signed; of which environment, where it says one that is known.
    case version1(StoreEnvironment?)

    private enum CodingKeys: String, CodingKey {
        case signedPayload, environment
        case notificationType = "notification_type"
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        let isSigned = try fields.contains(.signedPayload) && !fields.decodeNil(forKey: .signedPayload)
        guard !isSigned, let type = try? fields.decode(String.self, forKey: .notificationType), !type.isEmpty else {
            self = .signed(try fields.decode(String.self, forKey: .signedPayload))
            return
        }
        self = .version1((try? fields.decode(String.self, forKey: .environment)).flatMap(Self.environment))
    }

    /// Version 1 says `PROD` at some times, and `Production` at others.
    private static func environment(_ name: String) -> StoreEnvironment? {
        name.uppercased() == "PROD" ? .production : StoreEnvironment(appleName: name)
    }
}
