import Crypto
import Foundation
import Testing

@testable import AppStore
@testable import AppStoreSimulator

@Suite("The chain cache")
struct ChainCacheTests {
    private let store: SimulatedStore
    private let now = SimulatedStore.now

    init() throws { store = try #require(SimulatedStore.shared) }

    @Test("a cached chain is judged again at every payload's own date")
    func validityOnAHit() throws {
        let verifier = store.verifier
        _ = try verifier.payload(try store.sign(SimulatedStore.payload())).get()
        #expect(verifier.chainsCached == 1)
        for signedDate in ["4102444800000", "1000000000000"] {
            let late = try store.sign(SimulatedStore.payload(["signedDate": signedDate]))
            #expect(rejection(verifier.payload(late)) == .certificateExpired)
        }
        let headerIsTheSame = try store.sign(SimulatedStore.payload(["signedDate": nil]))
        #expect(rejection(verifier.payload(headerIsTheSame)) == .payloadUnreadable)
        #expect(verifier.chainsCached == 1)
    }

    @Test("what is verified says when the first of its certificates expires, from the cache and without it")
    func certificatesExpire() throws {
        let verifier = store.verifier
        var recipe = CertificateRecipe.leaf
        recipe.notValidAfter = Date(timeIntervalSince1970: 1_790_000_100)
        let chain = try store.authority.chain(replacingLeaf: recipe, now: now)
        for _ in 0..<2 {
            let jws = try store.sign(SimulatedStore.payload(), with: chain)
            let transaction = try verifier.transaction(jws, app: SimulatedStore.app).get()
            #expect(transaction.certificatesExpire == recipe.notValidAfter)
        }
        let texts = try chain.encoded.map { "\"\(Data($0).base64EncodedString())\"" }.joined(separator: ",")
        let header = "{\"alg\":\"ES256\",\"kid\":\"1\",\"x5c\":[\(texts)]}"
        let other = try PayloadSigner(header: header, key: chain.leafKey).sign(SimulatedStore.payload())
        let transaction = try verifier.transaction(Array(other.utf8), app: SimulatedStore.app).get()
        #expect(transaction.certificatesExpire == recipe.notValidAfter)
        #expect(verifier.pathsJudged == 1)
    }

    @Test("refusals are not remembered, so nobody can fill the cache")
    func refusals() throws {
        let verifier = store.verifier
        let texts = try store.certificateTexts().joined(separator: ",")
        for index in 0..<100 {
            let header = "{\"alg\":\"ES256\",\"kid\":\"\(index)\",\"x5c\":[\(texts)]}"
            var jws = Array(
                try PayloadSigner(header: header, key: store.authority.leafKey).sign("{\"signedDate\":1}").utf8)
            #expect(rejection(verifier.payload(jws)) == .certificateExpired)
            jws = Array(try PayloadSigner(header: header, key: .init()).sign(SimulatedStore.payload()).utf8)
            #expect(rejection(verifier.payload(jws)) == .signatureInvalid)
        }
        #expect(verifier.chainsCached == 0)
    }

    @Test("a chain under a header of its own each time is judged once, and vouches for no signature")
    func samePathUnderManyHeaders() throws {
        let verifier = store.verifier
        let texts = try store.certificateTexts().joined(separator: ",")
        for index in 0..<20 {
            let header = "{\"alg\":\"ES256\",\"kid\":\"\(index)\",\"x5c\":[\(texts)]}"
            let genuine = try PayloadSigner(header: header, key: store.authority.leafKey).sign(SimulatedStore.payload())
            #expect(throws: Never.self) { try verifier.payload(Array(genuine.utf8)).get() }
            let other = header.replacing("\"kid\":\"", with: "\"kid\":\"x")
            var jws = Array(try PayloadSigner(header: other, key: .init()).sign(SimulatedStore.payload()).utf8)
            #expect(rejection(verifier.payload(jws)) == .signatureInvalid)
            jws = Array(try PayloadSigner(header: other, key: store.authority.leafKey).sign("{\"signedDate\":1}").utf8)
            #expect(rejection(verifier.payload(jws)) == .certificateExpired)
        }
        #expect(verifier.pathsJudged == 1)
    }

    @Test("the bytes of a known path, cut elsewhere, are no known path")
    func pathCutElsewhere() throws {
        let texts = [[UInt8]](repeating: [1, 2, 3, 4], count: 3)
        #expect(VerifiedPath.key(of: texts) != VerifiedPath.key(of: [[1, 2, 3, 4, 1], [2, 3, 4], [1, 2, 3, 4]]))
        #expect(VerifiedPath.key(of: texts) == VerifiedPath.key(of: texts))
    }

    @Test("beyond its capacity it forgets, and everything still verifies")
    func capacity() throws {
        let verifier = SignedDataVerifier(roots: store.roots, limits: SignedDataLimits(chainsCachedMaximum: 32))
        let payloads = try (0..<200).map { _ in
            try store.sign(
                SimulatedStore.payload(), with: try store.authority.chain(replacingLeaf: .leaf, now: now))
        }
        for round in 0..<2 {
            for (index, jws) in payloads.enumerated() {
                #expect(throws: Never.self) { try verifier.payload(jws).get() }
                if round == 0 { #expect(verifier.chainsCached == min(index + 1, 32)) }
            }
        }
        #expect(verifier.chainsCached == 32)
    }

    @Test("two thousand chains leave no more behind than it may hold, and each is judged by itself")
    func manyChains() throws {
        let verifier = store.verifier
        let capacity = SignedDataLimits.default.chainsCachedMaximum
        var wrong = 0
        for index in 0..<2_000 {
            let chain = try store.authority.chain(replacingLeaf: .leaf, now: now)
            let id = "\(index)"
            let jws = try store.sign(SimulatedStore.payload(["transactionId": "\"\(id)\""]), with: chain)
            for _ in 0..<2 where try verifier.transaction(jws, app: SimulatedStore.app).get().transactionId != id {
                wrong += 1
            }
            // The header of one chain with the signature of another: its entry must not vouch for it.
            let foreign = try store.sign(SimulatedStore.payload())
            let header = jws.prefix { $0 != UInt8(ascii: ".") }
            let mixed = Array(header) + foreign.drop { $0 != UInt8(ascii: ".") }
            if rejection(verifier.payload(mixed)) != .signatureInvalid { wrong += 1 }
            if verifier.chainsCached != min(index + 1, capacity) { wrong += 1 }
        }
        #expect(wrong == 0)
        #expect(verifier.chainsCached == capacity)
    }

    @Test("what is in use stays when others come and go")
    func leastRecentlyUsed() throws {
        let verifier = SignedDataVerifier(roots: store.roots, limits: SignedDataLimits(chainsCachedMaximum: 2))
        let favourite = try store.sign(SimulatedStore.payload())
        _ = try verifier.payload(favourite).get()
        for _ in 0..<8 {
            let other = try store.authority.chain(replacingLeaf: .leaf, now: now)
            _ = try verifier.payload(try store.sign(SimulatedStore.payload(), with: other)).get()
            _ = try verifier.payload(favourite).get()
        }
        #expect(verifier.chainsCached == 2)
    }

    @Test("a capacity of zero remembers nothing")
    func noCache() throws {
        let verifier = SignedDataVerifier(roots: store.roots, limits: SignedDataLimits(chainsCachedMaximum: 0))
        for _ in 0..<3 { _ = try verifier.payload(try store.sign(SimulatedStore.payload())).get() }
        #expect(verifier.chainsCached == 0)
    }

    @Test("many tasks at once get the same answers as one")
    func concurrency() async throws {
        let verifier = SignedDataVerifier(roots: store.roots, limits: SignedDataLimits(chainsCachedMaximum: 4))
        var made: [[UInt8]] = []
        for _ in 0..<8 {
            let chain = try store.authority.chain(replacingLeaf: .leaf, now: now)
            made.append(try store.sign(SimulatedStore.payload(), with: chain))
            made.append(try store.sign(SimulatedStore.payload(["environment": "\"Xcode\""]), with: chain))
            var broken = try store.sign(SimulatedStore.payload(), with: chain)
            broken[broken.count - 10] ^= 1
            made.append(broken)
        }
        let jobs = made
        let expected = jobs.map { rejection(store.verifier.transaction($0, app: SimulatedStore.app)) }
        let wrong = await withTaskGroup(of: Int.self) { group in
            for task in 0..<16 {
                group.addTask {
                    (0..<60).count { step in
                        let index = (step * 7 + task) % jobs.count
                        return rejection(verifier.transaction(jobs[index], app: SimulatedStore.app)) != expected[index]
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
        #expect(verifier.chainsCached == 4)
        #expect(Set(expected).count >= 3)
    }
}
