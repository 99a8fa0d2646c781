internal import Octets

extension XML {
    /// The names of the open elements, outermost first.
    internal struct ElementPath {
        private var names = ByteStore()
        private var starts: [Int] = []

        internal var count: Int { starts.count }

        internal mutating func push(_ name: Span<UInt8>) {
            starts.append(names.count)
            names.append(contentsOf: name)
        }

        internal mutating func pop() {
            names.truncate(to: starts.removeLast())
        }

        internal mutating func removeAll() {
            names.removeAll(keepingUpTo: 64 * 1024)
            starts.removeAll(keepingCapacity: true)
        }

        /// The innermost name.
        internal var last: Span<UInt8> {
            @_lifetime(borrow self)
            get { names.slice((starts.last ?? 0)..<names.count) }
        }

        /// The place for messages: `/order/item`, `/order/@id`. The names only, no numbers of siblings.
        internal func text(_ attribute: String? = nil) -> String? {
            guard !starts.isEmpty else { return attribute }
            var text = ""
            for (index, start) in starts.enumerated() {
                let end = index + 1 < starts.count ? starts[index + 1] : names.count
                text += "/" + names.slice(start..<end).lossyString()
            }
            return attribute.map { text + "/" + $0 } ?? text
        }
    }
}
