import Foundation

/// A request of the API, checked, before it has a host and a token.
struct APICall: Sendable {
    enum Limit {
        /// Bytes of a part of a path: Apple's longest, product ids, have up to 255.
        static let part = 255
    }

    /// The methods that the API has.
    enum Method: String, Sendable {
        case get = "GET"
        case put = "PUT"
        case post = "POST"
        case delete = "DELETE"
    }

    enum Body: Sendable {
        case none
        case json(Data)
        case png([UInt8])
    }

    let method: Method
    /// With its query, ready for a URL; begins with `/inApps/`.
    private(set) var path: String
    var body = Body.none

    /// A call of a path below `/inApps/`.
    ///
    /// - Parameter parts: the parts of the path; each is escaped.
    init(_ method: Method, _ parts: String...) {
        self.method = method
        path = "/inApps/" + parts.map(Self.escaped).joined(separator: "/")
    }

    /// With parameters, those without a value left out; the order stays.
    func query(_ parameters: [(name: String, value: String?)]) -> APICall {
        let given = parameters.compactMap { name, value in value.map { "\(name)=\(Self.escaped($0))" } }
        guard !given.isEmpty else { return self }
        var call = self
        call.path += "?" + given.joined(separator: "&")
        return call
    }

    /// With a body of JSON.
    ///
    /// - Throws: ``AppStoreServerError`` when a value cannot be written.
    func json(_ value: some Encodable) throws -> APICall {
        var call = self
        call.body = .json(try Self.encoded(value))
        return call
    }

    /// The bytes of a body of JSON: the same for the same value.
    ///
    /// - Throws: ``AppStoreServerError`` when a value cannot be written.
    static func encoded(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else {
            throw AppStoreServerError.refused(nil, "the request's body cannot be written as JSON")
        }
        return data
    }

    /// Everything but RFC 3986's unreserved characters.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                escaped += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return escaped
    }
}

/// Checks of what becomes a part of a path: an identifier from outside must not lead elsewhere.
enum PathPart {
    enum Limit {
        /// Bytes of a transaction id; Apple's are numbers of some 16 digits.
        static let transactionId = 64
    }

    /// A transaction id, or an order id: ASCII letters and digits.
    ///
    /// - Throws: ``AppStoreServerError`` with the code that Apple has for it.
    static func identifier(_ text: String, _ code: AppStoreServerError.Code?) throws -> String {
        let isGood = text.utf8.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        }
        guard isGood, (1...Limit.transactionId).contains(text.utf8.count) else {
            throw AppStoreServerError.refused(code, "an id has 1 to \(Limit.transactionId) letters and digits")
        }
        return text
    }

    /// Any other name, such as a product id.
    ///
    /// - Throws: ``AppStoreServerError`` with the code that Apple has for it.
    static func name(_ text: String, _ code: AppStoreServerError.Code?, _ field: String) throws -> String {
        guard (1...APICall.Limit.part).contains(text.utf8.count), text != ".", text != ".." else {
            throw AppStoreServerError.refused(code, "\(field): 1 to \(APICall.Limit.part) bytes")
        }
        return text
    }
}
