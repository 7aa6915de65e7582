import HTTPTypes
import NIOHTTP1

/// A rule that makes sense, ready to be tried.
struct CheckedFaultRule: Sendable {
    /// As it was written.
    let rule: FaultRule
    let environment: StoreEnvironment?
    let path: String
    let group: EndpointGroup
    let method: String?
    let action: FaultAction
    let share: Double

    func matches(environment: StoreEnvironment, method: String, path: String) -> Bool {
        (self.environment ?? environment) == environment && (self.method ?? method) == method
            && path.hasPrefix(self.path) && group.contains(path: path)
    }
}

extension FaultRule {
    /// The rule, ready to be tried.
    ///
    /// - Parameter name: what it is called in a ``Problem``, such as `rules[0]`.
    func checked(named name: String) throws(Problem) -> CheckedFaultRule {
        let match = match ?? Match()
        if let count { try FieldCheck.require(count >= 1, "\(name).count: at least 1") }
        if let share { try FieldCheck.require((0...1).contains(share), "\(name).share: 0 to 1") }
        if let until {
            try FieldCheck.require(
                until > 0 && until <= Limit.seconds, "\(name).until: up to \(Int(Limit.seconds)) seconds")
        }
        if let path = match.path {
            try FieldCheck.require(
                path.hasPrefix("/") && path.utf8.count <= Limit.text,
                "\(name).match.path: begins with / and has at most \(Limit.text) bytes")
        }
        if let method = match.method {
            try FieldCheck.require(
                ["GET", "POST", "PUT", "DELETE"].contains(method), "\(name).match.method: GET, POST, PUT or DELETE")
        }
        return CheckedFaultRule(
            rule: self, environment: try choice(match.environment, "\(name).match.environment"),
            path: match.path ?? "", group: try choice(match.group, "\(name).match.group") ?? .all,
            method: match.method, action: try fault.action(named: "\(name).fault"), share: share ?? 1)
    }
}

extension FaultRule.Fault {
    /// What it does; fields that belong to another kind are refused.
    fileprivate func action(named name: String) throws(Problem) -> FaultAction {
        let named: FaultKind? = try choice(kind, "\(name).kind")
        guard let kind = named else { throw Problem(.badRequest, "\(name).kind: missing") }
        let allowed: Set<String> =
            switch kind {
            case .latency: ["ms", "medianMs", "p99Ms"]
            case .status: ["status", "body", "errorCode", "errorMessage", "retryAfter", "retryAfterMs"]
            case .reset, .hang: ["afterHandling"]
            case .slowLoris: ["bytesPerSecond"]
            case .unauthorizedStorm: ["seconds"]
            case .truncatedBody, .wrongContentType, .garbageJSON, .emptyBody: []
            }
        for field in given where !allowed.contains(field) {
            throw Problem(.badRequest, "\(name).\(field): a fault of the kind \(kind.rawValue) has none")
        }
        switch kind {
        case .latency: return .latency(try latency(named: name))
        case .status: return .answer(try answer(named: name))
        case .reset: return .reset(afterHandling: afterHandling ?? false)
        case .hang: return .hang(afterHandling: afterHandling ?? false)
        case .truncatedBody: return .truncatedBody
        case .wrongContentType: return .wrongContentType
        case .garbageJSON: return .garbageJSON
        case .emptyBody: return .emptyBody
        case .slowLoris:
            let maximum = FaultRule.Limit.bytesPerSecond
            guard let bytesPerSecond, (1...maximum).contains(bytesPerSecond) else {
                throw Problem(.badRequest, "\(name).bytesPerSecond: 1 to \(maximum)")
            }
            return .slowLoris(bytesPerSecond: Int(bytesPerSecond))
        case .unauthorizedStorm:
            guard let seconds, seconds > 0, seconds <= FaultRule.Limit.seconds else {
                throw Problem(.badRequest, "\(name).seconds: more than 0, up to \(Int(FaultRule.Limit.seconds))")
            }
            return .unauthorizedStorm(milliseconds: Int64(seconds * 1_000))
        }
    }

    /// The names of the fields that are given, `kind` apart.
    private var given: [String] {
        let fields: [(String, Bool)] = [
            ("ms", ms != nil), ("medianMs", medianMs != nil), ("p99Ms", p99Ms != nil), ("status", status != nil),
            ("body", body != nil), ("errorCode", errorCode != nil), ("errorMessage", errorMessage != nil),
            ("retryAfter", retryAfter != nil), ("retryAfterMs", retryAfterMs != nil),
            ("bytesPerSecond", bytesPerSecond != nil), ("seconds", seconds != nil),
            ("afterHandling", afterHandling != nil),
        ]
        return fields.filter(\.1).map(\.0)
    }

    private func latency(named name: String) throws(Problem) -> Latency {
        let maximum = FaultRule.Limit.latency
        if let ms {
            try FieldCheck.require(medianMs == nil && p99Ms == nil, "\(name).ms: without medianMs and p99Ms")
            try FieldCheck.require((0...maximum).contains(ms), "\(name).ms: 0 to \(maximum)")
            return .fixed(ms)
        }
        guard let medianMs, let p99Ms else {
            throw Problem(.badRequest, "\(name).ms: missing; or else medianMs and p99Ms")
        }
        try FieldCheck.require(
            medianMs > 0 && medianMs <= p99Ms && p99Ms <= Double(maximum),
            "\(name).medianMs: more than 0, and at most p99Ms, which is at most \(maximum)")
        return .logNormal(median: medianMs, p99: p99Ms)
    }

    private func answer(named name: String) throws(Problem) -> FaultAnswer {
        guard let status, (400...599).contains(status) else {
            throw Problem(.badRequest, "\(name).status: 400 to 599")
        }
        try FieldCheck.require(
            retryAfter == nil || retryAfterMs == nil, "\(name).retryAfterMs: not together with retryAfter")
        if let errorMessage {
            try FieldCheck.require(
                errorMessage.utf8.count <= FaultRule.Limit.text,
                "\(name).errorMessage: at most \(FaultRule.Limit.text) bytes")
        }
        var header: FaultAnswer.RetryAfter?
        if let retryAfter {
            try FieldCheck.require(
                retryAfter.utf8.count <= FaultRule.Limit.text
                    && retryAfter.utf8.allSatisfy { (0x20...0x7E).contains($0) },
                "\(name).retryAfter: ASCII that a header can hold, at most \(FaultRule.Limit.text) bytes")
            header = .literal(retryAfter)
        } else if let retryAfterMs {
            let maximum = Int64(FaultRule.Limit.seconds) * 1_000
            try FieldCheck.require(
                (-maximum...maximum).contains(retryAfterMs), "\(name).retryAfterMs: -\(maximum) to \(maximum)")
            header = .ahead(retryAfterMs)
        } else if status == 429 {
            header = .ahead(FaultAnswer.Default.retryAfter)
        }
        return FaultAnswer(
            status: HTTPResponse.Status(
                code: status, reasonPhrase: HTTPResponseStatus(statusCode: status).reasonPhrase),
            body: try choice(body, "\(name).body") ?? .json,
            errorCode: errorCode, errorMessage: errorMessage, retryAfter: header)
    }
}

/// One of an enumeration's values; nil when there is no text.
private func choice<Value: RawRepresentable<String> & CaseIterable>(
    _ text: String?, _ name: String
) throws(Problem) -> Value? {
    guard let text else { return nil }
    guard let value = Value(rawValue: text) else {
        throw Problem(.badRequest, "\(name): one of \(Value.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return value
}
