import EventLoop
import Foundation
import Gateway
import Octets
import Testing

@testable import Proxy

/// A store with its own budgets, and a folder that must be empty in the end.
private final class SpoolRig {
    let folder: String
    let memory: MemoryAllowance
    let store: SpoolStore
    var settings = SpoolSettings()

    init(budget: Int = 1 << 30, total: Int = 1 << 30) throws {
        folder = NSTemporaryDirectory() + "/recast-spool-test-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        memory = MemoryAllowance(MemoryBudget(limit: budget))
        store = SpoolStore(quota: SpoolQuota(limit: total), memory: memory)
        settings.directory = folder
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func spool(memory: Int, disk: Int) -> Spool {
        settings.memory = memory
        settings.disk = disk
        return Spool(settings, store: store)
    }

    /// Nothing is held, on disk or in memory, and no file has a name.
    func expectClean() throws {
        #expect(store.files == 0 && store.bytes == 0 && store.quota.used == 0)
        #expect(memory.held == 0 && memory.budget.used == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }
}

/// Bytes that differ from place to place.
private func pattern(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

private func put(_ bytes: some Collection<UInt8>, in spool: Spool) throws(SpoolFault) {
    let piece = Array(bytes)
    try spool.append(piece.span)
}

private func everything(in spool: Spool) throws -> [UInt8] {
    var output = OutputBuffer()
    while !spool.isAtEnd {
        let before = output.count
        try spool.prepare()
        spool.read { piece in
            #expect(piece.count <= Spool.pieceSize)
            output.append(piece)
            return piece.count
        }
        #expect(output.count > before)
    }
    let bytes = output.span
    return bytes.indices.map { bytes[$0] }
}

@Suite("Spools hold a body until its length is known")
struct SpoolTests {
    @Test(
        "What fits into memory stays there, the rest goes to disk, and all of it comes back in order",
        arguments: [0, 1, 999, 1000, 1001, 1999, 2000, 200_000])
    func places(count: Int) throws {
        let rig = try SpoolRig()
        let spool = rig.spool(memory: 1000, disk: 1 << 20)
        let body = pattern(count)
        var at = 0
        for size in [1, 998, 1, 1, 70_000, count] where at < count {
            let end = min(at + size, count)
            try put(body[at..<end], in: spool)
            at = end
        }
        #expect(spool.count == count)
        #expect(rig.store.files == (count > 1000 ? 1 : 0))
        #expect(rig.store.bytes == max(0, count - 1000) && rig.store.quota.used == max(0, count - 1000))
        #expect(try everything(in: spool) == body)
        #expect(try FileManager.default.contentsOfDirectory(atPath: rig.folder).isEmpty, "a file has a name")
        spool.end()
        spool.end()
        try rig.expectClean()
    }

    @Test(
        "Bytes that aren't taken are lent again, from memory and from disk, and once more behind a rewind",
        arguments: [1, 7, 999, 1001])
    func taking(step: Int) throws {
        let rig = try SpoolRig()
        let spool = rig.spool(memory: 1000, disk: 1 << 20)
        let body = pattern(3000)
        try put(body, in: spool)
        for _ in 0..<2 {
            var seen: [UInt8] = []
            while !spool.isAtEnd {
                try spool.prepare()
                spool.read { piece in
                    #expect(spool.count == body.count && !piece.isEmpty)
                    let taken = min(step, piece.count)
                    seen += piece.extracting(0..<taken).indices.map { piece[$0] }
                    return taken
                }
            }
            #expect(seen == body)
            spool.rewind()
            // Behind a part of what came from the file, too.
            for _ in 0..<2 {
                try spool.prepare()
                spool.read { min(1001, $0.count) }
            }
            spool.rewind()
        }
        #expect(try everything(in: spool) == body)
        spool.end()
        try rig.expectClean()
    }

    @Test("A spool may end while its bytes are lent", arguments: [500, 1500])
    func endWhileLent(count: Int) throws {
        let rig = try SpoolRig()
        let spool = rig.spool(memory: 1000, disk: 1 << 20)
        try put(pattern(count), in: spool)
        while !spool.isAtEnd {
            try spool.prepare()
            var isLast = false
            spool.read { piece in
                isLast = piece.count == (count > 1000 ? count - 1000 : count)
                if isLast { spool.end() }
                return piece.count
            }
            if isLast { break }
        }
        #expect(spool.count == 0 && spool.isAtEnd)
        try rig.expectClean()
    }

    @Test(
        "A request may have its memory and its disk together", arguments: [(2999, true), (3000, true), (3001, false)])
    func quotaOfARequest(count: Int, fits: Bool) throws {
        let rig = try SpoolRig()
        let spool = rig.spool(memory: 1000, disk: 2000)
        let body = pattern(count)
        try put(body[..<1500], in: spool)
        if fits {
            try put(body[1500...], in: spool)
        } else {
            #expect(throws: SpoolFault.tooLarge(3000)) { try put(body[1500...], in: spool) }
        }
        spool.end()
        try rig.expectClean()
    }

    @Test("All requests together may have the total", arguments: [(1999, true), (2000, true), (2001, false)])
    func quotaOfAll(count: Int, fits: Bool) throws {
        let rig = try SpoolRig(total: 3000)
        let other = rig.spool(memory: 0, disk: 1000)
        try put(pattern(1000), in: other)
        let spool = rig.spool(memory: 0, disk: 10_000)
        if fits {
            try put(pattern(count), in: spool)
            #expect(rig.store.quota.used == 1000 + count)
        } else {
            #expect(throws: SpoolFault.total) { try put(pattern(count), in: spool) }
        }
        spool.end()
        #expect(rig.store.quota.used == 1000)
        #expect(try everything(in: other) == pattern(1000), "the other one isn't touched")
        other.end()
        try rig.expectClean()
    }

    @Test("Without memory in the budget a body goes to disk at once")
    func withoutMemory() throws {
        let rig = try SpoolRig(budget: MemoryCharge.step)
        #expect(rig.memory.take(MemoryCharge.step, for: .request))
        let spool = rig.spool(memory: 256 * 1024, disk: 1 << 20)
        let body = pattern(300_000)
        try put(body[..<MemoryCharge.step], in: spool)
        #expect(rig.store.files == 1 && rig.memory.held(.spool) == 0)
        try put(body[MemoryCharge.step...], in: spool)
        #expect(try everything(in: spool) == body)
        spool.end()
        rig.memory.give(MemoryCharge.step, of: .request)
        try rig.expectClean()
    }

    @Test("A folder that isn't there is made by the first body that goes to disk")
    func missingFolder() throws {
        let rig = try SpoolRig()
        let folder = rig.settings.directory
        rig.settings.directory += "/none/yet"
        let spool = rig.spool(memory: 10, disk: 1000)
        try put(pattern(10), in: spool)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        try put(pattern(1), in: spool)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/none") == ["yet"])
        spool.end()
        try FileManager.default.removeItem(atPath: folder + "/none")
        try rig.expectClean()
    }

    @Test("A folder that can't be made is a fault, counted by its reason")
    func noFolder() throws {
        let rig = try SpoolRig()
        rig.settings.directory = "/proc/none"
        let spool = rig.spool(memory: 10, disk: 1000)
        #expect(throws: SpoolFault.failed) { try put(pattern(11), in: spool) }
        spool.end()
        var samples = MetricSamples()
        rig.store.visit(&samples)
        let failures = try #require(samples.families["recast_spool_failures_total"])
        #expect(failures.samples.first { $0.labels == [.init("reason", "io")] }?.value == 1)
        try rig.expectClean()
    }

    @Test("A folder whose path is too long is a fault")
    func longFolder() throws {
        let rig = try SpoolRig()
        rig.settings.directory = "/" + String(repeating: "a/", count: 5000)
        let spool = rig.spool(memory: 0, disk: 1000)
        #expect(throws: SpoolFault.failed) { try put(pattern(11), in: spool) }
        spool.end()
        try rig.expectClean()
    }
}
