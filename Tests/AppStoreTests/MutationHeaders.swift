import AppStore
import Foundation

@testable import AppStoreSimulator

/// Changes of the header, and of what a notification carries; all signed by the simulator's leaf.
extension MutationGenerator {
    private enum Count {
        /// Bytes changed at the start and at the end of the header, where its JSON is more than base64.
        static let headerBytes = 60
        static let edge = 18
    }

    mutating func addHeaders() throws {
        let base = try base("consumable")
        guard let bytes = MutationText.decoded(base.parts[0].utf8) else { throw CocoaError(.coderReadCorrupt) }
        let good = String(decoding: bytes, as: UTF8.self)
        let open = String(good.dropLast())
        guard let x5c = PayloadText(good)["x5c"] else { throw CocoaError(.coderReadCorrupt) }
        let algorithms = [
            "none", "nOnE", "HS256", "ES384", "ES512", "es256", "ES256 ", " ES256", "ES256\\u0000", "RS256", "PS256",
            "ES256K", "",
        ]
        var headers: [(String, String)] = algorithms.map { ("alg \($0)", "{\"alg\":\"\($0)\",\"x5c\":\(x5c)}") }
        headers += ["null", "1", "[\"ES256\"]", "{}", "true"].map { ("alg is \($0)", "{\"alg\":\($0),\"x5c\":\(x5c)}") }
        headers += ["null", "1", "{}", "\"\"", "[]", "[1,2,3]", "[null,null,null]", "[[],[],[]]", "true"].map {
            ("x5c is \($0)", "{\"alg\":\"ES256\",\"x5c\":\($0)}")
        }
        let more = [
            "\"kid\":\"1\"", "\"kid\":1", "\"kid\":null", "\"kid\":\"Apple_Xcode_Key\"", "\"typ\":\"JWT\"", "\"typ\":1",
            "\"cty\":\"JWT\"", "\"crit\":[]", "\"crit\":null", "\"crit\":[\"exp\"]", "\"crit\":[\"b64\"],\"b64\":true",
            "\"b64\":true", "\"b64\":false", "\"b64\":null", "\"zip\":\"DEF\"", "\"jwk\":{}",
            "\"jku\":\"https://example.com\"",
            "\"x5u\":\"https://example.com\"", "\"x5t\":\"AAAA\"", "\"exp\":1", "\"alg\":\"ES256\"", "\"alg\":\"none\"",
            "\"x5c\":[]", "\"later\":NaN", "\"later\":1e999", "\"later\":\"\\ud800\"", "\"later\":\"\\u0000\"",
        ]
        headers += more.map { ("and \($0)", "\(open),\($0)}") }
        headers += [
            ("alg twice, first none", "{\"alg\":\"none\"," + good.dropFirst()), ("spaces", " \(good)\n"),
            ("x5c first", "{\"x5c\":\(x5c),\"alg\":\"ES256\"}"),
            ("names escaped", good.replacingOccurrences(of: "alg", with: "al\\u0067")),
            ("ES256 escaped", good.replacingOccurrences(of: "ES256", with: "\\u0045S256")),
            ("no alg", "{\"x5c\":\(x5c)}"),
            ("no x5c", "{\"alg\":\"ES256\"}"), ("empty", ""), ("null", "null"), ("list", "[\(good)]"),
            ("twice", good + good),
            ("cut", open), ("comma at the end", "\(open),}"), ("byte order mark", "\u{FEFF}\(good)"),
        ]
        for (name, text) in headers { add(base, .header, name, try signed(base, header: Array(text.utf8))) }
        add(base, .header, "UTF-16", try signed(base, header: good.utf16.flatMap { [0, UInt8($0)] }))
        for number in 0..<Count.headerBytes {
            let change = ByteChange.allCases[number % ByteChange.allCases.count]
            let offset = Int.random(in: 0..<Count.edge, using: &random)
            let position = number % 3 == 2 ? bytes.count - 1 - offset % 4 : offset
            let changed = change.applied(to: bytes, at: position, &random)
            add(base, .header, "\(change) at \(position) of \(bytes.count)", try signed(base, header: changed))
        }
        try addSpelledParts(base)
    }

