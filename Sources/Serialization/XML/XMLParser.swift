internal import CXMLShims

extension XML {
    /// libxml2's push parser for one document, as a tokenizer. It is freed with this value, wherever it stands.
    @safe internal struct Parser: ~Copyable {
        internal enum Kind: UInt32 {
            case start = 1, attribute, value, end, text
        }

        /// The head of a record; its bytes are `start..<end` of `records`.
        internal struct Record {
            var kind: Kind
            /// From the first byte of the slice that gave the record.
            var offset: Int
            var start: Int
            var end: Int
        }

        private let handle: OpaquePointer

        /// Nil when there is no memory.
        internal init?() {
            // SAFETY: the shim gives a parser that nobody else holds, or NULL.
            guard let handle = unsafe recast_xml_create() else { return nil }
            unsafe self.handle = handle
        }

        deinit {
            // SAFETY: the handle is this value's own and is not used after it.
            unsafe recast_xml_destroy(handle)
        }

        /// Parses the next bytes of the document and returns what is wrong with them. The records of the call before
        /// are gone.
        internal mutating func parse(_ bytes: Span<UInt8>, isLast: Bool) -> Fault? {
            // SAFETY: libxml2 copies the bytes during the call.
            let reason = unsafe bytes.withUnsafeBufferPointer { buffer in
                unsafe recast_xml_parse(handle, buffer.baseAddress, buffer.count, isLast)
            }
            return reason == 0 ? nil : Fault(parserReason: reason)
        }

        /// Where the fault was found, in bytes from the document's first one.
        internal var faultOffset: Int {
            // SAFETY: the handle is alive as long as self is.
            unsafe Int(recast_xml_fault_offset(handle))
        }

        /// The records of the last call.
        internal var records: Span<UInt8> {
            @_lifetime(borrow self)
            get {
                var count = 0
                // SAFETY: the records stay as they are until the next call of `parse`, which needs self for itself.
                let start = unsafe recast_xml_records(handle, &count)
                let buffer = unsafe UnsafeBufferPointer(start: start, count: start == nil ? 0 : count)
                return unsafe _overrideLifetime(Span(_unsafeElements: buffer), borrowing: self)
            }
        }

        /// The head of the record at `at`, where one begins.
        internal static func record(_ records: Span<UInt8>, at: Int) -> Record {
            let size = MemoryLayout<recast_xml_record>.size
            precondition(at + size <= records.count, "a record is cut off")
            // SAFETY: the head's bytes lie within the span, and any bytes make three integers.
            let head = unsafe records.withUnsafeBufferPointer { buffer in
                unsafe UnsafeRawBufferPointer(buffer).loadUnaligned(fromByteOffset: at, as: recast_xml_record.self)
            }
            guard let kind = Kind(rawValue: head.kind), Int(head.length) <= records.count - at - size else {
                preconditionFailure("a record of no kind")
            }
            return Record(kind: kind, offset: Int(head.offset), start: at + size, end: at + size + Int(head.length))
        }
    }
}
