/// Former names of commands, which scripts and people may still type.
///
/// The argument parser's own aliases stay at one level; several of these commands moved below a group.
enum FormerNames {
    /// The words of a former name, and of today's.
    ///
    /// The first one that fits counts, so longer ones stand before their beginnings.
    static let table: [(former: [String], current: [String])] = [
        (["lost"], ["undelivered"]),
        (["waiting", "now"], ["queue", "run"]),
        (["waiting"], ["queue"]),
        (["redrive"], ["submissions", "retry"]),
        (["claim"], ["orders", "assign"]),
        (["bindings"], ["orders", "owners"]),
        (["consumption", "show"], ["refunds", "preview"]),
        (["consumption"], ["refunds"]),
        (["audit"], ["books", "check"]),
        (["acts"], ["audit-log"]),
        (["sweep"], ["apple", "sweep"]),
        (["reconcile"], ["apple", "reconcile"]),
        (["notifications"], ["apple", "notifications"]),
        (["messages"], ["kafka", "dump"]),
    ]

    /// The arguments with today's name of the command, also after `help`; anything else stays as it is.
    static func replaced(in arguments: [String]) -> [String] {
        let help = arguments.prefix(1).filter { $0 == "help" }
        let words = arguments.dropFirst(help.count)
        guard let row = table.first(where: { words.starts(with: $0.former) }) else { return arguments }
        return help + row.current + words.dropFirst(row.former.count)
    }
}
