import EventLoop
import Foundation
import Glibc
import Testing

/// Which changes of files are told, and which are not.
@Suite struct FileWatchTests {
    /// Runs `changes` one after the other, each of which must be told once.
    private func told(_ files: [String], in folder: URL, _ changes: [() throws -> Void]) throws {
        try withLoop { loop in
            var count = 0
            let watch = try FileWatch(loop: loop, files: files) {
                count += 1
                loop.stop()
            }
            for (index, change) in changes.enumerated() {
                try change()
                loop.run()
                #expect(count == index + 1)
            }
            // Nothing more comes of it.
            let timer = Timer(loop: loop) { loop.stop() }
            timer.set(after: FileWatch.settleTime * 2)
            loop.run()
            #expect(count == changes.count)
            withExtendedLifetime(watch) {}
        }
    }

    private func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = URL(filePath: "/tmp/recast-watch-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    @Test func `written, replaced, removed and made again`() throws {
        try withFolder { folder in
            let file = folder.appending(path: "a")
            try Data("1".utf8).write(to: file)
            try told(
                [file.path], in: folder,
                [
                    { try Data("22".utf8).write(to: file) },
                    { try Data("3".utf8).write(to: file, options: .atomic) },
                    { try FileManager.default.removeItem(at: file) },
                    { try Data("4".utf8).write(to: file) },
                ])
        }
    }

    @Test(arguments: [false, true]) func `a link takes the place of a file`(_ isHard: Bool) throws {
        try withFolder { folder in
            let file = folder.appending(path: "live")
            let other = folder.appending(path: "elsewhere")
            try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
            let next = other.appending(path: "next")
            try Data("1".utf8).write(to: file)
            try Data("22".utf8).write(to: next)
            try told(
                [file.path], in: folder,
                [
                    { try FileManager.default.removeItem(at: file) },
                    {
                        if isHard {
                            try FileManager.default.linkItem(at: next, to: file)
                        } else {
                            try FileManager.default.createSymbolicLink(at: file, withDestinationURL: next)
                        }
                    },
                ])
        }
    }

    @Test func `a new file is looked at when it is whole`() throws {
        try withFolder { folder in
            let path = folder.appending(path: "a").path
            try withLoop { loop in
                var content: [String] = []
                let watch = try FileWatch(loop: loop, files: [path]) {
                    content.append((try? String(contentsOfFile: path, encoding: .utf8)) ?? "none")
                    loop.stop()
                }
                let descriptor = unsafe open(path, O_WRONLY | O_CREAT, 0o600)
                put("half", to: descriptor)
                let timer = Timer(loop: loop) { loop.stop() }
                timer.set(after: FileWatch.settleTime * 2)
                loop.run()
                #expect(content == [])
                put(" and whole", to: descriptor)
                close(descriptor)
                loop.run()
                #expect(content == ["half and whole"])
                withExtendedLifetime(watch) {}
            }
        }
    }

