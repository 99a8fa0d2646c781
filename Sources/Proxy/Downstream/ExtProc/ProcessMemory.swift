internal import ExtProc
internal import Octets

/// What a call reads and writes with: the worker keeps it when the call is over, so that the next one allocates none of it.
struct ProcessMemory {
    var reader = MessageReader()
    var request = ProcessingFlow(.request)
    var response = ProcessingFlow(.response)
    var output = OutputBuffer()
    var names = LowercaseName()

    /// Makes it ready for another call; of each buffer `limit` bytes stay.
    mutating func reset(keeping limit: Int) {
        reader.reset(keeping: limit)
        request.reset(keeping: limit)
        response.reset(keeping: limit)
        output.removeAll()
        output.shrink(to: limit)
    }
}
