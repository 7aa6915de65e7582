import HTTPTypes

/// What the Retention Messaging API refuses (apple-facts C4; Apple, Retention Messaging API, Error codes).
extension APIError {
    static let invalidImage = APIError(
        .badRequest, 4_000_161, "Invalid image. It must be a PNG without transparency, of the documented size.")
    static let headerTooLong = APIError(.badRequest, 4_000_162, "The header is too long.")
    static let bodyTooLong = APIError(.badRequest, 4_000_163, "The body is too long.")
    static let invalidLocale = APIError(.badRequest, 4_000_164, "Invalid locale.")
    static let altTextTooLong = APIError(.badRequest, 4_000_175, "The alternative text is too long.")
    static let invalidPerformanceTestRequest = APIError(.badRequest, 4_000_211, "Invalid performance test request.")
    static let invalidPerformanceTestId = APIError(.badRequest, 4_000_212, "Invalid request id.")
    static let performanceTestIsRunning = APIError(.badRequest, 4_000_213, "A performance test is running already.")
    static let badRealtimeURL = APIError(.badRequest, 4_000_215, "Invalid real-time URL.")
    static let badImageSize = APIError(.badRequest, 4_000_216, "Invalid image size.")
    static let tooManyBulletPoints = APIError(.badRequest, 4_000_218, "There are too many bullet points.")
    static let bulletPointTextTooLong = APIError(.badRequest, 4_000_219, "The text of a bullet point is too long.")
    static let aboveImageRequiresAnImage = APIError(
        .badRequest, 4_000_224, "A header above the image requires an image.")
    static let maximumNumberOfImagesReached = APIError(
        .forbidden, 4_030_014, "The maximum number of images is reached.")
    static let maximumNumberOfMessagesReached = APIError(
        .forbidden, 4_030_016, "The maximum number of messages is reached.")
    static let messageNotApproved = APIError(.forbidden, 4_030_017, "The message is not approved.")
    static let imageNotApproved = APIError(.forbidden, 4_030_018, "The image is not approved.")
    static let imageInUse = APIError(.forbidden, 4_030_019, "The image is in use.")
    static let noPassingPerformanceTest = APIError(
        .forbidden, 4_030_026, "A production URL requires a performance test that was passed.")
    static let imageNotFound = APIError(.notFound, 4_040_014, "Image not found.")
    static let messageNotFound = APIError(.notFound, 4_040_015, "Message not found.")
    static let performanceTestNotFound = APIError(.notFound, 4_040_018, "Performance test run not found.")
    static let defaultMessageNotFound = APIError(.notFound, 4_040_020, "Default message not found.")
    static let realtimeURLNotFound = APIError(.notFound, 4_040_021, "Real-time URL not found.")
    static let imageAlreadyExists = APIError(.conflict, 4_090_000, "The image already exists.")
    static let messageAlreadyExists = APIError(.conflict, 4_090_001, "The message already exists.")
}
