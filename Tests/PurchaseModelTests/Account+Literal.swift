import PurchaseModel

extension Account: ExpressibleByStringLiteral {
    /// Takes the name as it is written.
    public init(stringLiteral text: String) {
        self.init(stored: text)
    }
}
