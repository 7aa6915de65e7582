/// Remembers the errors of a client that do not pass by themselves, until it is seen to work: no clock and no I/O.
///
/// librdkafka tells most of them once, or every 30 s, and then tries on in silence; so an error counts until something
/// shows that it is over.
struct LastingErrors {
    typealias Instant = ContinuousClock.Instant

    private struct Entry {
        var error: KafkaError
        let first: Instant
        var last: Instant
    }

    /// How long an error must be past before work that goes on (elsewhere, perhaps) says that it is over.
    static let settleTime = Duration.seconds(2)
    /// After how long a client that works counts an error as over which nobody repeated; librdkafka repeats within 30 s.
    static let quietTime = Duration.seconds(45)
    /// How long a TLS or SASL error must last: a broker that goes down in the middle of a handshake gives one, too.
    static let authenticationTime = Duration.seconds(5)
    /// How long a topic may be missing, or messages be too large, before the client's work counts as stopped.
    static let patience = Duration.seconds(15)

    /// The worst first: what comes later often follows from it.
    private static let order: [KafkaError.Code] = [
        .authentication, .authorization, .fatal, .unknownTopic, .messageTooLarge,
    ]

    private var entries: [KafkaError.Code: Entry] = [:]

    /// Notes an error; those that pass by themselves are none of ours.
    mutating func note(_ error: KafkaError, at now: Instant) {
        guard Self.order.contains(error.code) else { return }
        entries[error.code] = Entry(
            error: error.withRemedy, first: entries[error.code]?.first ?? now, last: now)
    }

    /// Something went well: errors that are a little older are over.
    mutating func works(at now: Instant) {
        guard !entries.isEmpty else { return }
        entries = entries.filter { $0.value.last.duration(to: now) < Self.settleTime }
    }

    /// The client begins anew, or the group gave us partitions, so that whatever was wrong is over.
    mutating func forget() {
        entries = [:]
    }

    /// The worst of what lasts now.
    ///
    /// - Parameter mayExpire: whether silence means that an error is over, as it does for a client that can work.
    mutating func current(at now: Instant, mayExpire: Bool) -> KafkaTrouble? {
        if entries.isEmpty { return nil }
        if mayExpire { entries = entries.filter { $0.value.last.duration(to: now) < Self.quietTime } }
        for code in Self.order {
            guard let entry = entries[code] else { continue }
            let age = entry.first.duration(to: now)
            switch code {
            case .authentication where age < Self.authenticationTime: continue
            case .unknownTopic where age < Self.patience: continue
            case .messageTooLarge:
                // The next message is usually smaller; only when nothing else gets through, nothing works.
                let lasts = entry.first.duration(to: entry.last) >= Self.patience
                return KafkaTrouble(error: entry.error, stopsWork: lasts)
            default: break
            }
            return KafkaTrouble(error: entry.error, stopsWork: true)
        }
        return nil
    }
}

extension KafkaError {
    /// The same error with what to do about it, unless it says so already.
    fileprivate var withRemedy: KafkaError {
        guard remedy == nil else { return self }
        let words: String? =
            switch (code, nativeName) {
            case (.authentication, _): "check `security.protocol`, the user, the password and `ssl.ca.location`"
            case (.authorization, "GROUP_AUTHORIZATION_FAILED"): "give our user an ACL to read as this group"
            case (.authorization, "TOPIC_AUTHORIZATION_FAILED"): "give our user an ACL for this topic"
            case (.authorization, "CLUSTER_AUTHORIZATION_FAILED"):
                "give our user `IdempotentWrite` on the cluster, which brokers before 3.0 ask for"
            case (.authorization, _): "give our user the ACL for it"
            case (.unknownTopic, _): "make the topic, or check its name"
            case (.messageTooLarge, _): "raise `max.message.bytes` of the topic, or find out who sends so much"
            default: nil
            }
        return KafkaError(
            code, nativeName: nativeName, isRetriable: isRetriable, isFatal: isFatal, detail, remedy: words)
    }
}
