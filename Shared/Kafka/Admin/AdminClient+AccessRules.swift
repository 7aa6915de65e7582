import CLibrdkafka

extension AdminClient {
    func accessRules(of principal: String?, timeout: Duration) throws(KafkaError) -> Set<KafkaAccessRule> {
        let filter = rd_kafka_AclBindingFilter_new(
            RD_KAFKA_RESOURCE_ANY, nil, RD_KAFKA_RESOURCE_PATTERN_ANY, principal, nil, RD_KAFKA_ACL_OPERATION_ANY,
            RD_KAFKA_ACL_PERMISSION_TYPE_ANY, nil, 0)
        guard let filter else { throw KafkaError(.invalidMessage, "the principal cannot be") }
        defer { rd_kafka_AclBinding_destroy(filter) }
        return try call(RD_KAFKA_ADMIN_OP_DESCRIBEACLS, within: timeout, "access rules were not told") {
            rd_kafka_DescribeAcls($0, filter, $1, $2)
        } read: { event throws(KafkaError) in
            guard let result = rd_kafka_event_DescribeAcls_result(event) else { throw KafkaError.wrongAnswer }
            var count = 0
            let bindings = nativeArray(rd_kafka_DescribeAcls_result_acls(result, &count), count)
            return Set(bindings.compactMap(KafkaAccessRule.init))
        }
    }

    func createAccessRules(_ rules: [KafkaAccessRule], timeout: Duration) throws(KafkaError) {
        try repeating(within: timeout) { timeout throws(KafkaError) in
            try createAccessRulesOnce(rules, timeout: timeout)
        }
    }

    private func createAccessRulesOnce(_ rules: [KafkaAccessRule], timeout: Duration) throws(KafkaError) {
        guard !rules.isEmpty else { return }
        var requests: [OpaquePointer?] = []
        defer { for request in requests { rd_kafka_AclBinding_destroy(request) } }
        for rule in rules { requests.append(try rule.makeNative()) }
        try call(RD_KAFKA_ADMIN_OP_CREATEACLS, within: timeout, "access rules were not created") {
            rd_kafka_CreateAcls($0, &requests, requests.count, $1, $2)
        } read: { event throws(KafkaError) in
            guard let result = rd_kafka_event_CreateAcls_result(event) else { throw KafkaError.wrongAnswer }
            var count = 0
            for answer in nativeArray(rd_kafka_CreateAcls_result_acls(result, &count), count) {
                if let error = KafkaError(rd_kafka_acl_result_error(answer)) { throw error }
            }
        }
    }
}

extension KafkaAccessRule {
    /// The name that brokers give the one cluster that they are of.
    private static let clusterName = "kafka-cluster"

    /// The rule in librdkafka's form; nil for one of another kind than we make (a denial, a host, another resource).
    fileprivate init?(_ binding: OpaquePointer) {
        guard rd_kafka_AclBinding_permission_type(binding) == RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW,
            let host = rd_kafka_AclBinding_host(binding), String(cString: host) == "*",
            let principal = rd_kafka_AclBinding_principal(binding), let name = rd_kafka_AclBinding_name(binding),
            let operation = Operation(rd_kafka_AclBinding_operation(binding))
        else { return nil }
        let text = String(cString: name)
        let isPrefix = rd_kafka_AclBinding_resource_pattern_type(binding) == RD_KAFKA_RESOURCE_PATTERN_PREFIXED
        let resource: Resource
        switch rd_kafka_AclBinding_restype(binding) {
        case RD_KAFKA_RESOURCE_TOPIC: resource = isPrefix ? .topics(prefix: text) : .topic(text)
        case RD_KAFKA_RESOURCE_GROUP: resource = isPrefix ? .groups(prefix: text) : .group(text)
        case RD_KAFKA_RESOURCE_BROKER: resource = .cluster
        default: return nil
        }
        self.init(principal: String(cString: principal), resource: resource, operation: operation)
    }

    /// librdkafka's form, which the caller destroys; throws `.invalidMessage` for what it does not take.
    fileprivate func makeNative() throws(KafkaError) -> OpaquePointer {
        let literal = RD_KAFKA_RESOURCE_PATTERN_LITERAL
        let prefixed = RD_KAFKA_RESOURCE_PATTERN_PREFIXED
        let (kind, name, pattern) =
            switch resource {
            case .topic(let name): (RD_KAFKA_RESOURCE_TOPIC, name, literal)
            case .topics(let prefix): (RD_KAFKA_RESOURCE_TOPIC, prefix, prefixed)
            case .group(let name): (RD_KAFKA_RESOURCE_GROUP, name, literal)
            case .groups(let prefix): (RD_KAFKA_RESOURCE_GROUP, prefix, prefixed)
            // librdkafka's "broker" is, for access rules, Kafka's "cluster": they have the same number.
            case .cluster: (RD_KAFKA_RESOURCE_BROKER, Self.clusterName, literal)
            }
        guard !principal.isEmpty, !name.isEmpty,
            let native = rd_kafka_AclBinding_new(
                kind, name, pattern, principal, "*", operation.native, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, nil, 0)
        else {
            throw KafkaError(.invalidMessage, "an access rule's principal or resource cannot be")
        }
        return native
    }
}

extension KafkaAccessRule.Operation {
    fileprivate var native: rd_kafka_AclOperation_t {
        switch self {
        case .read: RD_KAFKA_ACL_OPERATION_READ
        case .write: RD_KAFKA_ACL_OPERATION_WRITE
        case .describe: RD_KAFKA_ACL_OPERATION_DESCRIBE
        case .describeConfigs: RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS
        case .idempotentWrite: RD_KAFKA_ACL_OPERATION_IDEMPOTENT_WRITE
        case .create: RD_KAFKA_ACL_OPERATION_CREATE
        case .alter: RD_KAFKA_ACL_OPERATION_ALTER
        }
    }

    fileprivate init?(_ native: rd_kafka_AclOperation_t) {
        guard let operation = Self.allCases.first(where: { $0.native == native }) else { return nil }
        self = operation
    }
}
