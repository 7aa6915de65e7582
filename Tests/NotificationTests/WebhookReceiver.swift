import ServerTesting

typealias WebhookReceiver = AnsweringServer

extension AnsweringServer.Answer {
    /// A head, and a body that never ends.
    static let hangAfterHead = Self.text("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n", closes: false)
}
