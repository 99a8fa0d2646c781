import Testing

/// Expects an answer of the proxy's own.
func expectProblem(
    _ response: RigMessage, _ status: Int, _ code: String, location: SourceLocation = #_sourceLocation
) {
    #expect(response.status == status, sourceLocation: location)
    #expect(response.text.contains(#""code":"\#(code)""#), "\(response.text)", sourceLocation: location)
}
