internal import Gateway
internal import Proxy
internal import Settings
internal import Synchronization

/// What the admin port shows of the settings that are in effect. It belongs to the main thread.
final class AdminBackend {
    private var file: SettingsFile
    /// What the process started with: some of it stays until it ends.
    private let first: SettingsFile
    private let path: String
    /// What was read anew, until it is in effect.
    private let reread: RereadSettings

    /// - Parameter path: the file's, for the origins of values.
    init(_ file: SettingsFile, path: String, reread: RereadSettings) {
        self.file = file
        first = file
        self.path = path
        self.reread = reread
    }

    var services: AdminServices {
        AdminServices(
            settings: { self.settings },
            explain: {
                let file = self.file
                return { Self.explain($0, in: file) }
            },
            adopted: { if let file = self.reread.take() { self.file = file } },
            tryOut: {
                let file = self.file
                return { Trial.answer($0, in: file) }
            },
            learn: {
                let file = self.file
                return { Learning.answer($0, $1, in: file) }
            },
            options: { Trial.options }, hint: { NearestWord.hint(for: $0, among: $1) })
    }

    private var settings: AdminServices.Settings {
        .init(
            general: general,
            routes: zip(file.settings.routes, file.effectiveOfRoutes).map { route, values in
                (route.name, values.map { shown($0, of: file) })
            })
    }

    /// Of what only a restart changes that with which the process started; all else as it was read last.
    private var general: [AdminServices.Setting] {
        let kept = first.effective.filter { ServerRestart.isNeeded(for: $0.key) }
        return file.effective.compactMap { value in
            guard ServerRestart.isNeeded(for: value.key) else { return shown(value, of: file) }
            guard let old = kept.first(where: { $0.key == value.key }) else { return nil }
            var setting = shown(old, of: first)
            // The line is one of a text that may not be there any more.
            if old.value != value.value { setting.origin += " at the start" }
            return setting
        }
    }

    private func shown(_ value: EffectiveValue, of file: SettingsFile) -> AdminServices.Setting {
        let value = file.redacted(value)
        let origin =
            switch value.origin {
            case .standard: "default"
            case .line(let line): "\(path):\(line)"
            }
        return .init(key: value.key, value: value.value, origin: origin)
    }

    private static func explain(_ sample: AdminServices.Sample, in file: SettingsFile) -> AdminServices.Explanation {
        guard let index = file.settings.routes.firstIndex(where: { $0.name == sample.route }) else {
            return .init(
                status: 404, text: "there is no route \"\(sample.route)\": \(file.hint(forRoute: sample.route))")
        }
        do throws(CommandFault) {
            var request = SampleRequest()
            try ExplainedSample.apply(
                method: sample.method, path: sample.path, query: sample.query, headers: sample.headers, to: &request)
            var explained = ExplainedSample(request: request, type: sample.type, body: sample.body)
            explained.responseStatus = sample.responseStatus
            // Nobody has chosen what the console shows: what others of its readers wait for must not be held by it.
            if sample.wantsMovesOnly { explained.bound = Trial.bound }
            let explanation = try explained.explanation(of: index, in: file)
            return .init(
                status: 200,
                text: sample.wantsMovesOnly ? explanation.moves : sample.wantsJSON ? explanation.json : explanation.text
            )
        } catch {
            let status = error.code == CommandFault.data ? 422 : 400
            return .init(status: status, text: error.lines.joined(separator: " "))
        }
    }
}

/// The settings that were read last, on their way from the thread that read them to the admin port.
final class RereadSettings: Sendable {
    private let file = Mutex<SettingsFile?>(nil)

    func keep(_ read: SettingsFile) { file.withLock { $0 = read } }

    func take() -> SettingsFile? {
        file.withLock { file in
            defer { file = nil }
            return file
        }
    }
}
