/// Memory for elements that are nothing but their bytes: it grows at its end, and is freed with its owner.
///
/// An array does the same, but looks at every change whether somebody shares it. Places are checked here as they are
/// there: what is read and written comes from the internet.
struct JSONMemory<Element: BitwiseCopyable>: ~Copyable {
    /// `count` elements stand here; it moves when the memory grows.
    private(set) var base: UnsafeMutablePointer<Element>
    private(set) var count = 0
    private var capacity: Int

    init(capacity: Int) {
        base = .allocate(capacity: capacity)
        self.capacity = capacity
    }

    init(repeating element: Element, count: Int) {
        base = .allocate(capacity: count)
        base.update(repeating: element, count: count)
        self.count = count
        capacity = count
    }

    deinit { base.deallocate() }

    subscript(index: Int) -> Element {
        @inline(__always) get {
            precondition(UInt(bitPattern: index) < UInt(bitPattern: count))
            return base[index]
        }
        @inline(__always) set {
            precondition(UInt(bitPattern: index) < UInt(bitPattern: count))
            base[index] = newValue
        }
    }

    @inline(__always)
    mutating func append(_ element: Element) {
        reserve(1)
        base[count] = element
        count += 1
    }

    /// Copies elements that must not be its own.
    @inline(__always)
    mutating func append(_ elements: UnsafeBufferPointer<Element>) {
        guard let source = elements.baseAddress else { return }
        reserve(elements.count)
        (base + count).update(from: source, count: elements.count)
        count += elements.count
    }

    /// Makes room for so many more.
    @inline(__always)
    mutating func reserve(_ additional: Int) {
        if capacity - count < additional { grow(additional) }
    }

    /// Counts elements that somebody wrote behind the last, into room that was made for them.
    @inline(__always)
    mutating func take(_ additional: Int) {
        precondition(additional >= 0 && additional <= capacity - count)
        count += additional
    }

    /// Lets go of what is behind the first elements.
    @inline(__always)
    mutating func cut(to count: Int) {
        precondition(count >= 0 && count <= self.count)
        self.count = count
    }

    /// Some of its elements; the pointer is good until the memory grows.
    @inline(__always)
    func slice(_ range: Range<Int>) -> UnsafeBufferPointer<Element> {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        return UnsafeBufferPointer(start: base + range.lowerBound, count: range.count)
    }

    /// Sorts what stands behind the first elements.
    @inline(__always)
    mutating func sort(from start: Int, by isBefore: (Element, Element) -> Bool) {
        precondition(start >= 0 && start <= count)
        var elements = UnsafeMutableBufferPointer(start: base + start, count: count - start)
        elements.sort(by: isBefore)
    }

    @inline(never)
    private mutating func grow(_ additional: Int) {
        let larger = max(count + additional, capacity * 2)
        let memory = UnsafeMutablePointer<Element>.allocate(capacity: larger)
        memory.update(from: base, count: count)
        base.deallocate()
        base = memory
        capacity = larger
    }
}
