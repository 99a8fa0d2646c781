import Glibc
import Testing

@testable import EventLoop

@Suite("The processors that the system lets the process use")
struct ProcessorLimitTests {
    private func folders(_ membership: String, _ mounts: String = "") -> ControlGroups.Folders {
        ControlGroups(membership: membership, mounts: mounts).folders(of: "cpu")
    }

    @Test(
        "Where the groups' files are: as a host, a container, a nested group and an odd mount show them",
        arguments: [
            // Without mounts to look at, the places that everybody uses.
            ("0::/a/b\n", "", ["/sys/fs/cgroup", "/sys/fs/cgroup/a", "/sys/fs/cgroup/a/b"], []),
            ("3:cpu,cpuacct:/x\n", "", [], ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu/x"]),
            ("3:cpuset,cpuacct:/x\n2:cpus:/y\n", "", [], []),
            // Version 2 with a name space of its own.
            ("0::/\n", "30 23 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n", ["/sys/fs/cgroup"], []),
            // Both versions side by side, as systemd's hybrid has them.
            (
                "4:cpu,cpuacct:/s/u\n0::/s/u\n",
                """
                30 23 0:26 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw
                31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 master:1 - cgroup cgroup rw,cpu,cpuacct
                32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
                """,
                ["/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified/s", "/sys/fs/cgroup/unified/s/u"],
                ["/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct/s", "/sys/fs/cgroup/cpu,cpuacct/s/u"]
            ),
            // A container of version 1 without a name space: the mount shows the container's own group as its top.
            (
                "4:cpu:/docker/ab/in\n", "31 23 0:27 /docker/ab /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu", [],
                ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu/in"]
            ),
            // A group outside of what can be seen: the top stands for it.
            ("0::/../x\n", "", ["/sys/fs/cgroup", "/sys/fs/cgroup/x"], []),
            // A mount point with a blank and a backslash; the last mount covers the others.
            (
                "0::/a\n", "30 1 0:26 / /old rw - cgroup2 c rw\n31 1 0:26 / /my\\040c\\134g rw - cgroup2 c rw",
                ["/my c\\g", "/my c\\g/a"], []
            ),
            // What isn't as the system writes it says nothing.
            ("", "", [], []), ("0:/a\nnonsense\n::\n", "- - -\n1 2 - cgroup2\n", ["/sys/fs/cgroup"], []),
        ] as [(String, String, [String], [String])])
    func places(membership: String, mounts: String, unified: [String], own: [String]) {
        #expect(folders(membership, mounts) == .init(unified: unified, own: own))
    }

    @Test(
        "A quota is rounded up to whole processors, and holds where it is smaller",
        arguments: [
            ("max 100000\n", 8), ("50000 100000\n", 1), ("100000 100000\n", 1), ("100001 100000\n", 2),
            ("250000 100000", 3), ("700000 100000\n", 7), ("800000 100000\n", 8), ("6400000 100000\n", 8),
            ("1000 100000\n", 1), ("1 1000000\n", 1), ("9223372036854775807 1\n", 8), ("0 100000\n", 8),
            ("-1 100000\n", 8), ("50000 0\n", 8), ("50000\n", 8), ("50000 100000 3\n", 8), ("", 8), ("a b\n", 8),
        ])
    func unified(text: String, count: Int) {
        let found = ProcessorLimit.smallest(affinity: 8, folders: .init(unified: ["/g"], own: [])) {
            $0 == "/g/cpu.max" ? text : nil
        }
        #expect(found.count == count)
        #expect(found.reason.contains("/g/cpu.max") == (count < 8))
    }

    @Test(
        "The two files of version 1",
        arguments: [
            ("-1\n", "100000\n", 8), ("50000\n", "100000\n", 1), ("150000\n", "100000\n", 2), ("150000\n", nil, 8),
            (nil, "100000\n", 8), ("150000\n", "0\n", 8), ("", "", 8),
        ] as [(String?, String?, Int)])
    func own(quota: String?, period: String?, count: Int) {
        let files = ["/g/cpu.cfs_quota_us": quota, "/g/cpu.cfs_period_us": period]
        let found = ProcessorLimit.smallest(affinity: 8, folders: .init(unified: [], own: ["/g"])) {
            files[$0] ?? nil
        }
        #expect(found.count == count)
    }

    @Test("The smallest of a group and those above it holds, and is named; nothing gives less than one")
    func smallest() {
        let texts = [
            "/top/cpu.max": "max 100000", "/top/a/cpu.max": "150000 100000", "/top/a/b/cpu.max": "400000 100000",
        ]
        let folders = ControlGroups.Folders(unified: ["/top", "/top/a", "/top/a/b"], own: [])
        let found = ProcessorLimit.smallest(affinity: 64, folders: folders) { texts[$0] }
        #expect(found.count == 2 && found.reason == "the quota of 1.50 processors in /top/a/cpu.max")
        #expect(ProcessorLimit.smallest(affinity: 1, folders: folders) { texts[$0] }.count == 1)
        let none = ProcessorLimit.smallest(affinity: 0, folders: .init()) { _ in nil }
        #expect(none.count == 1 && none.reason == "the processors that it may run on")
    }

    @Test("This process has one processor at least, and no more than there are")
    func current() {
        #expect((1...sysconf(Int32(_SC_NPROCESSORS_CONF))).contains(ProcessorLimit.current().count))
    }
}
