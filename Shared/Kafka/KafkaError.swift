/// What went wrong between this process and Kafka.
///
/// `description` is safe to show and to log: it never holds a property's value, a key or a payload.
public struct KafkaError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of an error, open for more kinds.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable {
            case timedOut, queueFull, closed, abandoned, configuration, unsupportedLibrary, transport, unknownTopic
            case messageTooLarge, invalidMessage, authentication, authorization, rejected, fatal, native
        }

        private let kind: Kind

        /// No answer within the time allowed; a message may have been delivered all the same.
        public static let timedOut = Code(kind: .timedOut)
        /// The local queue holds as much as its limits allow; nothing was sent.
        public static let queueFull = Code(kind: .queueFull)
        /// The client was closed; nothing was sent.
        public static let closed = Code(kind: .closed)
        /// The client was closed or replaced while the message waited; it may have been delivered all the same.
        public static let abandoned = Code(kind: .abandoned)
        /// A property is unknown, not valid, or reserved for the library.
        public static let configuration = Code(kind: .configuration)
        /// The installed librdkafka is older than the library needs.
        public static let unsupportedLibrary = Code(kind: .unsupportedLibrary)
        /// No connection to a broker.
        public static let transport = Code(kind: .transport)
        /// The topic or partition does not exist, or not yet.
        public static let unknownTopic = Code(kind: .unknownTopic)
        /// The message is larger than the client or the broker takes.
        public static let messageTooLarge = Code(kind: .messageTooLarge)
        /// A topic's name or an argument cannot be used.
        public static let invalidMessage = Code(kind: .invalidMessage)
        /// The broker does not accept who we say we are, or its certificate is not trusted.
        public static let authentication = Code(kind: .authentication)
        /// We may not do this with that topic, group or cluster.
        public static let authorization = Code(kind: .authorization)
        /// The broker refused the request.
        public static let rejected = Code(kind: .rejected)
        /// The client cannot go on; only a new one can.
        public static let fatal = Code(kind: .fatal)
        /// Anything else; see `nativeName`.
        public static let native = Code(kind: .native)

        /// The name of the code.
        public var description: String { kind.rawValue }
    }

    /// The kind of the error.
    public let code: Code
    /// librdkafka's name of the error, such as `_MSG_TIMED_OUT`; nil where librdkafka was not asked.
    public let nativeName: String?
    /// Whether the same call can succeed later.
    public let isRetriable: Bool
    /// Whether the client that gave this error can never work again.
    public let isFatal: Bool
    /// A sentence for people, without secrets.
    public let detail: String
    /// What to do about it; nil where the library does not know.
    public let remedy: String?

    /// One line with code, librdkafka's name and detail.
    public var description: String {
        let native = nativeName.map { " (\($0))" } ?? ""
        return "Kafka: \(code)\(native): \(detail)"
    }

    init(
        _ code: Code, nativeName: String? = nil, isRetriable: Bool = false, isFatal: Bool = false, _ detail: String,
        remedy: String? = nil
    ) {
        self.code = code
        self.nativeName = nativeName
        self.isRetriable = isRetriable
        self.isFatal = isFatal
        self.detail = detail
        self.remedy = remedy
    }

    static let closedClient = KafkaError(.closed, "the client is closed")
}
