import Testing

@testable import EventLoop

@Suite("The memory that the system lets the process have")
struct MemoryLimitTests {
    @Test("The files of the group and of those above it, of both versions")
    func files() {
        let membership = "9:name=systemd:/\n4:cpu,memory:/a/b\n5:devices:/\n0::/c\nnonsense\n"
        #expect(
            MemoryLimit.files(of: ControlGroups(membership: membership, mounts: "")) == [
                "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max",
                "/sys/fs/cgroup/c/memory.max",
            ])
    }

    @Test(
        "A number is a limit, everything else is none",
        arguments: [
            ("134217728\n", 134_217_728), ("max\n", nil), ("9223372036854771712\n", nil), ("", nil), ("0\n", nil),
            ("-1\n", nil),
        ] as [(String, Int?)])
    func bytes(text: String, bytes: Int?) { #expect(MemoryLimit.bytes(in: text) == bytes) }

    @Test("The smallest limit holds")
    func smallest() {
        let texts = ["a": "300\n", "b": "200\n", "c": "max\n"]
        let files = ["a", "b", "c", "d"]
        let found = MemoryLimit.smallest(files: files, resources: [("R", 250), ("S", nil)]) { texts[$0] }
        #expect(found?.bytes == 200 && found?.source == "b")
        let resource = MemoryLimit.smallest(files: files, resources: [("R", 150)]) { texts[$0] }
        #expect(resource?.bytes == 150 && resource?.source == "R")
        #expect(MemoryLimit.smallest(files: ["c"], resources: [("S", nil)]) { texts[$0] } == nil)
    }
}