    @Test func `a link on the way is turned to another folder`() throws {
        try withFolder { folder in
            for name in ["one", "two"] {
                let data = folder.appending(path: "elsewhere/\(name)")
                try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
                try Data(name.utf8).write(to: data.appending(path: "a"))
            }
            let mounted = folder.appending(path: "mounted")
            try FileManager.default.createDirectory(at: mounted, withIntermediateDirectories: true)
            func turn(to name: String) throws {
                let link = mounted.appending(path: "..tmp").path
                try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "../elsewhere/\(name)")
                #expect(unsafe rename(link, mounted.appending(path: "..data").path) == 0)
            }
            try turn(to: "one")
            let file = mounted.appending(path: "a").path
            try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "..data/a")
            try told(
                [file], in: folder,
                [
                    { try turn(to: "two") },
                    { try Data("new".utf8).write(to: folder.appending(path: "elsewhere/two/a")) },
                    { try turn(to: "one") },
                ])
        }
    }

    @Test func `the folder of a file is moved away, comes back, is deleted and made anew`() throws {
        try withFolder { folder in
            let inner = folder.appending(path: "above/inner")
            let away = folder.appending(path: "away")
            try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
            let file = inner.appending(path: "a")
            try Data("1".utf8).write(to: file)
            try told(
                [file.path], in: folder,
                [
                    { #expect(unsafe rename(inner.path, away.path) == 0) },
                    { #expect(unsafe rename(away.path, inner.path) == 0) },
                    { try Data("22".utf8).write(to: file) },
                    { try FileManager.default.removeItem(at: inner.deletingLastPathComponent()) },
                    {
                        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
                        try Data("333".utf8).write(to: file, options: .atomic)
                    },
                    { try Data("4444".utf8).write(to: file) },
                ])
        }
    }

    @Test func `a folder above that of a file gives its place to another`() throws {
        try withFolder { folder in
            let above = folder.appending(path: "above")
            let next = folder.appending(path: "next")
            for (place, text) in [(above, "1"), (next, "22")] {
                let inner = place.appending(path: "inner")
                try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
                try Data(text.utf8).write(to: inner.appending(path: "a"))
            }
            try told(
                [above.appending(path: "inner/a").path], in: folder,
                [
                    {
                        #expect(unsafe rename(above.path, folder.appending(path: "old").path) == 0)
                        #expect(unsafe rename(next.path, above.path) == 0)
                    },
                    { try Data("333".utf8).write(to: above.appending(path: "inner/a")) },
                ])
        }
    }

    @Test func `other files of the folder are no matter, and several changes at once are one`() throws {
        try withFolder { folder in
            let files = ["a", "b"].map { folder.appending(path: $0) }
            for file in files { try Data("1".utf8).write(to: file) }
            try told(
                files.map(\.path), in: folder,
                [
                    {
                        try Data("x".utf8).write(to: folder.appending(path: "other"))
                        for file in files { try Data("22".utf8).write(to: file) }
                    }
                ])
        }
    }

    /// How often a watch of `files`, which were read, tells of something at once.
    private func told(_ files: [ReadFile], besides others: [String] = []) throws -> Int {
        var count = 0
        try withLoop { loop in
            let watch = try FileWatch(loop: loop, files: []) { count += 1 }
            try watch.watch(files, besides: others)
            withExtendedLifetime(watch) {}
        }
        return count
    }

    @Test func `what has changed since it was read is told, and nothing else`() throws {
        try withFolder { folder in
            let paths = ["a", "b", "missing"].map { folder.appending(path: $0).path }
            for path in paths.dropLast() { try Data("1".utf8).write(to: URL(filePath: path)) }
            let read = paths.map { ReadFile($0) }
            #expect(read.map { $0.stamp == nil } == [false, false, true])
            #expect(try told(read) == 0)
            #expect(try told([read[0]], besides: paths) == 0)
            try Data("22".utf8).write(to: URL(filePath: paths[1]))
            #expect(try told(read) == 1)
            // It was not read this time, and nobody has watched it before.
            #expect(try told([read[0]], besides: paths) == 0)
            try Data("3".utf8).write(to: URL(filePath: paths[2]))
            #expect(try told([read[2]]) == 1)
            #expect(try told(paths.map { ReadFile($0) }) == 0)
        }
    }

    @Test func `a file that was watched and not read again is told once`() throws {
        try withFolder { folder in
            let paths = ["a", "b"].map { folder.appending(path: $0).path }
            for path in paths { try Data("1".utf8).write(to: URL(filePath: path)) }
            try withLoop { loop in
                var count = 0
                let watch = try FileWatch(loop: loop, files: []) { count += 1 }
                try watch.watch(paths.map { ReadFile($0) })
                try Data("22".utf8).write(to: URL(filePath: paths[1]))
                for _ in 0..<3 { try watch.watch([ReadFile(paths[0])], besides: paths) }
                #expect(count == 1)
                withExtendedLifetime(watch) {}
            }
        }
    }

    @Test func `that a pipe was used is no change of it`() throws {
        try withFolder { folder in
            let path = folder.appending(path: "pipe").path
            #expect(unsafe mkfifo(path, 0o600) == 0)
            let read = ReadFile(path)
            let descriptor = unsafe open(path, O_RDWR | O_NONBLOCK)
            put("text", to: descriptor)
            #expect(FileStamp(path) == read.stamp)
            #expect(try told([read]) == 0)
            close(descriptor)
            try Data("1".utf8).write(to: folder.appending(path: "other"))
            #expect(unsafe rename(folder.appending(path: "other").path, path) == 0)
            #expect(try told([read]) == 1)
        }
    }
}
