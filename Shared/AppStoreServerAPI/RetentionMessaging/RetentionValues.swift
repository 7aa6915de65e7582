/// What an image is for.
public struct RetentionImageSize: OpenText {
    /// Apple's value.
    public let rawValue: String

    /// Takes a value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A message: 3840 pixels wide.
    public static let fullSize = Self(rawValue: "FULL_SIZE")
    /// A bullet point: 1024 by 1024 pixels.
    public static let bulletPoint = Self(rawValue: "BULLET_POINT")
}

/// Where Apple's review of an image or a message stands.
public struct RetentionReviewState: OpenText {
    /// Apple's value.
    public let rawValue: String

    /// Takes a value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Apple has not looked at it.
    public static let pending = Self(rawValue: "PENDING")
    /// It may be shown.
    public static let approved = Self(rawValue: "APPROVED")
    /// It may not be shown.
    public static let rejected = Self(rawValue: "REJECTED")
}

/// Where a message's header stands.
public struct RetentionHeaderPosition: OpenText {
    /// Apple's value.
    public let rawValue: String

    /// Takes a value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Between image and body.
    public static let aboveBody = Self(rawValue: "ABOVE_BODY")
    /// On top of all.
    public static let aboveImage = Self(rawValue: "ABOVE_IMAGE")
}

/// What came of a performance test.
public struct PerformanceTestStatus: OpenText {
    /// Apple's value.
    public let rawValue: String

    /// Takes a value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// It runs.
    public static let pending = Self(rawValue: "PENDING")
    /// Passed.
    public static let pass = Self(rawValue: "PASS")
    /// Failed.
    public static let fail = Self(rawValue: "FAIL")
}
