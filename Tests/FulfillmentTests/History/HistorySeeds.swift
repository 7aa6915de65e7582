import Foundation

/// Which histories a suite tries.
enum HistorySeeds {
    /// Seeds in portions; each portion has a database of its own, where there is one, whose audit reads all of it.
    ///
    /// - Parameter count: how many there are, unless `COUNTERSIGN_HISTORIES` asks for another number.
    /// - Parameter first: the first, unless `COUNTERSIGN_HISTORIES_FROM` names another one.
    static func portions(of size: Int, count: Int, from first: UInt64 = 1) -> [[UInt64]] {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["COUNTERSIGN_HISTORIES_FROM"].flatMap { UInt64($0) } ?? first
        let wanted = environment["COUNTERSIGN_HISTORIES"].flatMap { UInt64($0) } ?? UInt64(count)
        let seeds = Array(first..<first + max(1, wanted))
        return stride(from: 0, to: seeds.count, by: size).map { Array(seeds[$0..<min($0 + size, seeds.count)]) }
    }
}
