import HTTPWire
import Octets
import Testing

@testable import ExtProc

/// What a data plane sends, as its bytes come.
@Suite struct MessageReaderTests {
    static let stream: [[UInt8]] = [
        headMessage(2, [(":method", "POST"), (":path", "/a"), ("x-empty", "")]),
        contentMessage(4, Array("hello".utf8)),
        contentMessage(4, [], endsStream: false),
        contentMessage(4, Array("world".utf8), endsStream: true),
        headMessage(3, [(":status", "200")], modes: nil),
        contentMessage(5, Array(repeating: 7, count: 300)),
        bytes(7, bytes(1, fieldMap([("grpc-status", "0")], valueField: 2))),
        bytes(9, [1, 2, 3]),
    ]
    static let expected: [Read] = [
        .head(.request, [":method: POST", ":path: /a", "x-empty: "], endsStream: false),
        .content(.request, Array("hello".utf8), endsStream: false), .content(.request, [], endsStream: false),
        .content(.request, Array("world".utf8), endsStream: true),
        .head(.response, [":status: 200"], endsStream: false),
        .content(.response, Array(repeating: 7, count: 300), endsStream: false),
        .trailers(.response, ["grpc-status: 0"]), .nothing,
    ]

    @Test("messages are the same however their bytes are cut and their content is taken")
    func cuts() throws {
        let all = Self.stream.flatMap { frame($0) }
        let whole = try read([all])
        #expect(whole.read == Self.expected)
        #expect(whole.modes == [.fullDuplex, .fullDuplex])
        for cut in 1..<all.count {
            #expect(try read([Array(all[..<cut]), Array(all[cut...])], most: 1 + cut % 7).read == Self.expected)
        }
        #expect(try read(all.map { [$0] }).read == Self.expected)
    }

    @Test("a reader that was used reads another stream as a new one does, wherever the first was left")
    func reuse() throws {
        let all = Self.stream.flatMap { frame($0) }
        var reader = MessageReader()
        for cut in 0..<all.count {
            _ = try read([Array(all[..<cut])], with: &reader)
            reader.reset(keeping: cut % 2 == 0 ? 1 << 20 : 0)
            #expect(reader.modes == nil && reader.isBetweenMessages)
            let again = try read([all], with: &reader)
            #expect(again.read == Self.expected)
            #expect(again.modes == [.fullDuplex, .fullDuplex])
            // And behind what can't be read.
            reader.reset(keeping: 1 << 20)
            #expect(throws: CallError.self) { try read([frame([0xFF, 0xFF, 0xFF])], with: &reader) }
            reader.reset(keeping: 1 << 20)
        }
    }

