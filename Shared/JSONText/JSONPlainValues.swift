import Foundation

/// The values that have no parts, of whatever token: as they stand there, or nil where something is wrong.
extension JSONValueDecoder {
    func string(_ index: Int) -> String? {
        let kind = kind(of: index)
        return kind == .string || kind == .escapedString ? withTape { $0.string(index) } : nil
    }

    func bool(_ index: Int) -> Bool? {
        switch kind(of: index) {
        case .true: true
        case .false: false
        default: nil
        }
    }

    func double(_ index: Int) -> Double? {
        withTape { $0.number(index) }
    }

    func float(_ index: Int) -> Float? {
        guard let number = double(index) else { return nil }
        let float = Float(number)
        return float.isFinite && (float != 0 || number == 0) ? float : nil
    }

    /// Also where it is written with a fraction of nothing but zeros, as long as a double tells it from its neighbours.
    @inline(__always)
    func integer<Value: FixedWidthInteger>(_ index: Int) -> Value? {
        withTape { tape in
            if let integer = tape.integer(index) { return Value(exactly: integer) }
            return Self.unusualInteger(tape, index)
        }
    }

    @inline(never)
    private static func unusualInteger<Value: FixedWidthInteger>(_ tape: JSONTape, _ index: Int) -> Value? {
        guard let number = tape.number(index) else { return nil }
        if let value = Value(String(decoding: tape.raw(index), as: UTF8.self)) { return value }
        return number.magnitude < 0x1p53 ? Value(exactly: number) : nil
    }

    func date(_ index: Int) -> Date? {
        if kind(of: index) == .string,
            let date = withTape({ $0.withText(index) { input.dates.usual($0) } })
        {
            return date
        }
        guard let text = string(index) else { return nil }
        return input.dates.any(text)
    }

    /// A UUID in its usual form; nil for everything else, which Foundation may take for one all the same.
    private func uuid(_ index: Int) -> UUID? {
        guard kind(of: index) == .string else { return nil }
        return withTape { $0.withText(index) { JSONUUID.uuid($0) } }
    }

    /// A value of a type that is known only when this runs.
    ///
    /// Types without parts are read where they stand: their own `init(from:)` ask for the same, by way of a decoder and a
    /// container.
    ///
    /// - Parameter decoder: the token's.
    @inline(__always)
    func value<Value: Decodable>(
        _ type: Value.Type, _ index: Int, _ decoder: () -> JSONValueDecoder
    ) throws -> Value {
        // The types are the same where a value is cast, which `as?` takes far longer to find out.
        if type == String.self {
            guard let value = string(index) else { throw decoder().fault(type) }
            return unsafeBitCast(value, to: type)
        }
        if type == Date.self {
            guard let value = date(index) else { throw decoder().fault(type) }
            return unsafeBitCast(value, to: type)
        }
        if type == Int.self {
            guard let value: Int = integer(index) else { throw decoder().fault(type) }
            return unsafeBitCast(value, to: type)
        }
        if type == Int64.self {
            guard let value: Int64 = integer(index) else { throw decoder().fault(type) }
            return unsafeBitCast(value, to: type)
        }
        if type == Double.self {
            guard let value = double(index) else { throw decoder().fault(type) }
            return unsafeBitCast(value, to: type)
        }
        if type == UUID.self, let value = uuid(index) { return unsafeBitCast(value, to: type) }
        return try Value(from: decoder())
    }
}
