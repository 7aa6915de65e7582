import Kafka
import Messages

extension KafkaCheck {
    /// The findings about one group.
    ///
    /// - Parameter grace: from which age on an unread record is too old.
    static func judge(_ look: GroupLook, grace: Duration) -> [Finding] {
        let name = look.group.name
        var findings = [judge(life: look, grace: grace)]
        let members = look.described.members.count
        if members > look.partitions.count {
            findings.append(
                .warning(
                    "consumers",
                    "\(name) has \(members) consumers for \(look.partitions.count) partitions of \(look.group.topic): "
                        + "\(members - look.partitions.count) of them have nothing to do",
                    remedy: "`countersign topics --grow --partitions N`, or fewer processes of \(look.group.service)"))
        }
        if let error = look.ageNotSeen {
            findings.append(judge(notSeen: "the age of what \(name) has not read", error))
        }
        return findings
    }

    /// The finding about who reads, and how far they are.
    private static func judge(life look: GroupLook, grace: Duration) -> Finding {
        let all = look.partitions
        let lag = look.lag(of: all)
        let isOld = look.age(of: all).map { $0 > grace.seconds } ?? false
        let (name, service) = (look.group.name, look.group.service)
        if look.described.members.isEmpty, !look.isRebalancing {
            if look.isUntouched { return .good("group", "\(name): nothing was ever written for it to read") }
            guard lag > 0 else {
                return .warning(
                    "group", "\(sentence(look)); nothing waits", remedy: "start \(service), unless it rests on purpose")
            }
            return .wrong(
                "group", "nobody is in it: \(sentence(look))",
                remedy: "start \(service); its log says why it ended")
        }
        if look.isRebalancing {
            let wasBefore = look.stateBefore == .preparingRebalance || look.stateBefore == .completingRebalance
            guard wasBefore || isOld else { return .good("group", "\(sentence(look)), which is short-lived") }
            let remedy =
                "if it lasts, a member does not answer, or the broker's coordinator hangs: "
                + "restart \(service) one by one"
            return isOld
                ? .wrong("group", "nobody reads while it rebalances: \(sentence(look))", remedy: remedy)
                : .warning(
                    "group", "it rebalances, and did \(Int(pause.seconds)) s ago: \(sentence(look))",
                    remedy: remedy)
        }
        let unassigned = look.unassigned
        if look.lag(of: unassigned) > 0 {
            return .wrong(
                "group",
                "nobody reads \(unassigned.count) partitions of \(look.group.topic), where "
                    + "\(look.lag(of: unassigned)) records wait: \(sentence(look))",
                remedy: "restart \(service) one by one; if that does not help, the broker's coordinator hangs")
        }
        if isOld {
            return .wrong(
                "group", "its members do not keep up, or hang: \(sentence(look))",
                remedy: "look at /readyz and the log of \(service); more processes help when it only is too much")
        }
        if !unassigned.isEmpty {
            return .warning(
                "group", "nobody would read \(unassigned.count) partitions: \(sentence(look))",
                remedy: "look again in a minute: partitions that are new are found by and by")
        }
        return .good("group", sentence(look))
    }

    /// State, members, partitions, lag and age, as it is said in every finding about a group.
    static func sentence(_ look: GroupLook) -> String {
        let count = look.described.members.count
        let members = count == 1 ? "1 member" : "\(count) members"
        let lag = look.lag(of: look.partitions)
        let age = look.age(of: look.partitions).map { ", oldest \(ToolOutput.age($0))" } ?? ""
        let unread = lag == 0 ? "nothing unread" : "\(lag) unread\(age)"
        let unassigned = look.unassigned.isEmpty ? "" : ", \(look.unassigned.count) unassigned"
        return "\(look.group.name) is \(word(look.described.state)), \(members), "
            + "\(look.assigned.count) of \(look.partitions.count) partitions assigned\(unassigned), \(unread)"
    }

    private static func word(_ state: KafkaGroup.State) -> String {
        switch state {
        case .stable: "stable"
        case .preparingRebalance, .completingRebalance: "in a rebalance"
        case .empty: "empty"
        case .dead: "unknown to the broker"
        case .unknown: "in a state without a name"
        }
    }
}

extension Duration {
    /// Seconds with a fraction.
    fileprivate var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
