import Foundation
import SwiftASN1

@testable import AppStore
@testable import AppStoreSimulator

/// A receipt that differs from a good one, and the same receipt when nothing is changed.
struct ReceiptMutant: Sendable {
    /// Where it was changed.
    enum Place: String, Sendable, CaseIterable {
        case nowhere
        /// The names and lengths around the content.
        case envelope
        case content
        case certificates
        /// Who signed, with what, and the signature.
        case signer
        /// The whole: cut, lengthened, spelled in another way.
        case whole
        /// Signed anew, in another way or by another.
        case signedAnew
    }

    let name: String
    let place: Place
    let what: String
    let der: [UInt8]
    let app: AppIdentity
    /// When its certificates are judged: its creation date.
    let date: Date
}

/// Makes mutants of receipts; the same seed makes the same of Apple's.
struct ReceiptMutationGenerator {
    private enum Count {
        /// Changes of each sort in each part of each receipt.
        static let perPart = 1
        /// Receipts with more bytes are left out: they have only more content.
        static let bytesMaximum = 20_000
        /// Bytes at the start of each part of the structure, each of which is changed.
        static let head = 6
    }

    private var random = SeededGenerator(seed: MutationGenerator.seed)
    private(set) var mutants: [ReceiptMutant] = []

    /// Of every genuine receipt, and of the simulator's.
    static func all(_ bench: ReceiptBench) throws -> [ReceiptMutant] {
        var generator = ReceiptMutationGenerator()
        for vector in ReceiptVectors.genuine {
            let der = try vector.der
            guard der.count <= Count.bytesMaximum, let date = try ReceiptVectors.date(vector.expected.creationDate)
            else { continue }
            try generator.add(vector.file, der, AppIdentity(bundleId: vector.expected.bundleId), date)
        }
        let simulated = try bench.authority.receipt(try ReceiptBench.contents())
        try generator.add("simulated", simulated, ReceiptBench.app, ReceiptBench.now)
        return try generator.mutants + signedAnew(bench)
    }

    private mutating func add(_ name: String, _ der: [UInt8], _ app: AppIdentity, _ date: Date) throws {
        func mutant(_ place: ReceiptMutant.Place, _ what: String, _ bytes: [UInt8]) -> ReceiptMutant {
            ReceiptMutant(name: name, place: place, what: what, der: bytes, app: app, date: date)
        }
        mutants.append(mutant(.nowhere, "", der))
        let signed = try SignedReceipt(der, limits: .default)
        let certificates = signed.certificates.map(\.whole)
        guard let first = certificates.map(\.lowerBound).min(), let last = certificates.map(\.upperBound).max() else {
            return
        }
        let parts: [(ReceiptMutant.Place, Range<Int>)] = [
            (.envelope, 0..<signed.content.lowerBound), (.content, signed.content),
            (.envelope, signed.content.upperBound..<first), (.certificates, first..<last), (.signer, last..<der.count),
        ]
        for (place, range) in parts {
            for change in ByteChange.allCases {
                for _ in 0..<Count.perPart {
                    let position = Int.random(in: range, using: &random)
                    mutants.append(
                        mutant(place, "\(change) at \(position)", change.applied(to: der, at: position, &random)))
                }
            }
        }
        // Where the structure is, and little else.
        let starts = [0, first, signed.signer.issuer.lowerBound - Count.head, signed.signer.issuer.upperBound]
        var heads: [Int] = starts.flatMap { Array($0..<($0 + Count.head)) }
        for certificate in certificates { heads += Array((certificate.upperBound - 3)..<certificate.upperBound) }
        for position in Set(heads).sorted() {
            let place = parts.first { $0.1.contains(position) }?.0 ?? .envelope
            var changed = der
            changed[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            mutants.append(mutant(place, "bit at \(position)", changed))
        }
        let middle = Int.random(in: 0..<der.count, using: &random)
        for (what, bytes) in [
            ("cut after \(middle)", Array(der.prefix(middle))), ("cut by one", Array(der.dropLast())),
            ("a zero behind", der + [0]), ("two zeros behind", der + [0, 0]), ("itself behind", der + der),
            ("indefinite lengths", BERText.indefinite(der)), ("a zero in front", [0] + der),
            ("a long length", [0x30, 0x84, 0, 0] + der.dropFirst(2)),
        ] { mutants.append(mutant(.whole, what, bytes)) }
        try addLists(mutant, der, signed)
    }

    /// The same certificates in another order, twice, or not all of them.
    private mutating func addLists(
        _ mutant: (ReceiptMutant.Place, String, [UInt8]) -> ReceiptMutant, _ der: [UInt8], _ signed: SignedReceipt
    ) throws {
        let all = signed.certificates.map { Array(der[$0.whole]) }
        var lists: [(String, [[UInt8]])] = [
            ("the other way round", all.reversed()), ("the first twice", [all[0]] + all), ("none", []),
        ]
        for index in all.indices {
            lists.append(("without \(index)", all.indices.filter { $0 != index }.map { all[$0] }))
        }
        for (what, list) in lists {
            guard let bytes = Self.replacing(certificates: list, in: der, signed) else { continue }
            mutants.append(mutant(.certificates, what, bytes))
        }
    }

    /// The receipt with another list of certificates, written anew around it.
    private static func replacing(certificates: [[UInt8]], in der: [UInt8], _ signed: SignedReceipt) -> [UInt8]? {
        var outer = DERWalk(der)
        guard var info = outer.enter(DERWalk.Tag.sequence), let type = info.next(),
            var explicit = info.enter(DERWalk.Tag.context0), var body = explicit.enter(DERWalk.Tag.sequence),
            let version = body.next(), let digests = body.next(), let content = body.next(), body.next() != nil,
            let signers = body.next()
        else { return nil }
        let data = ReceiptBench.value(
            0x30, Array(der[version.whole]), Array(der[digests.whole]), Array(der[content.whole]),
            ReceiptBench.value(0xA0, Array(certificates.joined())), Array(der[signers.whole]))
        return ReceiptBench.value(0x30, Array(der[type.whole]), ReceiptBench.value(0xA0, data))
    }
}
