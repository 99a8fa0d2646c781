/// How the bodies of converted and spooled requests were framed.
struct FramingCounters {
    var length: UInt64 = 0
    /// Those whose length was announced as a bound, and the bytes that filled it up.
    var padded: UInt64 = 0
    var padding: UInt64 = 0
    var chunked: UInt64 = 0
    var spooled: UInt64 = 0

    func visit(_ samples: inout MetricSamples) {
        for (mode, count) in [("length", length), ("padded", padded), ("chunked", chunked), ("spooled", spooled)] {
            samples.counter(
                "recast_transcode_framing_total", "Converted or spooled bodies by how they were framed.",
                labels: [.init("mode", mode)], count)
        }
        samples.counter(
            "recast_transcode_padding_bytes_total",
            "Bytes behind converted bodies that fill up a length which was announced as a bound.", padding)
    }
}
