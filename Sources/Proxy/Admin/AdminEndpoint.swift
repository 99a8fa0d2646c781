internal import HTTPWire

/// What can be asked of the admin port. HEAD is answered where GET is.
enum AdminEndpoint: String, CaseIterable {
    case index = "/"
    case live = "/live"
    case ready = "/ready"
    case metrics = "/metrics"
    case routes = "/routes"
    case upstreams = "/upstreams"
    case transfers = "/transfers"
    case config = "/config"
    case logLevel = "/log-level"
    case drain = "/drain"
    case explain = "/explain"
    case console = "/console"
    case exchanges = "/console/exchanges"
    case exchange = "/console/exchange"
    case replay = "/console/replay"
    case routeCounts = "/console/routes"
    case trial = "/console/try"
    case options = "/console/options"
    case learn = "/console/learn"

    private var methods: [Method] {
        switch self {
        case .drain, .explain, .replay, .trial: [.post]
        case .logLevel: [.get, .head, .put, .post]
        default: [.get, .head]
        }
    }

    func takes(_ method: Method) -> Bool { methods.contains(method) }

    /// The methods that it takes, as Allow writes them.
    var allow: String { methods.map { "\($0)".uppercased() }.joined(separator: ", ") }

    /// Whether it tells how things stand and nothing of the settings: what the read-only port answers.
    var isStatus: Bool { self == .live || self == .ready || self == .metrics }

    /// Whether it is the console's: there where `admin.console` is on, and for who has the token.
    var isConsole: Bool { rawValue.hasPrefix(Self.console.rawValue + "/") }

    /// The parameters of its query, those first that may come once; nil where others may stand there too: probes, scrapers and browsers
    /// add their own.
    var parameters: (known: [String], lists: [String])? {
        switch self {
        case .live, .ready, .metrics, .console: nil
        case .index, .routes, .upstreams, .config, .drain, .replay, .routeCounts, .trial, .options: ([], [])
        case .transfers: (["id", "route", "interval"], [])
        case .logLevel: (["level"], [])
        case .explain: (["route", "type", "method", "path", "query"], ["header"])
        case .exchanges: (["route", "status", "code", "method"], [])
        case .exchange: (["id"], [])
        case .learn: (["route", "count"], [])
        }
    }

    private var purpose: String {
        switch self {
        case .index: "this list, and the version that runs"
        case .live: "200 while the process serves its main loop"
        case .ready: "200 while new requests are wanted, else 503"
        case .metrics: "metrics in the text format of Prometheus"
        case .routes: "the routes in their order"
        case .upstreams: "the upstreams and their connections"
        case .transfers: "the uploads in flight"
        case .config: "every setting in effect and where it comes from"
        case .logLevel: "the level of the operational log; ?level= sets it"
        case .drain: "stops accepting and ends when all exchanges have ended"
        case .explain: "?route=NAME: where each field of the body sent goes"
        case .console: "the console's page, where it is on"
        case .exchanges: "the exchanges that are kept, newest first; as events with Accept: text/event-stream"
        case .exchange: "?id=ID: one of them, as it came and as it went on"
        case .replay: "sends one of them again, as it was or edited"
        case .routeCounts: "the routes with what they have done"
        case .trial: "what a route, or a definition that is in no file, makes of a body"
        case .options: "the encodings of bodies with their options"
        case .learn: "?route=NAME: a definition, proposed by what its bodies look like"
        }
    }

    /// What `GET /` answers.
    static var list: AdminValue {
        .object([
            ("version", .text(BuildInformation.version)),
            ("commit", BuildInformation.commit.map(AdminValue.text) ?? .none),
            (
                "endpoints",
                .list(
                    allCases.map {
                        .object([
                            ("path", .text($0.rawValue)), ("methods", .text($0.allow)),
                            ("what", .text($0.purpose)),
                        ])
                    })
            ),
        ])
    }
}
