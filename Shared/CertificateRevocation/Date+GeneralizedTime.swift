import Foundation
import SwiftASN1

extension Date {
    /// A time of ASN.1, which is in UTC.
    init(_ time: GeneralizedTime) {
        // Days since 1970-01-01 in the Gregorian calendar; years begin in March, so that the leap day is their last.
        let year = time.month > 2 ? time.year : time.year - 1
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (time.month > 2 ? time.month - 3 : time.month + 9) + 2) / 5 + time.day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        let seconds = days * 86_400 + time.hours * 3_600 + time.minutes * 60 + time.seconds
        self.init(timeIntervalSince1970: Double(seconds) + time.fractionalSeconds)
    }
}
