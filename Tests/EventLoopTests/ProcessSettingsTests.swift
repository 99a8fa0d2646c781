import EventLoop
import Testing

/// What a process knows of itself.
@Suite struct ProcessSettingsTests {
    @Test func `the arguments are those that Swift finds where /proc is mounted`() {
        #expect(programArguments() == Array(CommandLine.arguments.dropFirst()))
        #expect(!programArguments().isEmpty)
    }
}
