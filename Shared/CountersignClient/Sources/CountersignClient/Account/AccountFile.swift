#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where the last answers about accounts are kept: one file, in the journal's folder.
///
/// It is a convenience and no journal: what cannot be read is asked for again.
struct AccountFile: Sendable {
    let file: URL

    init(folder: URL) {
        file = folder.appendingPathComponent("accounts.json")
    }

    /// The last answers of the server, by account.
    func read() -> [String: Data] {
        guard let bytes = try? Data(contentsOf: file) else { return [:] }
        return (try? JSONDecoder().decode([String: Data].self, from: bytes)) ?? [:]
    }

    /// Keeps the answer about one account, and those about others as far as there is room.
    func keep(_ answer: Data, of account: String) {
        var all = read()
        for other in all.keys.sorted() where other != account && all.count >= QueueLimits.accountsKeptMaximum {
            all[other] = nil
        }
        all[account] = answer
        guard let bytes = try? JSONEncoder().encode(all) else { return }
        try? bytes.write(to: file, options: .atomic)
    }

    /// Forgets an account.
    func remove(_ account: String) {
        var all = read()
        guard all.removeValue(forKey: account) != nil, let bytes = try? JSONEncoder().encode(all) else { return }
        try? bytes.write(to: file, options: .atomic)
    }
}