    /// Parts in other words, signed as they are written.
    private mutating func addSpelledParts(_ base: MutationBase) throws {
        let (header, payload) = (base.parts[0], base.parts[1])
        // Of each length modulo three, so that there are unused bits and padding.
        let payloads = (0..<3).map { count in
            Base64URL.encode(Array((base.payload + String(repeating: " ", count: count)).utf8))
        }
        for text in payloads {
            let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
            var spellings = [("good", text), ("a dot within", MutationText.inserting(".", into: text, at: 40))]
            if !padding.isEmpty { spellings.append(("padded", text + padding)) }
            spellings += Self.unusedBits(text).prefix(1).map { ("unused bits", $0) }
            spellings += [" ", "\n", "!", "="].map {
                ("\($0.debugDescription) within", MutationText.inserting($0, into: text, at: 40))
            }
            for (name, text) in spellings {
                add(base, .spelling, "signed payload: \(name)", try signed(header: header, payload: text))
            }
        }
        for (name, text) in [
            ("padded", header + "=="), ("a line break", MutationText.inserting("\n", into: header, at: 40)),
        ] {
            add(base, .spelling, "signed header: \(name)", try signed(header: text, payload: payload))
        }
    }

    /// A notification that is signed well and carries something else.
    mutating func addNested() throws {
        let renewal = try base("renewal")
        let download = try base("refund request")
        let signed = try Dictionary(
            uniqueKeysWithValues: ["consumable", "subscription", "renewal info", "download", "test"].map {
                ($0, try base($0))
            })
        let stranger = try CertificateAuthority(now: SimulatedStore.now)
        var inside: [(String, String)] = signed.sorted { $0.key < $1.key }.map {
            ($0.key, String(decoding: $0.value.jws, as: UTF8.self))
        }
        for changes in [
            ["bundleId": "\"com.example.other\""], ["environment": nil], ["environment": "\"Xcode\""],
            ["quantity": "-1"],
            ["signedDate": nil], ["originalTransactionId": "\"2\""],
        ] as [[String: String?]] {
            let text = SimulatedStore.payload(changes)
            inside.append(("a transaction with \(changes)", String(decoding: try store.sign(text), as: UTF8.self)))
        }
        let strangers = try PayloadSigner(chain: stranger.chain)
        inside += [
            ("a stranger's transaction", try strangers.sign(SimulatedStore.payload())),
            ("a stranger's renewal info", try strangers.sign(NotificationDraft.renewalInfo())),
            (
                "another subscription's renewal info",
                String(
                    decoding: try store.sign(NotificationDraft.renewalInfo(["originalTransactionId": "\"2\""])),
                    as: UTF8.self)
            ),
            (
                "a download with another number",
                String(decoding: try store.sign(NotificationDraft.appTransaction(["appAppleId": "5"])), as: UTF8.self)
            ),
            ("nothing signed", "e30.e30.e30"), ("not base64", "?"),
        ]
        try addContents(renewal, download)
        for (name, text) in inside {
            for (base, content, field) in [
                (renewal, "data", "signedTransactionInfo"), (renewal, "data", "signedRenewalInfo"),
                (download, "appData", "signedAppTransactionInfo"),
            ] {
                try addNested(base, content, field, "\(name) as \(field)") { _ in text }
            }
        }
        for number in 0..<30 {
            let change = ByteChange.allCases[number % 4 == 3 ? 5 : number % 4]
            var generator = random
            try addNested(
                renewal, "data", number % 2 == 0 ? "signedTransactionInfo" : "signedRenewalInfo", "\(change) \(number)"
            ) {
                let bytes = Array($0.utf8)
                let position = Int.random(in: 0..<bytes.count, using: &generator)
                // In the letters of base64, so that the notification stays JSON.
                let changed = ByteChange.letter.applied(to: bytes, at: position, &generator)
                return String(decoding: changed, as: UTF8.self)
            }
            random = generator
        }
    }

    /// Notifications with two contents, and a TEST that is about something.
    private mutating func addContents(_ renewal: MutationBase, _ download: MutationBase) throws {
        var both = PayloadText(renewal.payload)
        both["appData"] = PayloadText(download.payload)["appData"]
        add(renewal, .json, "data and appData", try signed(renewal, payload: both.text))
        for base in [renewal, download] {
            var test = PayloadText(base.payload)
            test["notificationType"] = "\"TEST\""
            add(base, .nested, "in a TEST", try signed(base, payload: test.text))
        }
    }

    private mutating func addNested(
        _ base: MutationBase, _ content: String, _ field: String, _ what: String, _ change: (String) -> String
    ) throws {
        var payload = PayloadText(base.payload)
        var inner = PayloadText(payload[content] ?? "{}")
        let old = (inner[field] ?? "\"\"").dropFirst().dropLast()
        inner[field] = "\"\(change(String(old)))\""
        payload[content] = inner.text
        add(base, .nested, what, try signed(base, payload: payload.text))
    }
}
