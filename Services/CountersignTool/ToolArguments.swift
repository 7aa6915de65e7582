import ArgumentParser
import Persistence
import PurchaseModel

/// An account as intake lets it in; anything else is a usage error, since nobody could ever read what it is given.
extension Account: ExpressibleByArgument {
    /// Takes a name of 1 to 255 printable characters.
    package init?(argument: String) {
        self.init(argument)
    }
}

extension StoreEnvironment: ExpressibleByArgument {}
extension RateStore.Program: ExpressibleByArgument {}
extension RateStore.Kind: ExpressibleByArgument {}

extension RevenueDay: ExpressibleByArgument {
    /// Reads `2026-03-15`.
    package init?(argument: String) {
        self.init(argument)
    }
}
