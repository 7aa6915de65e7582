/// Which endpoints a fault is for, by their paths.
///
/// Source of the paths: Apple, App Store Server API, read from Apple's own library.
enum EndpointGroup: String, CaseIterable, Sendable {
    /// Everything on the port, unknown paths too.
    case all
    /// Transaction info, app transaction info, app account token and finish.
    case transactions
    case history
    case subscriptions
    /// History and tests of server notifications; not what the simulator sends itself.
    case notifications
    case refunds
    case orders
    case consumption
    /// Extensions of the renewal date, of one subscriber and of all.
    case extend
    case verifyReceipt

    /// Whether a path belongs to the group.
    func contains(path: String) -> Bool {
        self == .all || Self.group(ofPath: path) == self
    }

    /// The narrowest group of a path; nil when no endpoint is there.
    private static func group(ofPath path: String) -> EndpointGroup? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: true)
        if parts.first == "verifyReceipt" { return .verifyReceipt }
        guard parts.count > 2, parts[0] == "inApps", parts[1] == "v1" || parts[1] == "v2" else { return nil }
        let next = parts.count > 3 ? parts[3] : ""
        return switch parts[2] {
        case "transactions": next == "consumption" ? .consumption : .transactions
        case "subscriptions": next == "extend" ? .extend : .subscriptions
        case "history": .history
        case "notifications": .notifications
        case "refund": .refunds
        case "lookup": .orders
        default: nil
        }
    }
}
