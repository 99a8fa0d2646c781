internal import CTLSShims
internal import Octets

/// What all TLS sessions of a loop share: the buffer that records are read into, and the one that they are written to.
@safe
final class TLSWire {
    /// Bytes of records read in one system call.
    static let inputSize = 128 * 1024
    /// What a record that has begun earlier can add to the bytes that come out of this much input: its content, 16 KiB
    /// (RFC 8446 §5.1), and some.
    static let recordRoom = 20 * 1024
    /// Bytes of a record's content at most.
    static let recordSize = 16 * 1024
    /// Memory for records to send that is kept.
    private static let keptOutput = 512 * 1024

    let pointer: UnsafeMutablePointer<recast_tls_wire>
    let input: UnsafeMutableBufferPointer<UInt8>
    /// Where two pieces are put together that shall become one record.
    var joined = OutputBuffer()
    let memory = TLSRecordMemory()

    init() {
        guard let made = unsafe recast_tls_wire_create() else {
            preconditionFailure("OpenSSL has no memory for its first object")
        }
        // SAFETY: both are given back in deinit, once.
        unsafe pointer = made
        unsafe input = .allocate(capacity: Self.inputSize)
    }

    deinit {
        // SAFETY: each session holds self.
        unsafe recast_tls_wire_free(pointer)
        unsafe input.deallocate()
    }

    /// Lends `count` bytes from the front of `input` to the session that is called next.
    func lend(_ count: Int) {
        // SAFETY: count <= input.count; the buffer lives as long as self.
        unsafe pointer.pointee.input = UnsafePointer(input.baseAddress)
        unsafe pointer.pointee.input_count = count
    }

    /// What is not taken of the input is of no use to anybody: its session has ended.
    func endLoan() {
        // SAFETY: a number of our own.
        unsafe pointer.pointee.input_count = 0
    }

    /// Records that wait to be sent. Valid until the next call of a session.
    var output: UnsafeBufferPointer<UInt8> {
        // SAFETY: the shim keeps both in step.
        unsafe UnsafeBufferPointer(start: pointer.pointee.output, count: pointer.pointee.output_count)
    }

    func clearOutput() {
        // SAFETY: numbers and memory of the shim's own.
        unsafe pointer.pointee.output_count = 0
        if unsafe pointer.pointee.output_capacity > Self.keptOutput {
            unsafe recast_tls_wire_shrink(pointer, Self.keptOutput)
        }
    }
}
