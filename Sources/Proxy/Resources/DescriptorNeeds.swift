internal import Gateway

/// How many descriptors a process with some settings needs, worked out before it serves: what it has itself, and what its
/// connections take.
struct DescriptorNeeds {
    /// Those of the process itself: standard streams, logs, watches, signals, files of settings and certificates that are read
    /// again, what each worker opens, copies of requests included, and some connections of operators.
    let own: Int
    private let workers: Int

    /// A connection of a client takes one, and one more goes upstream for its request.
    static let each = 2
    /// Connections of clients that there must be room for, so that some idle ones don't keep all others out: for each worker, and
    /// in all.
    static let leastOfWorker = 4
    static let least = 32

    /// What doesn't depend on settings, with room to spare, and of each worker without its listeners.
    private static let base = 48
    private static let perWorker = 6
    /// For those who ask the admin port or the status port while clients have all that there is.
    private static let perDoor = 8

    init(_ settings: ProxySettings) {
        workers = settings.workers
        let doors = [settings.admin.address, settings.admin.status].compactMap(\.self).count
        // Each worker checks each address by itself.
        let checked = settings.upstreams.reduce(0) { $0 + ($1.health.active == nil ? 0 : $1.addresses.count) }
        let copies = settings.routes.reduce(0) { sum, route in
            guard let options = route.shadow?.options, options.upstream != nil else { return sum }
            return sum + options.inFlight
        }
        own =
            Self.base + doors * Self.perDoor
            + workers * (Self.perWorker + settings.listen.count + settings.upstreams.count + checked + copies)
    }

    /// The fewest with which the process starts.
    var minimum: Int { own + max(Self.least, Self.leastOfWorker * workers) * Self.each }

    /// The cap on connections of clients, where none is set and the system allows so many descriptors.
    func connections(of limit: Int) -> Int {
        max(1, min((limit - own) / Self.each, AdmissionSettings.largestTotal))
    }

    /// What an operator should know of a cap that the settings name and `limit` is too low for; nil where there is none.
    func note(on limit: Int, cap: Int?) -> String? {
        guard let cap, cap > connections(of: limit), own + cap * Self.each > limit else { return nil }
        return "connections.total is \(cap), which may take \(own + cap * Self.each) files, and \(limit) may be open: "
            + "when they run out, connections that are idle are closed"
    }

    /// Throws where `limit`, which is as high as the process may raise it, is below the minimum.
    func check(_ limit: Int) throws(ServerError) {
        guard limit < minimum else { return }
        throw .descriptors(
            reason: "\(limit) files may be open, and \(counted(workers, "worker")) with these settings "
                + "need at least \(minimum): raise the hard limit (ulimit -Hn, LimitNOFILE= of systemd, --ulimit nofile= "
                + "of docker)\(workers == 1 ? "" : ", or lower \"workers\"")")
    }
}
