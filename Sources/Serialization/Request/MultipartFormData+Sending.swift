public import HTTPTypes
internal import Transcoding

/// Where a form goes: into a stream, memory or a file.
extension MultipartFormData {
    /// A stream over the whole body from its start. Each call makes another; a retry takes a new one.
    ///
    /// Throws `streamConsumed` where a part's source can be read only once and was, and `boundaryInBody` where a part in
    /// memory holds a boundary that the caller chose.
    public func makeStream() throws(SerializationError) -> MultipartBodyStream {
        for case .source(let source) in parts.lazy.map(\.body) where source.isConsumed { throw BodySource.consumed }
        try checkBoundary()
        return MultipartBodyStream(self)
    }

    /// The whole body in memory. Throws as `makeStream()` and `MultipartBodyStream.read(upTo:)`.
    public func encode() throws(SerializationError) -> [UInt8] {
        let stream = try makeStream()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(contentLength)
        while true {
            let next = try stream.read(upTo: MultipartBodyStream.defaultPacketSize)
            if next.isEmpty { return bytes }
            bytes += next
        }
    }

    /// Writes the whole body into a file, which then has `contentLength` bytes. A file that stands at `path` is replaced.
    ///
    /// The file comes to its place when it is whole. Where anything fails, nothing is left behind and what stood there
    /// stays. Throws `fileUnwritable`, and as `encode()`.
    public func write(toFile path: String) throws(SerializationError) {
        let stream = try makeStream()
        let writer = try FileWriter(path)
        while true {
            let next = try stream.read(upTo: MultipartBodyStream.defaultPacketSize)
            if next.isEmpty { break }
            try writer.write(next)
        }
        try writer.finish()
    }
}

extension SerializedRequest {
    /// Writes the multipart body into a file and returns the head, whose Content-Type and Content-Length stay: for programs
    /// that upload files. A body in memory is written too; without a body the file is empty.
    ///
    /// Throws as `MultipartFormData.write(toFile:)`.
    public func writeBody(toFile path: String) throws(SerializationError) -> HTTPRequest {
        if case .multipart(let form) = body {
            try form.write(toFile: path)
        } else {
            let writer = try FileWriter(path)
            try writer.write(bodyBytes ?? [])
            try writer.finish()
        }
        return head
    }
}
