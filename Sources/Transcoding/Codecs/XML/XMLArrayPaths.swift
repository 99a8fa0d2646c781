internal import Octets

extension XML {
    /// Which elements are arrays even where they stand alone: the paths of `alwaysArray`, followed while elements open.
    internal struct ArrayPaths {
        private let paths: [FieldPath]
        /// For each open element, and for what is outside the root, which paths lead through it.
        private var alive: [Bool]
        /// Whether the path's first segment is the root element's name.
        private let countsRoot: Bool
        private var depth = 0

        internal init(_ paths: [FieldPath], countsRoot: Bool) {
            self.paths = paths.filter { !$0.segments.isEmpty }
            self.countsRoot = countsRoot
            alive = Array(repeating: true, count: self.paths.count)
        }

        internal mutating func removeAll() {
            depth = 0
            if alive.count > paths.count { alive.removeSubrange(paths.count...) }
        }

        /// Goes into an element of that name, and says whether it is an array.
        internal mutating func push(_ name: Span<UInt8>) -> Bool {
            guard !paths.isEmpty else { return false }
            let outer = alive.count - paths.count
            let level = countsRoot ? depth : depth - 1
            depth += 1
            var isArray = false
            for (index, path) in paths.enumerated() {
                var leads = alive[outer + index]
                if leads, level >= 0 { leads = level < path.segments.count && Self.matches(path.segments[level], name) }
                alive.append(leads)
                if leads, level >= 0, level + 1 == path.segments.count { isArray = true }
            }
            return isArray
        }

        internal mutating func pop() {
            guard !paths.isEmpty else { return }
            depth -= 1
            alive.removeLast(paths.count)
        }

        private static func matches(_ segment: FieldPath.Segment, _ name: Span<UInt8>) -> Bool {
            switch segment {
            case .any: true
            case .key(let key): key.span.isEqual(to: name)
            // No element's name is a number.
            case .index: false
            }
        }
    }
}
