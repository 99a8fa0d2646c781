/// Every reason for which an exchange did not simply bring the upstream's answer: what `flags` in the access log can say. A
/// closed set; docs/access-log.md tells operators of each.
package enum EndReason: String, CaseIterable {
    /// The request can't be read as HTTP, or breaks a rule of it.
    case badRequest = "BR"
    /// No route takes the request.
    case noRoute = "NR"
    /// The body can't be read as its type.
    case badBody = "BD"
    /// The body passes a limit.
    case bodyLimit = "BL"
    /// The route doesn't take the body's type or coding.
    case bodyType = "BT"
    /// The target encoding can't carry what the body holds.
    case bodyCarry = "BC"
    /// The client left before its request was whole, or before it had the answer.
    case clientGone = "CD"
    /// The client stopped reading its answer, or took it too slowly.
    case clientStalled = "CS"
    /// The client didn't send its head or body in time.
    case clientTime = "CT"
    /// No connection to the upstream could be made.
    case upstreamUnreachable = "UF"
    /// The upstream didn't connect, answer or go on in time.
    case upstreamTime = "UT"
    /// The upstream closed or reset its connection too early.
    case upstreamGone = "UR"
    /// The upstream's response can't be read as HTTP.
    case upstreamBad = "UB"
    /// The route doesn't take this response: its status, type, coding, or no-transform.
    case responseType = "RT"
    /// The body of the response can't be read as its type.
    case responseBad = "RD"
    /// The body of the response passes a limit.
    case responseLimit = "RL"
    /// The target encoding can't carry what the response holds.
    case responseCarry = "RC"
    /// The request isn't its sender's, or can't be verified.
    case signature = "SV"
    /// The request has no credentials that the route takes.
    case authorization = "AU"
    /// The client, or what else the route counts by, comes more often than it may.
    case tooManyRequests = "TM"
    /// The request has been here too often: it goes round in a loop.
    case loop = "LP"
    /// A tunnel, as of a WebSocket, had no byte in either direction for its time.
    case tunnelIdle = "TI"
    /// The grace time of a drain was over before the exchange, or the tunnel, was; or a second signal ended it.
    case graceTime = "GT"
    /// The proxy has no capacity for the request: connections, or requests in flight.
    case overload = "OL"
    /// The memory for bodies is used up.
    case memory = "MO"
    /// The body could not be held until its length was known: the disk, or its budget.
    case spool = "SF"
    /// The upstream's name can't be resolved.
    case upstreamName = "DF"
    /// No address of the upstream is fit for use.
    case upstreamDown = "UH"
    /// The upstream's limits are reached, and the queue is full or took too long; or it refused the request by HTTP/2.
    case upstreamFull = "UO"
    /// External processing is set up otherwise than the route needs it.
    case processing = "EP"
    /// The system gave no socket or no local port for the upstream.
    case resources = "RE"
}
