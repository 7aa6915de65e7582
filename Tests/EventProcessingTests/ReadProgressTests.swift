import Kafka
import Testing

@testable import EventProcessing

/// How a lag in records becomes one in time.
@Suite("Read progress")
struct ReadProgressTests {
    private static let start = ContinuousClock.now

    /// Looks at places `(committed, end)` of partitions, at seconds.
    private func lag(
        _ looks: [(second: Int, places: [(committed: Int64?, end: Int64)])], at second: Int
    ) -> Duration? {
        var progress = ReadProgress()
        for look in looks {
            let places = look.places.enumerated().map { number, place in
                (
                    KafkaPartition(topic: "t", partition: Int32(number)),
                    GroupView.Place(committed: place.committed, earliest: 0, end: place.end)
                )
            }
            progress.see(Dictionary(uniqueKeysWithValues: places), at: Self.start + .seconds(look.second))
        }
        return progress.lag(at: Self.start + .seconds(second))
    }

    @Test func `nothing is known before the first look, and what is read has no lag`() {
        #expect(lag([], at: 0) == nil)
        #expect(lag([(0, [(7, 7)])], at: 1) == .zero)
        #expect(lag([(0, [(nil, 0)])], at: 1) == .zero, "an empty topic")
        #expect(lag([(0, [(5, 7)]), (2, [(7, 7)])], at: 3) == .zero)
    }

    @Test func `the lag is the age of the newest look whose end was read to`() {
        let looks: [(Int, [(Int64?, Int64)])] = [(0, [(10, 10)]), (2, [(10, 20)]), (4, [(10, 30)])]
        #expect(lag(looks, at: 4) == .seconds(4))
        #expect(lag(looks + [(6, [(19, 40)])], at: 6) == .seconds(6), "not quite there")
        #expect(lag(looks + [(6, [(20, 40)])], at: 6) == .seconds(4))
        #expect(lag(looks + [(6, [(35, 40)])], at: 6) == .seconds(2))
        #expect(lag(looks + [(6, [(40, 40)])], at: 6) == .zero)
    }

    @Test func `what is unread at the first look is taken for old until it is read`() {
        let looks: [(Int, [(Int64?, Int64)])] = [(0, [(3, 10)]), (2, [(4, 20)])]
        #expect(lag(looks, at: 2) == ReadProgress.ageAtFirstLook + .seconds(2))
        #expect(lag(looks + [(4, [(10, 30)])], at: 4) == .seconds(4))
    }

    @Test func `half of the partitions are a congestion, and a single one is none`() {
        let looks: [(Int, [(Int64?, Int64)])] = [
            (0, [(1, 1), (1, 1), (1, 1), (1, 1)]), (9, [(1, 5), (1, 5), (5, 5), (5, 5)]),
        ]
        #expect(lag(looks, at: 9) == .seconds(9))
        #expect(lag([(0, [(1, 1), (1, 1), (1, 1)]), (9, [(1, 5), (5, 5), (5, 5)])], at: 9) == .zero)
    }

    @Test func `a log that lost its records is waited for no longer`() {
        let looks: [(Int, [(Int64?, Int64)])] = [(0, [(10, 10)]), (2, [(10, 90)]), (4, [(10, 0)])]
        #expect(lag(looks, at: 4) == .zero)
        #expect(lag(looks + [(6, [(0, 5)]), (8, [(5, 5)])], at: 8) == .zero)
    }

    @Test func `looks are forgotten by halves, and the lag stays about as it is`() {
        var looks: [(Int, [(Int64?, Int64)])] = [(0, [(0, 0)])]
        for second in 1...2_000 { looks.append((second, [(0, Int64(second))])) }
        #expect(lag(looks, at: 2_000) == .seconds(2_000))
        let late = lag(looks + [(2_001, [(1_000, 2_001)])], at: 2_001)
        #expect(late.map { (Duration.seconds(1_001)...Duration.seconds(1_010)).contains($0) } == true)
    }
}
