import Foundation

/// The types of events that the code names.
enum EventTypes {
    /// All of `PurchaseEvent+Types.swift`.
    static var published: Set<String> {
        get throws {
            let file = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../Shared/Messages/PurchaseEvent+Types.swift")
            let text = try String(contentsOf: file, encoding: .utf8)
            return Set(text.matches(of: /"(iap\.[a-z_]+\.[a-z_]+)"/).map { String($0.1) })
        }
    }
}
