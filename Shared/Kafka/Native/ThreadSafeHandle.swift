/// A C object that librdkafka documents as safe to use from any thread: a client or a queue.
///
/// Whoever uses one must know that it has not been destroyed; each client guards that with its own lock.
// Safety: only `rd_kafka_t` and `rd_kafka_queue_t` are wrapped, which librdkafka allows from every thread.
struct ThreadSafeHandle: @unchecked Sendable {
    let pointer: OpaquePointer
}
