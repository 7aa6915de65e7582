import Pacing
import Testing

@Suite("Priorities")
struct PriorityTests {
    @Test("a waiting player goes before deadlines, and those before sweeps")
    func order() {
        #expect(Priority.allCases.shuffled().sorted() == [.player, .deadline, .sweep])
    }
}