    @Test("fields come in any order, and those that mean nothing are skipped")
    func order() throws {
        let content = Array("abc".utf8)
        let messages: [[UInt8]] = [
            // What means nothing first: an unknown message, 8 bytes, 4 bytes, a number.
            bytes(99, [1]) + varint(98 << 3 | 1) + [0, 0, 0, 0, 0, 0, 0, 0] + varint(97 << 3 | 5) + [0, 0, 0, 0]
                + number(96, 5) + contentMessage(4, content, endsStream: true),
            bytes(4, number(2, 1) + bytes(1, content)),
            bytes(4, bytes(9, [1]) + bytes(1, content) + number(2, 1)),
            // A group, in which another one is, and as many as there may be.
            varint(95 << 3 | 3) + number(1, 5) + varint(94 << 3 | 3) + bytes(1, [1]) + varint(94 << 3 | 4)
                + varint(95 << 3 | 4) + contentMessage(4, content, endsStream: true),
            bytes(4, bytes(1, content) + number(2, 1) + [9 << 3 | 3, 9 << 3 | 4])
                + Array(repeating: 9 << 3 | 3, count: 100) + Array(repeating: 9 << 3 | 4, count: 100),
            bytes(8, []) + bytes(8, []) + contentMessage(4, content, endsStream: true),
            bytes(4, bytes(1, content) + bytes(9, [1]) + number(2, 1)) + bytes(8, [1]) + bytes(11, []),
        ]
        for message in messages {
            let stream = frame(message)
            for cut in 0..<stream.count {
                #expect(
                    try read([Array(stream[..<cut]), Array(stream[cut...])], most: 2).read
                        == [.content(.request, content, endsStream: true)])
            }
        }
        #expect(try read([frame([])]).read == [.nothing])
        #expect(try read([frame(bytes(2, []))]).read == [.head(.request, [], endsStream: false)])
        #expect(try read([frame(bytes(6, []))]).read == [.trailers(.request, [])])
        // The modes of a first message without a head are known, and so is that none is.
        #expect(try read([frame(bytes(11, number(1, 2)))]).modes == [.buffered, .none])
        #expect(try read([frame(bytes(8, []))]).modes == [])
    }

    @Test(
        "what is no message is refused, however it is cut",
        arguments: [
            ([3 << 3 | 3], "ends before"), ([9 << 3 | 3, 8 << 3, 1], "ends before"),
            ([9 << 3 | 3, 8 << 3 | 4], "another one"),
            (Array(repeating: 9 << 3 | 3, count: 101), "too deep"), ([9 << 3 | 3, 8 << 3 | 6], "wire type 6"),
            ([2 << 3 | 3, 2 << 3 | 4], "another type"), ([4 << 3 | 4], "wire type 4"), ([7 << 3 | 7], "wire type 7"),
            ([0], "no number"), ([0x80], "ends before"), ([2 << 3 | 2, 5, 0], "ends before"),
            ([8 << 3 | 1, 1, 2], "ends before"), ([8 << 3 | 5, 1], "ends before"),
            ([8 << 3] + Array(repeating: 0xFF, count: 9) + [2], "64 bits"),
            ([8 << 3] + Array(repeating: 0x80, count: 10) + [1], "64 bits"),
            ([4 << 3 | 2, 9, 1 << 3 | 2, 1, 65], "longer than"), ([4 << 3 | 2, 3, 1 << 3 | 2, 9, 65], "longer than"),
            (bytes(2, bytes(1, bytes(1, bytes(1, "a") + bytes(2, "b") + bytes(3, "c")))), "both"),
            (contentMessage(4, [1]) + contentMessage(4, [2]), "two things"),
            (contentMessage(4, [1]) + headMessage(2, []), "two things"),
            (headMessage(2, []) + contentMessage(4, [1]), "two things"),
            (headMessage(2, [("a", "1")]) + headMessage(2, [("b", "2")]), "two things"),
            (bytes(8, []) + contentMessage(5, [1]) + contentMessage(4, [1]), "two things"),
            (bytes(4, number(2, 1) + bytes(1, [1]) + bytes(1, [2])), "twice"),
            (bytes(4, number(2, 1) + bytes(1, []) + bytes(1, [2])), "twice"),
            (bytes(4, bytes(1, [1]) + bytes(1, [2])), "twice"), (bytes(4, bytes(1, [1]) + [0x80]), "ends before"),
            (bytes(2, bytes(1, [0x0A, 9])), "ends before"), (headMessage(2, [], modes: (6, 0)), "number 6"),
            (bytes(11, number(1, .max)), "number 18446744073709551615"),
        ] as [([UInt8], String)])
    func malformed(_ message: [UInt8], _ reason: String) {
        let stream = frame(message)
        for cut in 0..<stream.count {
            let error = #expect(throws: CallError.self) { try read([Array(stream[..<cut]), Array(stream[cut...])]) }
            #expect(error?.status == .invalidArgument)
            #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
        }
    }

    @Test("a data plane that heeds no answer is told so, whatever its message is about")
    func observability() throws {
        for message in [headMessage(2, []), contentMessage(4, [1]), bytes(6, []), []] {
            let error = #expect(throws: CallError.self) { try read([frame(message + number(10, 1))]) }
            #expect(error?.status == .failedPrecondition)
            #expect(error?.reason.contains("observability_mode") == true)
            #expect(throws: Never.self) { try read([frame(message + number(10, 0))]) }
        }
    }

    @Test("a compressed message is refused, since none was agreed on")
    func compressed() {
        let error = #expect(throws: CallError.self) { try read([frame([], flag: 1)]) }
        #expect(error?.status == .unimplemented)
    }

    @Test("fields are bounded, since empty ones take many times the bytes of their message", arguments: [-1, 0, 1])
    func fieldLimit(_ offset: Int) throws {
        let count = MessageReader.fieldLimit + offset
        let map = bytes(1, Array(repeating: [10, 0] as [UInt8], count: count).joined().map { $0 })
        for number: UInt64 in [2, 7] {
            let stream = frame(bytes(number, map))
            guard offset > 0 else {
                #expect(try read([stream]).read.count == 1)
                continue
            }
            let error = #expect(throws: CallError.self) { try read([stream]) }
            #expect(error?.status == .resourceExhausted)
        }
    }

    @Test("what a message takes of memory is known")
    func memory() throws {
        var reader = MessageReader()
        #expect(reader.memory == 0)
        var at = 0
        let stream = frame(headMessage(2, [("a", "1"), ("b", "2")]))
        #expect(try reader.next(stream.span, at: &at) == .head(.request, endsStream: false))
        #expect(reader.memory == stream.count - GRPC.prefix + 2 * 32)
    }

    @Test("what isn't content is bounded, and content isn't", arguments: [-1, 0, 1])
    func limit(_ offset: Int) throws {
        // The tag and the length of a field of that size have five bytes.
        let limit = MessageReader.messageLimit + offset
        let message = bytes(9, Array(repeating: 0, count: limit - 5))
        #expect(message.count == limit - 1)
        let padded = message + [8 << 3] + [0]
        #expect(padded.count == limit + 1)
        if offset < 0 {
            #expect(try read([frame(padded)]).read == [.nothing])
        } else {
            let error = #expect(throws: CallError.self) { try read([frame(padded)]) }
            #expect(error?.status == .resourceExhausted)
        }
        let content = [UInt8](repeating: 1, count: limit + 10)
        #expect(try read([frame(contentMessage(5, content))]).read == [.content(.response, content, endsStream: false)])
    }
}

/// Numbers as Protocol Buffers write them.
@Suite struct VarintTests {
    @Test("numbers are read and written in the same way", arguments: [0, 1, 127, 128, 16383, 16384, 1 << 32, .max])
    func roundTrip(_ value: Int) throws {
        var output = OutputBuffer()
        FieldWriter.varint(value, to: &output)
        #expect(output.count == FieldWriter.count(of: value))
        #expect(output.span.copied() == varint(UInt64(value)))
        var reader = Varint()
        var read: UInt64?
        for byte in output.span.copied() { read = try reader.add(byte) }
        #expect(read == UInt64(value))
    }

    @Test("a number may have more bytes than it needs, and ten at most")
    func long() throws {
        var reader = Varint()
        for byte in [0x81, 0x80, 0x80] as [UInt8] { #expect(try reader.add(byte) == nil) }
        #expect(try reader.add(0) == 1)
        for byte in [UInt8](repeating: 0xFF, count: 9) { #expect(try reader.add(byte) == nil) }
        #expect(try reader.add(1) == .max)
    }
}
