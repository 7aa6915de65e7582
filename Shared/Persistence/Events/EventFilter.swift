package import PurchaseModel

/// Which events somebody wants to read.
package struct EventFilter: Sendable, Hashable {
    /// A type of events, or the beginning of some.
    package struct TypePattern: Sendable, Hashable {
        /// Without the `*`.
        private let name: String
        private let isPrefix: Bool

        /// A type, or the beginning of some and a `*`; nil for anything else.
        package init?(_ text: String) {
            guard WebhookSelection.isPattern(text) else { return nil }
            isPrefix = text.hasSuffix("*")
            name = isPrefix ? String(text.dropLast()) : text
        }

        /// Whether a type is meant.
        package func matches(_ type: String) -> Bool {
            isPrefix ? type.hasPrefix(name) : type == name
        }

        /// The same for SQL's `LIKE`.
        var likePattern: String {
            let escaped = name.replacing("\\", with: "\\\\").replacing("%", with: "\\%").replacing("_", with: "\\_")
            return isPrefix ? escaped + "%" : escaped
        }
    }

    /// The app's bundle id.
    package var app: String
    /// Both where nil.
    package var environment: StoreEnvironment?
    /// Whose; nil for everybody's and nobody's.
    package var account: Account?
    /// One of these; all types where there is none.
    package var types: [TypePattern]

    /// Makes a filter.
    package init(
        app: String, environment: StoreEnvironment? = nil, account: Account? = nil, types: [TypePattern] = []
    ) {
        self.app = app
        self.environment = environment
        self.account = account
        self.types = types
    }

    /// Whether an event is meant that has just come.
    package func matches(_ arrival: EventFeedStore.Arrival) -> Bool {
        guard arrival.app == app else { return false }
        if let environment, arrival.environment != environment.rawValue { return false }
        if let account, arrival.account != account { return false }
        return types.isEmpty || types.contains { $0.matches(arrival.type) }
    }
}
