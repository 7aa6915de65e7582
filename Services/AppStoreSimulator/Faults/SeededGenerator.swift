/// Random numbers that a seed decides: SplitMix64, which is small and passes the usual tests; not for secrets.
///
/// Source: Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.
struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// With a seed that somebody wrote down, or one of its own.
    init(_ seed: Int64?) {
        self.init(seed: UInt64(bitPattern: seed ?? .random(in: .min ... .max)))
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Whether this is one of the share: 0 never, 1 always.
    ///
    /// Takes one number whatever the share is.
    mutating func isOne(of share: Double) -> Bool {
        Double.random(in: 0..<1, using: &self) < share
    }
}
