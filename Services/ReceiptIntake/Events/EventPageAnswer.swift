import Hummingbird
import HummingbirdCore
import Logging
import Messages
import Persistence

/// What `GET /v1/events` answers: `EventPage` in the OpenAPI document.
///
/// Each event is the bytes that its webhook has.
enum EventPageAnswer {
    /// The page as JSON.
    static func response(_ page: EventFeedStore.Page) -> Response {
        var bytes = Array(#"{"data":["#.utf8)
        for (index, event) in page.events.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += Array(event.body.utf8)
        }
        bytes += Array(#"],"has_more":\#(page.isMore),"next":"\#(EventCursor.text(page.next))"}"#.utf8)
        return ReadingAnswer.response(bytes, contentType: "application/json")
    }
}
