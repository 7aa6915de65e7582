import Foundation
import Kafka
import KafkaTesting
import ServiceLifecycle
import Testing

/// Closing, in every state; no broker is needed, since nothing may wait for one.
struct CloseTests {
    private let down = TestBroker.configuration("127.0.0.1:1")

    @Test func producerAbandonsWhatNobodyAcknowledgedAndRefusesMore() async throws {
        var settings = KafkaProducerSettings()
        settings.flushTimeout = .milliseconds(100)
        let producer = try KafkaProducer(configuration: down, settings: settings, logger: quietLogger)
        let sending = Task { await producer.send((0..<100).map { .text("\($0)", topic: "t") }) }
        #expect(await eventually { producer.statistics.outstanding == 100 })
        let began = ContinuousClock.now
        await producer.close()
        #expect(began.duration(to: .now) < .seconds(5))
        for result in await sending.value {
            let error = #expect(throws: KafkaError.self) { try result.get() }
            #expect(error?.code == .abandoned)
        }
        let error = await #expect(throws: KafkaError.self) { try await producer.send(.text("late", topic: "t")) }
        #expect(error?.code == .closed)
        await producer.close()
        #expect(producer.statistics.outstanding == 0)
        #expect(producer.statistics.failed == 100)
    }

    @Test func producerAbandonsWhatItHeldBackToo() async throws {
        var settings = KafkaProducerSettings()
        settings.flushTimeout = .milliseconds(100)
        // Longer than the test lasts: the second send is never handed to librdkafka before the end.
        settings.gatherTime = .seconds(600)
        let producer = try KafkaProducer(configuration: down, settings: settings, logger: quietLogger)
        let first = Task { await producer.send([.text("first", topic: "t")]) }
        #expect(await eventually { producer.statistics.outstanding == 1 })
        let second = Task { await producer.send((0..<10).map { .text("\($0)", topic: "t") }) }
        #expect(await eventually { producer.statistics.outstanding == 11 })
        await producer.close()
        let results = await first.value + second.value
        #expect(results.count == 11)
        for result in results {
            let error = #expect(throws: KafkaError.self) { try result.get() }
            #expect(error?.code == .abandoned)
        }
        #expect(producer.statistics.outstanding == 0)
        #expect(producer.statistics.failed == 11)
    }

    @Test func producerThatClosesAtOnceFailsItsSends() async throws {
        func send() async throws -> [Result<KafkaDelivery, KafkaError>] {
            var settings = KafkaProducerSettings()
            settings.flushTimeout = .zero
            let producer = try KafkaProducer(configuration: down, settings: settings, logger: quietLogger)
            let sending = Task { await producer.send([.text("x", topic: "t")]) }
            #expect(await eventually { producer.statistics.outstanding == 1 })
            await producer.close()
            return await sending.value
        }
        // Without close: deinit must not block, and the thread ends by itself.
        _ = try KafkaProducer(configuration: down, logger: quietLogger)
        let results = try await send()
        #expect(results.count == 1)
        #expect(throws: KafkaError.self) { try results[0].get() }
    }

    @Test func messagesTimeOutWhenNoBrokerIsThere() async throws {
        var settings = KafkaProducerSettings()
        settings.messageTimeout = .milliseconds(300)
        let producer = try KafkaProducer(configuration: down, settings: settings, logger: quietLogger)
        let error = await #expect(throws: KafkaError.self) { try await producer.send(.text("x", topic: "t")) }
        #expect(error?.code == .timedOut)
        #expect(error?.isRetriable == true)
        // A broker that is down is no reason to replace the client.
        #expect(producer.replacements == 0)
        await producer.close()
    }

    @Test func consumerClosesBeforeDuringAndAfterItsRun() async throws {
        let settings = KafkaConsumerSettings(groupId: "g", topics: ["t"])
        let unused = try KafkaConsumer(configuration: down, settings: settings, logger: quietLogger) { _ in }
        await unused.close()
        await unused.close()
        let error = await #expect(throws: KafkaError.self) { try await unused.run() }
        #expect(error?.code == .closed)

        let used = try KafkaConsumer(configuration: down, settings: settings, logger: quietLogger) { _ in }
        let refusals = try await withThrowingTaskGroup(of: KafkaError?.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    do {
                        try await used.run()
                        return nil
                    } catch let error as KafkaError {
                        return error
                    }
                }
            }
            // One of the two runs, the other is refused at once.
            let refusal = try await group.next() ?? nil
            let began = ContinuousClock.now
            #expect(!used.isAssigned)
            await used.close()
            #expect(began.duration(to: .now) < .seconds(10))
            return [refusal, try await group.next() ?? nil]
        }
        #expect(refusals.map { $0?.code } == [.closed, nil])
        await used.close()
        // Without close: deinit must not block.
        _ = try KafkaConsumer(configuration: down, settings: settings, logger: quietLogger) { _ in }
        _ = try KafkaTailReader(configuration: down, topic: "t", logger: quietLogger) { _ in }
        _ = try KafkaAdmin(configuration: down, logger: quietLogger)
    }

    @Test func cancellationEndsEveryService() async throws {
        let consumer = try KafkaConsumer(
            configuration: down, settings: KafkaConsumerSettings(groupId: "g", topics: ["t"]), logger: quietLogger
        ) { _ in }
        let reader = try KafkaTailReader(configuration: down, topic: "t", logger: quietLogger) { _ in }
        let producer = try KafkaProducer(configuration: down, logger: quietLogger)
        let services: [any Service] = [consumer, reader, producer]
        let runs = services.map { service in Task { try await service.run() } }
        for run in runs { run.cancel() }
        for run in runs { _ = await run.result }
        let error = await #expect(throws: KafkaError.self) { try await producer.send(.text("late", topic: "t")) }
        #expect(error?.code == .closed)
    }

    @Test func gracefulShutdownOfAServiceGroupEndsInOrder() async throws {
        let producer = try KafkaProducer(configuration: down, logger: quietLogger)
        let consumer = try KafkaConsumer(
            configuration: down, settings: KafkaConsumerSettings(groupId: "g", topics: ["t"]), logger: quietLogger
        ) { _ in }
        let group = ServiceGroup(services: [producer, consumer], logger: quietLogger)
        let running = Task { try await group.run() }
        await group.triggerGracefulShutdown()
        try await running.value
        await #expect(throws: KafkaError.self) { try await producer.send(.text("late", topic: "t")) }
    }
}
