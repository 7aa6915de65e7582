import Messages

/// Cuts a batch into pieces of work, so that large receipts are spread over the cores.
enum ProofBatches {
    enum Limit {
        /// Submissions of a piece.
        static let count = 16
        /// Bytes of proofs in a piece: some milliseconds of work.
        static let bytes = 128 << 10
    }

    /// Ranges of the batch in its order; one that is too large alone is a piece by itself.
    static func pieces(_ submissions: [SubmissionMessage]) -> [Range<Int>] {
        var pieces: [Range<Int>] = []
        var start = 0
        var bytes = 0
        for (index, submission) in submissions.enumerated() {
            let size = submission.proof.utf8.count
            if index > start, index - start >= Limit.count || bytes + size > Limit.bytes {
                pieces.append(start..<index)
                start = index
                bytes = 0
            }
            bytes += size
        }
        if start < submissions.count { pieces.append(start..<submissions.count) }
        return pieces
    }
}
