import HTTPTypes

/// Looks at the fields of a fault body, and at nothing else of it: refuses those that do not exist.
///
/// What `GET faults` tells besides may come back; it counts from zero again.
struct FaultFields: Decodable {
    private enum CodingKeys: String, CodingKey, CaseIterable { case rules, notifications, notificationCounts }

    private struct Rule: Decodable {
        init(from decoder: any Decoder) throws {
            try decoder.refuseFields(except: FaultRule.CodingKeys.self, and: ["matched", "acted", "isOver"])
            let container = try decoder.container(keyedBy: FaultRule.CodingKeys.self)
            _ = try container.decodeIfPresent(KnownFields<FaultRule.Match.CodingKeys>.self, forKey: .match)
            _ = try container.decodeIfPresent(KnownFields<FaultRule.Fault.CodingKeys>.self, forKey: .fault)
        }
    }

    init(from decoder: any Decoder) throws {
        try decoder.refuseFields(except: CodingKeys.self)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        _ = try container.decodeIfPresent([Rule].self, forKey: .rules)
        _ = try container.decodeIfPresent(KnownFields<NotificationFaults.CodingKeys>.self, forKey: .notifications)
    }
}

/// An object with no other fields than these.
private struct KnownFields<Keys: CodingKey & CaseIterable>: Decodable {
    init(from decoder: any Decoder) throws {
        try decoder.refuseFields(except: Keys.self)
    }
}

extension Decoder {
    /// Refuses an object with a field that is none of these.
    ///
    /// - Throws: a ``Problem`` that names the field and where it is.
    fileprivate func refuseFields<Keys: CodingKey & CaseIterable>(
        except known: Keys.Type, and others: [String] = []
    ) throws {
        let names = known.allCases.map(\.stringValue) + others
        for key in try container(keyedBy: AnyField.self).allKeys where !names.contains(key.stringValue) {
            throw Problem(.badRequest, "\((codingPath + [key]).fieldName): no such field")
        }
    }
}

extension [any CodingKey] {
    /// A path as people write it: `rules[0].fault.ms`; `the body` when it is empty.
    var fieldName: String {
        guard !isEmpty else { return "the body" }
        return reduce(into: "") { name, key in
            if let index = key.intValue {
                name += "[\(index)]"
            } else {
                name += name.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
    }
}

/// The key of any field.
private struct AnyField: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) {
        self.stringValue = stringValue
    }

    init?(intValue: Int) {
        nil
    }
}
