import Foundation

/// App receipts (PKCS #7) that prove nothing, or not what they are posted for.
extension Attack {
    static let receipts = [
        Attack(
            "receipt_of_another_app", "A genuine receipt of another app.",
            goodBackend: "It is refused: attribute 2 is not our bundle id."
        ) { material in
            let contents = try await material.receiptContents { $0.bundleId += ".other" }
            return [.receipt(try material.genuine(contents))]
        },
        Attack(
            "receipt_of_sandbox", "A genuine sandbox receipt, whose purchases cost nothing, posted as a real one.",
            goodBackend: "It is refused, or granted in a test environment only: attribute 0 is ProductionSandbox."
        ) { material in
            let contents = try await material.receiptContents { $0.environment = .sandbox }
            return [.receipt(try material.genuine(contents))]
        },
        Attack(
            "receipt_edited", "A genuine receipt in which the product was made another.",
            goodBackend: "It is refused: the signature is of other content."
        ) { material in
            let contents = try await material.receiptContents()
            var receipt = Data(try material.receipts.receipt(contents))
            if let product = contents.inAppPurchases.last?.productId, let last = product.utf8.last,
                let range = receipt.range(of: Data(product.utf8))
            {
                receipt[range.upperBound - 1] = last == UInt8(ascii: "9") ? UInt8(ascii: "8") : UInt8(ascii: "9")
            }
            return [.receipt(receipt.base64EncodedString())]
        },
        Attack(
            "receipt_self_made", "A receipt below the attacker's own root, with Apple's markers.",
            goodBackend: "It is refused: the root is not pinned."
        ) { material in
            let contents = try await material.receiptContents()
            return [.receipt(Data(try material.workshop.strangersReceipts().receipt(contents)).base64EncodedString())]
        },
        Attack(
            "receipt_genuine_authorities_foreign_leaf",
            "A receipt by the attacker's key; the genuine intermediate and root are listed above its certificate.",
            goodBackend: "It is refused: the intermediate did not sign that certificate."
        ) { material in
            let stranger = try material.workshop.strangersReceipts().leaf
            let signer = try CMSSigner(
                key: stranger.key,
                certificates: [
                    stranger.certificate, material.receipts.intermediate.certificate,
                    material.receipts.root.certificate,
                ])
            let receipt = try signer.sign(try await material.receiptContents().encoded())
            return [.receipt(Data(receipt).base64EncodedString())]
        },
        Attack(
            "receipt_genuine_certificates_foreign_key",
            "A receipt that lists the genuine certificates only; the attacker's key made the signature.",
            goodBackend: "It is refused: a listed certificate proves nothing, its key must have signed."
        ) { material in
            let key = try material.workshop.strangersReceipts().leaf.key
            let receipts = material.receipts
            let signer = try CMSSigner(
                key: key,
                certificates: [receipts.leaf, receipts.intermediate, receipts.root].map(\.certificate))
            let receipt = try signer.sign(try await material.receiptContents().encoded())
            return [.receipt(Data(receipt).base64EncodedString())]
        },
        Attack(
            "receipt_as_xcode_makes", "A self-made receipt in BER with indefinite lengths, as Xcode writes them.",
            goodBackend: "It is refused for its chain, and reading it neither fails nor hangs."
        ) { material in
            let contents = try await material.receiptContents()
            let receipt = try material.workshop.strangersReceipts().receipt(contents)
            return [.receipt(Data(BERText.indefinite(receipt)).base64EncodedString())]
        },
        Attack(
            "receipt_spelled_otherwise", "A genuine receipt twice: in DER, and in BER with indefinite lengths.",
            goodBackend: "Its purchases are granted once: their transaction ids count, not the receipt's bytes."
        ) { material in
            let receipt = try material.receipts.receipt(try await material.receiptContents())
            return [
                .receipt(Data(receipt).base64EncodedString()),
                .receipt(Data(BERText.indefinite(receipt)).base64EncodedString()),
            ]
        },
        Attack(
            "receipt_truncated", "The first half of a genuine receipt.", goodBackend: "It is refused as malformed."
        ) { material in
            let receipt = try material.receipts.receipt(try await material.receiptContents())
            return [.receipt(Data(receipt.prefix(receipt.count / 2)).base64EncodedString())]
        },
        Attack(
            "receipt_thousand_times", "A genuine receipt that is posted a thousand times, at once if possible.",
            goodBackend: "Each of its purchases is granted once."
        ) { material in
            let receipt = try material.genuine(try await material.receiptContents())
            return [Artefact(kind: .receipt, value: receipt, times: 1_000)]
        },
        Attack(
            "receipt_and_transaction", "One purchase as a signed transaction, and in a receipt.",
            goodBackend: "It is granted once: both name the same transaction id."
        ) { material in
            let transaction = try await material.buy()
            let contents = try await material.receiptContents(of: transaction)
            return [.transaction(try material.sign(transaction)), .receipt(try material.genuine(contents))]
        },
    ]
}

extension AttackMaterial {
    /// Buys, and says what the receipt says then.
    fileprivate func receiptContents(
        _ change: @Sendable (inout Purchase) -> Void = { _ in }
    ) async throws -> ReceiptContents {
        try await receiptContents(of: try await buy(change))
    }

    /// What the receipt says of whoever bought this.
    func receiptContents(of transaction: TransactionRecord) async throws -> ReceiptContents {
        let now = now
        return await store.read { state in
            AppReceipt.contents(
                of: state, bundleId: transaction.bundleId, accountId: transaction.accountId, device: nil,
                environment: transaction.environment, now: now)
        }
    }

    fileprivate func genuine(_ contents: ReceiptContents) throws -> String {
        Data(try receipts.receipt(contents)).base64EncodedString()
    }
}

/// Spells DER as BER does that does not know lengths beforehand (X.690, section 8.1.3.6).
enum BERText {
    /// The outer layers, which a writer of streams leaves open; certificates stay as they are signed.
    private static let depthMaximum = 4

    /// The same value, its constructed parts with indefinite lengths; what cannot be read stays as it is.
    static func indefinite(_ der: [UInt8]) -> [UInt8] { rewritten(der[...], depth: 0) }

    private static func rewritten(_ bytes: ArraySlice<UInt8>, depth: Int) -> [UInt8] {
        var result: [UInt8] = []
        var rest = bytes
        while let element = next(&rest) {
            let tag = element.whole[element.whole.startIndex]
            if tag & 0x20 != 0, depth < depthMaximum {
                result += [tag, 0x80] + rewritten(element.content, depth: depth + 1) + [0, 0]
            } else {
                result += element.whole
            }
        }
        return result + rest
    }

    /// Takes the first element; nil when none is left or it cannot be read.
    private static func next(
        _ rest: inout ArraySlice<UInt8>
    ) -> (whole: ArraySlice<UInt8>, content: ArraySlice<UInt8>)? {
        guard rest.count >= 2 else { return nil }
        let start = rest.startIndex
        var length = Int(rest[start + 1])
        var contentStart = start + 2
        if length > 0x80 {
            let count = length & 0x7F
            guard count <= 4, rest.count >= 2 + count else { return nil }
            length = rest[contentStart..<contentStart + count].reduce(0) { $0 << 8 | Int($1) }
            contentStart += count
        } else if length == 0x80 {
            return nil
        }
        guard rest.endIndex - contentStart >= length else { return nil }
        let content = rest[contentStart..<contentStart + length]
        let whole = rest[start..<contentStart + length]
        rest = rest[(contentStart + length)...]
        return (whole, content)
    }
}
