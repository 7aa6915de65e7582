import Foundation
import Testing

@testable import Kafka

struct ConfigurationTests {
    private func failure(_ properties: [String: String]) -> KafkaError? {
        #expect(throws: KafkaError.self) {
            _ = try KafkaProducer(
                configuration: TestBroker.configuration("127.0.0.1:1", properties: properties), logger: quietLogger)
        }
    }

    @Test func unknownPropertyIsNamed() {
        let error = failure(["no.such.property": "1"])
        #expect(error?.code == .configuration)
        #expect(error?.description.contains("no.such.property") == true)
    }

    @Test func valueThatIsNotValidIsNotRepeated() {
        let error = failure(["security.protocol": "hunter2"])
        #expect(error?.code == .configuration)
        #expect(error?.description.contains("security.protocol") == true)
        #expect(error?.description.contains("hunter2") == false)
    }

    @Test func propertiesThatDoNotFitTogetherAreAnError() {
        let error = failure([
            "security.protocol": "ssl", "ssl.key.location": "/does/not/exist", "ssl.key.password": "hunter2",
        ])
        #expect(error?.code == .configuration)
        #expect(error?.description.contains("hunter2") == false)
    }

    @Test func reservedPropertiesAreRefused() {
        for name in ["acks", "enable.idempotence", "enable.auto.commit", "partition.assignment.strategy"] {
            #expect(failure([name: "all"])?.code == .configuration)
        }
    }

    @Test func consumerChecksItsLimitsAndProperties() {
        let configuration = TestBroker.configuration("127.0.0.1:1")
        var tooSmall = KafkaConsumerSettings(groupId: "g", topics: ["t"])
        tooSmall.bufferRecordsMaximum = 1
        for settings in [
            tooSmall, KafkaConsumerSettings(groupId: "", topics: ["t"]),
            KafkaConsumerSettings(groupId: "g", topics: []),
        ] {
            let error = #expect(throws: KafkaError.self) {
                _ = try KafkaConsumer(configuration: configuration, settings: settings, logger: quietLogger) { _ in }
            }
            #expect(error?.code == .configuration)
        }
        #expect(throws: KafkaError.self) {
            _ = try KafkaTailReader(configuration: configuration, topic: "", logger: quietLogger) { _ in }
        }
        #expect(throws: KafkaError.self) {
            let bad = TestBroker.configuration("127.0.0.1:1", properties: ["x": "y"])
            _ = try KafkaAdmin(configuration: bad, logger: quietLogger)
        }
    }

    @Test func passwordsAreNotShown() {
        let configuration = TestBroker.configuration(
            "broker:9092", properties: ["sasl.username": "user1", "sasl.password": "hunter2"])
        var dumped = ""
        dump(configuration, to: &dumped)
        for text in ["\(configuration)", String(reflecting: configuration), dumped] {
            #expect(text.contains("sasl.password"))
            #expect(text.contains("broker:9092"))
            #expect(!text.contains("hunter2"))
            #expect(!text.contains("user1"))
        }
        #expect(configuration.redacting("login of hunter2 failed") == "login of <redacted> failed")
    }

    @Test func oldLibraryIsRefusedWithItsVersion() throws {
        let error = #expect(throws: KafkaError.self) { try requireSupportedLibrdkafka(version: 0x0200_02ff) }
        #expect(error?.code == .unsupportedLibrary)
        #expect(error?.description.contains("2.3.0") == true)
        try requireSupportedLibrdkafka()
        #expect(librdkafkaVersion.hasPrefix("2."))
    }
}
