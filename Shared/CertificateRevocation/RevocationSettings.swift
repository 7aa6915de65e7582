extension RevocationChecker {
    /// What a checker waits for, accepts and remembers.
    public struct Settings: Sendable, Hashable {
        /// The responder that is asked instead of the one that a certificate names; http or https.
        public var responder: String?
        /// How long one question may take, from the first byte sent to the last read.
        ///
        /// Defaults to 5 seconds.
        public var timeout: Duration
        /// For how long after its end an answer of *good* still counts while no new one can be had.
        ///
        /// Defaults to a day.
        public var grace: Duration
        /// For how long a failure is remembered, so that a dead responder does not cost every payload a time-out.
        ///
        /// Defaults to 5 seconds.
        public var failureMemory: Duration
        /// For how long an answer counts at most, whatever its `nextUpdate` says.
        ///
        /// Defaults to 7 days; Apple's count for half a day.
        public var answerLifetimeMaximum: Duration
        /// Certificates that are remembered; beyond them, those that were not asked about for longest are forgotten.
        ///
        /// At least 2 for a chain; Apple signs with a few certificates at a time. Defaults to 1,000.
        public var certificatesMaximum: Int

        /// Takes the settings; see each property for its meaning and default.
        public init(
            responder: String? = nil, timeout: Duration = .seconds(5), grace: Duration = .seconds(24 * 60 * 60),
            failureMemory: Duration = .seconds(5), answerLifetimeMaximum: Duration = .seconds(7 * 24 * 60 * 60),
            certificatesMaximum: Int = 1_000
        ) {
            self.responder = responder
            self.timeout = timeout
            self.grace = grace
            self.failureMemory = failureMemory
            self.answerLifetimeMaximum = answerLifetimeMaximum
            self.certificatesMaximum = certificatesMaximum
        }
    }
}

extension Duration {
    /// In seconds, for sums with dates.
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
