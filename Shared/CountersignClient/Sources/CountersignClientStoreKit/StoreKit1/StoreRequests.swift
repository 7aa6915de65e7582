import Foundation
import StoreKit

/// Asks the App Store what it sells; used once.
@available(iOS, introduced: 13.0, deprecated: 18.0)
@available(macOS, introduced: 10.15, deprecated: 15.0)
@available(tvOS, introduced: 13.0, deprecated: 18.0)
@available(watchOS, introduced: 6.2, deprecated: 11.0)
@available(visionOS, introduced: 1.0, deprecated: 2.0)
// Safety: all state is behind the lock.
final class ProductsRequest: NSObject, SKProductsRequestDelegate, @unchecked Sendable {
    private struct Waiting {
        let request: SKProductsRequest
        /// A request does not keep its delegate.
        let delegate: ProductsRequest
        let continuation: CheckedContinuation<Passed<[SKProduct]>, any Error>
    }

    private let waiting = Locked<Waiting?>(nil)

    /// - Throws: what the request fails with.
    @MainActor
    func products(_ ids: Set<String>) async throws -> Passed<[SKProduct]> {
        try await withCheckedThrowingContinuation { continuation in
            let request = SKProductsRequest(productIdentifiers: ids)
            waiting.withLock { $0 = Waiting(request: request, delegate: self, continuation: continuation) }
            request.delegate = self
            request.start()
        }
    }

    func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
        end(.success(Passed(value: response.products)))
    }

    func requestDidFinish(_ request: SKRequest) {
        // It comes after the response; where it comes alone there was none.
        end(.success(Passed(value: [])))
    }

    func request(_ request: SKRequest, didFailWithError error: any Error) {
        end(.failure(error))
    }

    private func end(_ result: Result<Passed<[SKProduct]>, any Error>) {
        let ended = waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
        ended?.continuation.resume(with: result)
    }
}

/// Asks Apple for a new receipt at most once for each time that somebody asks: who needs it meanwhile waits for the same.
@available(iOS, introduced: 13.0, deprecated: 18.0)
@available(macOS, introduced: 10.15, deprecated: 15.0)
@available(tvOS, introduced: 13.0, deprecated: 18.0)
@available(watchOS, introduced: 6.2, deprecated: 11.0)
@available(visionOS, introduced: 1.0, deprecated: 2.0)
actor ReceiptRefreshes {
    private var task: Task<Void, any Error>?

    /// Lets the next ``run()`` ask Apple.
    func allow() { task = nil }

    /// - Throws: what the request failed with.
    func run() async throws {
        let task = self.task ?? Task { try await ReceiptRefresh().run() }
        self.task = task
        try await task.value
    }
}

/// Asks Apple for a new receipt; used once.
@available(iOS, introduced: 13.0, deprecated: 18.0)
@available(macOS, introduced: 10.15, deprecated: 15.0)
@available(tvOS, introduced: 13.0, deprecated: 18.0)
@available(watchOS, introduced: 6.2, deprecated: 11.0)
@available(visionOS, introduced: 1.0, deprecated: 2.0)
// Safety: all state is behind the lock.
final class ReceiptRefresh: NSObject, SKRequestDelegate, @unchecked Sendable {
    private struct Waiting {
        let request: SKReceiptRefreshRequest
        let delegate: ReceiptRefresh
        let continuation: CheckedContinuation<Void, any Error>
    }

    private let waiting = Locked<Waiting?>(nil)

    /// - Throws: what the request fails with.
    @MainActor
    func run() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let request = SKReceiptRefreshRequest(receiptProperties: nil)
            waiting.withLock { $0 = Waiting(request: request, delegate: self, continuation: continuation) }
            request.delegate = self
            request.start()
        }
    }

    func requestDidFinish(_ request: SKRequest) { end(.success(())) }

    func request(_ request: SKRequest, didFailWithError error: any Error) { end(.failure(error)) }

    private func end(_ result: Result<Void, any Error>) {
        let ended = waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
        ended?.continuation.resume(with: result)
    }
}
