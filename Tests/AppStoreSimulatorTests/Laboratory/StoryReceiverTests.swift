import Testing

@testable import AppStoreSimulator

/// Where a story's receiver listens.
@Suite struct StoryReceiverTests {
    @Test(
        "the receiver is at the loopback address of the simulator's family",
        arguments: [
            ("http://[::1]:8099", "::1"), ("https://[fd00::5]", "::1"), ("http://127.0.0.1:8099", "127.0.0.1"),
            ("http://simulator:8099", "127.0.0.1"), ("", "127.0.0.1"),
        ])
    func loopback(_ control: String, _ address: String) {
        #expect(StoryReceiver.loopback(besides: control) == address)
    }
}
