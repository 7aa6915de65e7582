/// The parameters of one call in the form libpq takes them: one contiguous buffer and arrays beside it, kept between
/// calls so that a statement costs no allocation here.
struct ParameterBuffer {
    /// What the server takes for one parameter at most (1 GB, `MaxAllocSize`), less room for the message around it.
    static let parameterBytesMaximum = 1_000_000_000
    /// A buffer that grew past this for one big batch is given back afterwards.
    ///
    /// 1 MiB.
    static let retainedBytesMaximum = 1 << 20

    private var bytes: [UInt8] = []
    private var offsets: [Int] = []
    private(set) var types: [UInt32] = []
    private(set) var lengths: [Int32] = []
    private(set) var formats: [Int32] = []

    /// Takes the parameters of the next call.
    ///
    /// - Throws: `statementFailed` when a parameter is larger than `parameterBytesMaximum`.
    mutating func fill(_ parameters: [PostgresValue]) throws(PostgresError) {
        offsets.removeAll(keepingCapacity: true)
        types.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        formats.removeAll(keepingCapacity: true)
        let isLarge = bytes.capacity > Self.retainedBytesMaximum
        bytes.removeAll(keepingCapacity: !isLarge)
        // One byte in front, so that the buffer has an address even when all values are empty: nil would mean NULL.
        bytes.append(0)
        for parameter in parameters {
            types.append(parameter.type)
            formats.append(1)
            guard let value = parameter.bytes else {
                offsets.append(-1)
                lengths.append(0)
                continue
            }
            guard value.count <= Self.parameterBytesMaximum, let length = Int32(exactly: value.count) else {
                throw PostgresError(code: .statementFailed, reason: "a parameter is larger than 1 GB", wasSent: false)
            }
            offsets.append(bytes.count)
            lengths.append(length)
            bytes.append(contentsOf: value)
        }
    }

    /// Lends the pointers to the values for the duration of `body`.
    func withValues<Result>(_ body: ([UnsafePointer<CChar>?]) -> Result) -> Result {
        bytes.withUnsafeBytes { buffer in
            let base = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            return body(offsets.map { $0 < 0 ? nil : base?.advanced(by: $0) })
        }
    }
}
