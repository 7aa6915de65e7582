import Foundation

/// A serial executor whose jobs run on a thread of its own, so that an actor on it may call C that blocks.
///
/// Swift's cooperative pool is as wide as the machine has cores; a call that blocks there stops everybody else. An
/// actor that names this executor as its `unownedExecutor` blocks only itself.
///
/// A task may prefer it, too (`withTaskExecutorPreference`, SE-0417): what it does between its calls of the actor then runs on the same
/// thread, and no call has to wake another one.
public final class ThreadExecutor: SerialExecutor, TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isStopped = false
        var hasThread = false
    }

    private let name: String
    /// A condition and not a `Mutex`, because the thread must sleep while there is nothing to do.
    private let condition = NSCondition()
    // Safety: only touched between `condition.lock()` and `condition.unlock()`.
    private nonisolated(unsafe) var state = State()

    /// Makes the executor; its thread starts with the first job.
    ///
    /// - Parameter name: shown by `ps -L` and debuggers; the system keeps the first 15 bytes.
    public init(name: String) {
        self.name = name
    }

    /// Takes a job of the actor, or of a task that prefers this thread; called by Swift's runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        condition.lock()
        state.jobs.append(unowned)
        let needsThread = !state.hasThread
        state.hasThread = true
        condition.signal()
        condition.unlock()
        if needsThread {
            _ = BlockingThread.start(name: name) { self.runJobs() }
        }
    }

    /// Ends the thread once it has run the jobs that wait; calling it again does nothing.
    ///
    /// An actor may still be called afterwards: its late jobs get a thread for as long as they last, so that no caller
    /// waits for ever.
    public func stop() {
        condition.lock()
        state.isStopped = true
        condition.signal()
        condition.unlock()
    }

    private func runJobs() {
        while let batch = nextJobs() {
            for job in batch {
                // Of an executor that is both, jobs do not say for which they came: SE-0417 asks for this form.
                job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            }
        }
    }

    /// The jobs that wait, all at once; nil when the executor was stopped and nothing waits.
    private func nextJobs() -> [UnownedJob]? {
        condition.lock()
        defer { condition.unlock() }
        while state.jobs.isEmpty {
            if state.isStopped {
                state.hasThread = false
                return nil
            }
            condition.wait()
        }
        let batch = state.jobs
        state.jobs.removeAll(keepingCapacity: true)
        return batch
    }
}
