import Foundation
import Testing

@testable import ReceiptIntake

@Suite("What intake reads in a receipt that nobody has verified")
struct ReceiptTextTests {
    private func flaw(_ text: String) -> ReceiptText.Flaw? {
        do {
            _ = try ReceiptText(text)
            return nil
        } catch {
            return error
        }
    }

    @Test("line breaks of every kind are removed, wherever they stand, so that one receipt has one text")
    func lineBreaks() throws {
        let whole = Proofs.receipt(bytes: 1000)
        for (length, separator) in [(76, "\r\n"), (64, "\n"), (1, "\r"), (3, "\n\n")] {
            let broken = Proofs.broken(whole, every: length, by: separator)
            #expect(broken != whole)
            #expect(try ReceiptText(broken).text == whole)
            #expect(try ReceiptText(separator + broken + separator).text == whole)
        }
    }

    @Test("whatever begins with 0x30 is taken, however long its last group is", arguments: 1...9)
    func lengths(count: Int) throws {
        let text = Proofs.receipt(bytes: count)
        #expect(try ReceiptText(text).text == text)
    }

    @Test("the BER of Xcode's receipts is let in: the workers say what it is")
    func indefiniteLength() throws {
        let text = Data([0x30, 0x80, 0x06, 0x09, 0x00, 0x00]).base64EncodedString()
        #expect(try ReceiptText(text).text == text)
    }

    @Test(
        "what is wrong is told by its kind",
        arguments: [
            ("", .empty), ("\r\n", .empty), ("====", .foreignCharacter), ("=", .incomplete), ("M", .incomplete),
            ("MI", .incomplete), ("MII", .incomplete), ("MIIBA", .incomplete), ("MII=A", .foreignCharacter),
            ("MA==", nil), ("MB==", .incomplete), ("MIE=", nil), ("MIF=", .incomplete), ("MI=", .incomplete),
            ("MIIB=", .incomplete), ("MIIB====", .foreignCharacter), ("M===", .foreignCharacter),
            ("MIIB MIIB", .space), ("MIIB\tMIIB", .foreignCharacter), ("MI-B", .urlAlphabet), ("MI_B", .urlAlphabet),
            ("ＭIIB", .foreignCharacter), ("MIIB\u{0}AAA", .foreignCharacter), ("MI\u{2028}IB", .foreignCharacter),
            ("eyJhbGciOiJFUzI1NiJ9.e30.c2ln", .signedTransaction), ("-----BEGIN PKCS7-----", .foreignCharacter),
            ("AAAA", .notContainer), ("LzBB", .notContainer), ("MTIz", .notContainer),
            ("ewoJInNpZ25hdHVyZSI=", .oldTransactionReceipt),
        ] as [(String, ReceiptText.Flaw?)])
    func flaws(text: String, expected: ReceiptText.Flaw?) {
        #expect(flaw(text) == expected, "\(text)")
    }

    @Test("what it says of base64 is what Foundation says of it")
    func agreesWithFoundation() throws {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("ABMDabz019+/=- \n.")
        for _ in 0..<5000 {
            let length = Int.random(in: 1...9, using: &generator)
            let text = "M" + String((0..<length).compactMap { _ in alphabet.randomElement(using: &generator) })
            guard let receipt = try? ReceiptText(text) else { continue }
            let decoded = try #require(Data(base64Encoded: receipt.text), "\(text)")
            #expect(decoded.first == 0x30)
            #expect(decoded.base64EncodedString() == receipt.text, "another spelling of the same bytes: \(text)")
        }
    }

    @Test("4 MiB are taken, with line breaks too, and a group more is not")
    func size() throws {
        let largest = "MIIB" + String(repeating: "A", count: ReceiptText.charactersMaximum - 4)
        #expect(try ReceiptText(largest).text == largest)
        #expect(try ReceiptText(Proofs.broken(largest, every: 76, by: "\r\n")).text == largest)
        #expect(flaw(largest + "AAAA") == .tooLarge)
    }

    @Test("every flaw has a sentence of its own that quotes nothing of the receipt")
    func sentences() {
        let sentences = Set(ReceiptText.Flaw.allCases.map(\.description))
        #expect(sentences.count == ReceiptText.Flaw.allCases.count)
        #expect(sentences.allSatisfy { $0.hasSuffix(".") })
    }
}

extension Proofs {
    /// Something that looks like a receipt from outside: DER's first byte, and noise.
    static func receipt(bytes: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        let noise = (1..<max(bytes, 1)).map { _ in UInt8.random(in: 0...255, using: &generator) }
        return Data([0x30] + noise).base64EncodedString()
    }

    /// The same with a separator after every so many characters.
    static func broken(_ text: String, every length: Int, by separator: String) -> String {
        let characters = Array(text.utf8)
        return stride(from: 0, to: characters.count, by: length).map {
            String(decoding: characters[$0..<min($0 + length, characters.count)], as: UTF8.self)
        }.joined(separator: separator)
    }
}
