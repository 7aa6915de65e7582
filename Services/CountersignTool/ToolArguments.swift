public import ArgumentParser
public import Persistence
public import PurchaseModel

extension StoreEnvironment: ExpressibleByArgument {}
extension RateStore.Program: ExpressibleByArgument {}
extension RateStore.Kind: ExpressibleByArgument {}

extension RevenueDay: ExpressibleByArgument {
    /// Reads `2026-03-15`.
    public init?(argument: String) {
        self.init(argument)
    }
}
