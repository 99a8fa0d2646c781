/// Keys of other proxies' settings (nginx, Envoy, Traefik, HAProxy, Caddy), by where they are written here, with what says the same in
/// ours: whoever comes from there is told that, and not all keys that there are.
enum ForeignKeys {
    /// Where a key is written.
    enum Place {
        case file, route, defaults, match, upstream, upstreamTLS, listenerTLS
    }

    /// What to write in its place; nil of a key that is none of another proxy's. Case, `_` and `-` are no matter.
    static func hint(for key: String, in place: Place) -> String? {
        let plain = String(key.lowercased().filter { $0 != "_" && $0 != "-" })
        return table(place)[plain]
    }

    private static func table(_ place: Place) -> [String: String] {
        switch place {
        case .file: file
        case .route: route
        case .defaults: defaults
        case .match: match
        case .upstream: upstream
        case .upstreamTLS: upstreamTLS
        case .listenerTLS: listenerTLS
        }
    }

    private static func table(_ rows: [(keys: String, hint: String)]) -> [String: String] {
        var table: [String: String] = [:]
        for row in rows { for key in row.keys.split(separator: " ") { table[String(key)] = row.hint } }
        return table
    }

    private static let compress = "write compress: {plain: true} in a route or under \"defaults\""
    private static let body = "write limits: {body: 100MiB} in a route or under \"defaults\""
    private static let origins = "write headers: {response: {set: {Access-Control-Allow-Origin: …}}}"
    private static let answers = "write timeouts: {first_byte: 30s, gap: 60s} in a route or under \"defaults\""
    private static let ofListener = "write listen: {address: 0.0.0.0:8443, tls: {certificate: …, key: …}}"

    private static let file = table([
        ("server bind port frontend entrypoints", "write listen: 127.0.0.1:8080"),
        ("servers services service clusters cluster backends backend", "write upstreams: {app: 127.0.0.1:3000}"),
        (
            "location locations rules routers virtualhosts staticresources",
            "write routes: [{name: all, match: \"/*\", upstream: app}]"
        ),
        ("clientmaxbodysize maxbodysize maxbody bodylimit maxrequestbytes maxrequestbodysize", body),
        ("keepalivetimeout idletimeout", "write timeouts: {keep_alive: 75s}"),
        ("proxyreadtimeout proxysendtimeout readtimeout responsetimeout", answers),
        ("proxyconnecttimeout connecttimeout", "write connect: 3s in an upstream"),
        ("workerprocesses threads nbthread concurrency", "write workers: auto"),
        ("workerconnections maxconnections maxconn", "write connections: {total: 1000}"),
        ("errorlog loglevel logging", "write log: {level: info}"),
        ("accesslogs logs", "write access_log: {to: stdout}"),
        ("gzip brotli compression", compress),
        ("metrics prometheus stats", "write status: 0.0.0.0:9902, which answers /metrics"),
        ("ssl sslcertificate sslcertificatekey certificate certificates certs", ofListener),
        ("cors", origins),
        (
            "include includes import",
            "no file takes in another: \"defaults\" says what all routes have, ${file:PATH} gives a text"
        ),
        ("env environment variables vars", "write ${env:NAME} where the value is to stand"),
        ("drain draintimeout shutdowntimeout gracefultimeout", "write drain_delay: 0s, or timeouts: {grace: 25s}"),
    ])

