/// A value of one of Apple's enumerations that are texts: values of tomorrow are kept as they came.
public protocol OpenText: RawRepresentable<String>, Codable, Hashable, Sendable, CustomStringConvertible {
    /// Takes Apple's value, known or not.
    init(rawValue: String)
}

/// A value of one of Apple's enumerations that are numbers: values of tomorrow are kept as they came.
public protocol OpenNumber: RawRepresentable<Int64>, Codable, Hashable, Sendable, CustomStringConvertible {
    /// Takes Apple's value, known or not.
    init(rawValue: Int64)
}

extension OpenText {
    /// Apple's value.
    public var description: String { rawValue }
}

extension OpenNumber {
    /// Apple's value.
    public var description: String { String(rawValue) }
}
