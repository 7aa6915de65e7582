import Foundation
import Synchronization

/// A chain that was verified, with the exact bytes by which it is found again.
protocol RememberedChain: AnyObject, Sendable {
    /// What carried the chain, exactly as it came: a header, or certificates.
    var header: [UInt8] { get }
}

/// Remembers chains that were verified, by the exact bytes of the header that carried them.
///
/// Apple signs with two or three leaves at a time, and writes the header of each always the same; so one comparison of
/// 5 kB stands for decoding the header and for two P-384 signatures. Only what led to a good signature is kept: a header
/// is part of what the leaf signs, so nobody but Apple can fill the cache. Refusals are never remembered.
final class ChainCache<Chain: RememberedChain>: Sendable {
    private struct Entry {
        let chain: Chain
        var lastUse: UInt64
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var uses: UInt64 = 0
    }

    private let capacity: Int
    /// Held for one look-up in a small dictionary; hashing and comparing happen outside.
    private let state = Mutex(State())

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// How many chains are remembered.
    var count: Int {
        state.withLock { $0.entries.count }
    }

    /// The chain that came with exactly this header, if it is remembered.
    func chain(for header: ArraySlice<UInt8>) -> Chain? {
        let key = Self.key(of: header)
        let candidate = state.withLock { state -> Chain? in
            guard let index = state.entries.index(forKey: key) else { return nil }
            state.uses += 1
            state.entries.values[index].lastUse = state.uses
            return state.entries.values[index].chain
        }
        guard let candidate, Self.areEqual(candidate.header, header) else { return nil }
        return candidate
    }

    /// Remembers a chain; beyond the capacity, the chain that was not used for longest is forgotten.
    func insert(_ chain: Chain) {
        guard capacity > 0 else { return }
        let key = Self.key(of: chain.header[...])
        state.withLock { state in
            if state.entries[key] == nil, state.entries.count >= capacity,
                let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                state.entries[oldest.key] = nil
            }
            state.uses += 1
            state.entries[key] = Entry(chain: chain, lastUse: state.uses)
        }
    }

    /// A hash of a sample of the header: the bytes are compared anyway, so it needs only to tell honest ones apart.
    private static func key(of header: ArraySlice<UInt8>) -> Int {
        let sampleCount = 128
        let stride = max(1, header.count / sampleCount)
        var hasher = Hasher()
        header.withUnsafeBytes { bytes in
            hasher.combine(bytes.count)
            var position = 0
            while position + 8 <= bytes.count {
                hasher.combine(bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
                position += stride * 4
            }
        }
        return hasher.finalize()
    }

    @inline(never)
    private static func areEqual(_ first: [UInt8], _ second: ArraySlice<UInt8>) -> Bool {
        first.withUnsafeBytes { first in
            second.withUnsafeBytes { second in
                guard first.count == second.count, let start = first.baseAddress, let other = second.baseAddress else {
                    return false
                }
                return memcmp(start, other, first.count) == 0
            }
        }
    }
}