    private static let route = table([
        ("proxypass backend backends service services cluster target url uri to forward", "write upstream: app"),
        (
            "location prefix pathprefix paths methods hosts hostnames rule rules",
            "write match: {path: \"/a/*\", method: POST}"
        ),
        ("stripprefix striprefix trimprefix prefixrewrite", "write match: \"/a/*\" and rewrite: \"/${path.*}\""),
        ("pathrewrite rewritepath replacepath regexrewrite", "write rewrite: \"/b/${path.*}\""),
        ("timeout readtimeout proxyreadtimeout responsetimeout", "write timeouts: {first_byte: 30s, gap: 60s}"),
        ("connecttimeout proxyconnecttimeout", "write connect: 3s in the upstream"),
        (
            "clientmaxbodysize maxbodysize maxbody bodylimit maxrequestbytes maxrequestbodysize",
            "write limits: {body: 100MiB}"
        ),
        (
            "requestheaders requestheaderstoadd proxysetheader setheaders addheaders setheader",
            "write headers: {request: {set: {X-A: b}}}"
        ),
        ("responseheaders responseheaderstoadd addheader", "write headers: {response: {set: {X-A: b}}}"),
        ("cors", origins),
        ("mirror requestmirrorpolicies mirroring", "write shadow: {upstream: NAME}"),
        (
            "redirect return respond directresponse status static root fileserver",
            "no route answers by itself: name an upstream that does"
        ),
        ("websocket websockets ws upgradeconfigs", "write upgrade: [websocket]"),
        ("auth authbasic basicauth forwardauth", "write authorize: [{basic: {NAME: \"${env:PASSWORD}\"}}]"),
        ("transform conversion", "write request: form -> json"),
        ("gzip brotli compression", "write compress: {plain: true}"),
        ("retries retrypolicy retrypolicies", "write retry: {attempts: 1, on: [503]}"),
        ("ratelimiting limitreq limitrate", "write rate_limit: 100/s"),
        ("middlewares filters plugins", "what a route does are keys of its own, as request, headers and rewrite"),
    ])

    /// As of a route, of which "defaults" have not all keys.
    private static let defaults = route.mapValues { hint in
        let ofRoutes = ["upstream", "match", "rewrite", "shadow", "authorize", "request"]
        return ofRoutes.contains { hint.hasPrefix("write \($0):") } ? "\(hint) in a route" : hint
    }

    private static let match = table([
        ("prefix pathprefix startswith uri url location", "write path: \"/a/*\""),
        ("regex pathregex saferegex expression", "a path is no expression: {name} is a segment, and * ends it"),
        ("contenttype mediatype mime", "write type: application/json"),
        ("verb verbs", "write method: [GET, POST]"),
        ("hostname hostnames domain domains authority", "write host: shop.example"),
    ])

    private static let upstream = table([
        (
            "url uri server servers target targets endpoint endpoints hosts port loadassignment",
            "write address: 127.0.0.1:3000"
        ),
        ("timeout timeouts readtimeout", answers),
        ("connecttimeout dialtimeout", "write connect: 3s"),
        ("keepalive keepaliverequests pool poolsize maxidleconnsperhost", "write max_idle: 64"),
        ("ssl https transportsocket", "write tls: true"),
        ("healthcheck healthchecks check", "write health: {active: {path: /healthz}}"),
        ("maxfails failtimeout outlierdetection", "write health: {passive: {failures: 5, ejection: 10s}}"),
        ("weight weights", "addresses have no weights: balance: least_requests sends fewer to slower ones"),
        ("lbpolicy loadbalancer loadbalancing strategy policy", "write balance: round_robin"),
        ("retries", "write retry: {attempts: 1} in a route or under \"defaults\""),
        ("protocol protocols version h2 http2 http2protocoloptions", "write http: 2"),
        ("dns resolver resolvers dnsresolvers", "write resolve: {servers: [127.0.0.53]}"),
        ("maxconn maxconns circuitbreakers", "write max_connections: 4096"),
    ])

    private static let upstreamTLS = table([
        ("insecure insecureskipverify skipverify verifypeer sslverify", "write verify: false"),
        ("servername hostname host", "write name: app.internal"),
        ("cafile cacert rootca rootcas trustedca sslcafile", "write ca: ca.pem"),
        ("cert certfile crt clientcertificate", "write certificate: client.pem"),
        ("keyfile privatekey clientkey", "write key: client.key"),
    ])

    private static let listenerTLS = table([
        ("cert certfile crt sslcertificate", "write certificate: server.pem"),
        ("keyfile privatekey sslcertificatekey", "write key: server.key"),
        ("protocols sslprotocols minversion", "write min_version: \"1.2\""),
    ])
}
