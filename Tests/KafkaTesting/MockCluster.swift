package import CLibrdkafka
package import Kafka

/// A cluster of one broker inside this process.
package final class MockCluster {
    /// librdkafka could not make it.
    package struct Failure: Error {}

    /// Kafka's number for the request by which a member asks for its partitions.
    package static let syncGroup: Int16 = 14

    private static let broker: Int32 = 1
    /// More than a test lives to see.
    private static let refusalsMaximum = 100_000

    private let client: OpaquePointer
    private let cluster: OpaquePointer
    /// What a client needs to reach it.
    package let configuration: KafkaConfiguration

    package init() throws {
        guard let client = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), nil, 0),
            let cluster = rd_kafka_mock_cluster_new(client, 1)
        else { throw Failure() }
        self.client = client
        self.cluster = cluster
        configuration = KafkaConfiguration(
            bootstrapServers: String(cString: rd_kafka_mock_cluster_bootstraps(cluster)), clientId: "kafka-tests")
        rd_kafka_mock_group_initial_rebalance_delay_ms(cluster, 0)
        rd_kafka_mock_start_request_tracking(cluster)
    }

    deinit {
        rd_kafka_mock_cluster_destroy(cluster)
        rd_kafka_destroy(client)
    }

    package func makeTopic(_ name: String, partitions: Int32) {
        rd_kafka_mock_topic_create(cluster, name, partitions, 1)
    }

    /// Ends the broker's connections and refuses new ones.
    package func stopBroker() {
        rd_kafka_mock_broker_set_down(cluster, Self.broker)
    }

    /// Takes connections again, with all that was there.
    package func startBroker() {
        rd_kafka_mock_broker_set_up(cluster, Self.broker)
    }

    /// Has every answer of the broker come so much later.
    package func answer(after milliseconds: Int32) {
        rd_kafka_mock_broker_set_rtt(cluster, Self.broker, milliseconds)
    }

    /// What the metadata say about a topic; "no error" makes it as it was.
    package func say(_ error: rd_kafka_resp_err_t, about topic: String) {
        rd_kafka_mock_topic_set_error(cluster, topic, error)
    }

    /// Answers the next requests of a kind (Kafka's number for it) with these errors.
    package func fail(_ request: Int16, with errors: [rd_kafka_resp_err_t]) {
        rd_kafka_mock_push_request_errors_array(cluster, request, errors.count, errors)
    }

    /// Forgets the errors of a kind that were not given yet.
    package func stopFailing(_ request: Int16) {
        rd_kafka_mock_clear_request_errors(cluster, request)
    }

    /// Answers every member that asks for its partitions with "rebalance in progress", until `endRebalance`.
    package func rebalanceForEver() {
        let refusals = Array(repeating: RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, count: Self.refusalsMaximum)
        fail(Self.syncGroup, with: refusals)
    }

    package func endRebalance() {
        stopFailing(Self.syncGroup)
    }

    /// How many requests of a kind came.
    package func requests(_ request: Int16) -> Int {
        var count = 0
        guard let requests = rd_kafka_mock_get_requests(cluster, &count) else { return 0 }
        defer { rd_kafka_mock_request_destroy_array(requests, count) }
        return (0..<count).filter { rd_kafka_mock_request_api_key(requests[$0]) == request }.count
    }
}
