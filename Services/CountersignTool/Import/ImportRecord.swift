import Foundation
import Messages
import Persistence
import PurchaseModel

/// What one line of an import says.
struct ImportRecord: Sendable, Equatable {
    enum Limit {
        /// The largest signed transaction in bytes, as receipt-intake has it.
        static let signedTransactionBytes = 64 << 10
        /// The largest receipt in characters of base64: 4 MB.
        static let receiptCharacters = (4 << 20) / 3 * 4 + 4
        /// The most characters of an id of Apple's.
        static let idCharacters = 64
        /// The most characters of a product's id or an item's name.
        static let nameCharacters = 255
    }

    let kind: ProofKind
    /// As it is posted.
    let proof: String
    /// Whose it is there; nil where the line does not say, or the older system granted nothing.
    let account: Account?
    /// The transaction of a receipt that is meant.
    let namedTransactionId: String?
    let environment: StoreEnvironment?
    /// A UUID that the app sets for the account when it buys.
    let token: UUID?
    let claim: ImportStore.Claim

    /// Reads the fields of a line; an empty one says nothing.
    init(_ given: [ImportField: String]) throws(ImportFlaw) {
        let fields = given.filter { !$0.value.isEmpty }
        var claim = ImportStore.Claim()
        if let text = fields[.transactionId] { claim.transactionId = try Self.id(text, .transactionId) }
        claim.productId = try Self.name(fields[.productId])
        claim.quantity = try Self.quantity(fields[.quantity])
        claim.items = try Self.items(fields[.items])
        claim.isGranted = try Self.isGranted(fields[.granted])
        let account = try Self.account(fields[.account])
        if let text = fields[.signedTransaction] {
            (kind, proof) = (.signedTransaction, try Self.signedTransaction(text))
            // Whether it is true, the workers tell.
            claim.transactionId = claim.transactionId ?? Self.transactionId(in: text)
        } else if let text = fields[.receipt] {
            (kind, proof) = (.receipt, try Self.receipt(text))
        } else if let id = claim.transactionId {
            (kind, proof) = (.transactionId, id)
        } else if let text = fields[.orderId] {
            (kind, proof) = (.orderId, try Self.id(text, .orderId).uppercased())
        } else {
            throw .noProof
        }
        namedTransactionId = kind == .receipt ? claim.transactionId : nil
        environment = try Self.environment(fields[.environment])
        token = try Self.token(fields[.appAccountToken])
        if token != nil, account == nil { throw .tokenWithoutAccount }
        // What the older system refused to somebody is not that account's by its word.
        self.account = claim.isGranted ? account : nil
        self.claim = claim
    }

    // MARK: - Fields

    private static func id(_ text: String, _ field: ImportField) throws(ImportFlaw) -> String {
        let isId = text.utf8.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte & 0xDF)
        }
        guard isId, text.utf8.count <= Limit.idCharacters else {
            throw .invalid(field, "1 to \(Limit.idCharacters) letters and digits")
        }
        return text
    }

    private static func name(_ text: String?) throws(ImportFlaw) -> String? {
        guard let text else { return nil }
        guard isName(text) else { throw .invalid(.productId, "1 to \(Limit.nameCharacters) printable characters") }
        return text
    }

    private static func isName(_ text: String) -> Bool {
        (1...Limit.nameCharacters).contains(text.unicodeScalars.count)
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    private static func account(_ text: String?) throws(ImportFlaw) -> Account? {
        guard let text else { return nil }
        guard let account = Account(text), !account.isPseudonym else {
            throw .invalid(.account, "1 to \(Account.lengthMaximum) characters without control characters")
        }
        return account
    }

    private static func quantity(_ text: String?) throws(ImportFlaw) -> Int32? {
        guard let text else { return nil }
        guard let quantity = Int32(text), quantity >= 1 else { throw .invalid(.quantity, "a whole number from 1 on") }
        return quantity
    }

    /// `{"gem":100}`, or `gem=100;dust=5`.
    private static func items(_ text: String?) throws(ImportFlaw) -> [String: Int64]? {
        guard let text else { return nil }
        var items: [String: Int64]?
        if text.hasPrefix("{") {
            items = try? JSONDecoder().decode([String: Int64].self, from: Data(text.utf8))
        } else {
            let pairs = text.split(separator: ";").map { $0.split(separator: "=", maxSplits: 1) }
            let parsed = pairs.compactMap { pair in
                pair.count == 2 ? Int64(pair[1]).map { (String(pair[0]), $0) } : nil
            }
            items = parsed.count == pairs.count ? Dictionary(parsed, uniquingKeysWith: &+) : nil
        }
        guard let items, items.keys.allSatisfy(isName) else { throw .invalid(.items, "like gem=100;dust=5") }
        return items
    }

    private static func isGranted(_ text: String?) throws(ImportFlaw) -> Bool {
        switch text?.lowercased() {
        case nil, "true", "t", "yes", "1": return true
        case "false", "f", "no", "0": return false
        default: throw .invalid(.granted, "true or false")
        }
    }

    private static func environment(_ text: String?) throws(ImportFlaw) -> StoreEnvironment? {
        guard let text else { return nil }
        guard let environment = StoreEnvironment(rawValue: text.lowercased()) else {
            throw .invalid(.environment, "production or sandbox")
        }
        return environment
    }

    private static func token(_ text: String?) throws(ImportFlaw) -> UUID? {
        guard let text else { return nil }
        guard let token = UUID(uuidString: text) else { throw .invalid(.appAccountToken, "a UUID") }
        return token
    }

    // MARK: - Proofs

    private static func signedTransaction(_ text: String) throws(ImportFlaw) -> String {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard text.utf8.count <= Limit.signedTransactionBytes, parts.count == 3,
            parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isBase64URL) })
        else { throw .invalid(.signedTransaction, "a JWS of at most \(Limit.signedTransactionBytes) bytes") }
        return text
    }

    /// In base64 without line breaks, as it is posted.
    private static func receipt(_ text: String) throws(ImportFlaw) -> String {
        var bytes = Array(text.utf8)
        bytes.removeAll { $0 == 10 || $0 == 13 || $0 == UInt8(ascii: " ") }
        let padding = bytes.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard !bytes.isEmpty, bytes.count <= Limit.receiptCharacters, bytes.count.isMultiple(of: 4),
            bytes.dropLast(padding).allSatisfy(isBase64), bytes[0] == UInt8(ascii: "M")
        else {
            throw .invalid(.receipt, "an app receipt in base64, of at most \(Limit.receiptCharacters) characters")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
    }

    /// The transaction id that a signed transaction says, whoever made it.
    static func transactionId(in text: String) -> String? {
        struct Payload: Decodable { let transactionId: String? }
        let parts = text.split(separator: ".")
        guard parts.count == 3 else { return nil }
        var payload = String(parts[1]).replacing("-", with: "+").replacing("_", with: "/")
        payload += String(repeating: "=", count: (4 - payload.utf8.count % 4) % 4)
        let decoded = Data(base64Encoded: payload).flatMap { try? JSONDecoder().decode(Payload.self, from: $0) }
        guard let id = decoded?.transactionId, (try? Self.id(id, .transactionId)) != nil, !id.isEmpty else {
            return nil
        }
        return id
    }
}
