public import Gateway
internal import HTTPWire
internal import Octets
internal import Proxy
internal import Transcoding

/// A request as it is written down to try a route: what a conversion takes from the head, and where it goes.
public struct SampleRequest: Hashable, Sendable {
    public struct Header: Hashable, Sendable {
        public var name: String
        public var value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Why it can't be a request to the route: one sentence in lower case.
    public struct Fault: Error, Hashable, Sendable {
        public var reason: String
    }

    /// What the route takes from the head, and what it forwards.
    public struct Values: Hashable, Sendable {
        /// The texts of the conversion's sources, by their indices.
        public var sources: [[UInt8]]
        /// Method and target as the upstream gets them, but for a query that the body becomes. What was put in by `${env:…}` or
        /// `${file:…}` stands in it: it is shown by `SettingsFile.redacted(target:ofRoute:)`.
        public var method: String
        public var target: String
        /// The fields that the route's rules set and add to the request, in their order. A value with `${env:…}` or
        /// `${file:…}` stands as the settings write it.
        public var headers: [Header]
        /// As above, of the response.
        public var responseHeaders: [Header]
    }

    /// Nil: the first one that the route takes, and POST where it takes any.
    public var method: String?
    /// Nil: the route's own path, in which each variable stands for its name: `/orders/id`.
    public var path: String?
    /// Without the question mark; nil: there is none.
    public var query: String?
    public var headers: [Header] = []
    /// The client's address.
    public var client = "127.0.0.1"

    public init() {}

    /// Throws when the text is no request that the route's path takes, or when a value of it is not UTF-8.
    public func values(for route: Route) throws(Fault) -> Values {
        let head = try head(for: route)
        let captures = try captures(of: head, on: route)
        let method = method(for: route)
        let path = path(for: route)
        let address = Array(client.utf8)
        var scratch = OutputBuffer()
        if route.rewrite?.makesDotSegment(of: head, captures: captures, scratch: &scratch) == true {
            throw Fault(reason: "the path would be a dot segment in the one that the route rewrites to")
        }
        func written(_ edits: HeaderEdits) throws(Fault) -> [Header] {
            var headers: [Header] = []
            for field in edits.set + edits.add {
                var value: [UInt8] = []
                field.value.appendFieldValue(from: head, captures: captures, client: address.span, to: &value)
                guard value.count <= HeaderEdits.valueLimit else {
                    throw Fault(
                        reason:
                            "the header \(field.name) would be longer than \(HeaderEdits.valueLimit) bytes, which is a 431"
                    )
                }
                guard HeadWriter.isFieldValue(value.span) else {
                    throw Fault(reason: "the header \(field.name) would hold a control character, which is a 400")
                }
                let isSecret = field.text.contains("${env:") || field.text.contains("${file:")
                // A sample has no certificate.
                let isNamed = isSecret || field.value.readsCertificate
                if isNamed || !value.isEmpty {
                    headers.append(Header(name: field.name, value: isNamed ? field.text : value.span.lossyString()))
                }
            }
            return headers
        }
        let headers = try written(route.options.headers.request)
        let responseHeaders = try written(route.options.headers.response)
        do throws(ConversionError) {
            var sources: [[UInt8]] = []
            var keepsQuery = true
            if let conversion = route.conversion {
                keepsQuery = !conversion.plan.readsQuery
                sources = try texts(of: conversion.sources, from: head, captures)
            }
            var target = OutputBuffer()
            if let rewrite = route.rewrite {
                try rewrite.appendTarget(
                    of: head, captures: captures, client: address.span, keepsQuery: keepsQuery, to: &target)
            } else {
                target.append(text: path + (keepsQuery ? query.map { "?\($0)" } ?? "" : ""))
            }
            return Values(
                sources: sources, method: method, target: target.span.lossyString(), headers: headers,
                responseHeaders: responseHeaders)
        } catch {
            throw Fault(reason: error.reason)
        }
    }

    /// What the route's rules do with a response of that status, Content-Type and body to this request; nil where none holds, so
    /// that it passes as it is. Throws as `values(for:)`, and where a rule refuses the response for its status.
    package func response(
        _ status: Int, type: String?, body: [UInt8], on route: Route
    ) throws(Fault) -> SampleResponse? {
        let head = try head(for: route)
        let captures = try captures(of: head, on: route)
        guard let rules = route.responseRules else { return nil }
        let field = type.map { "Content-Type: \($0)\r\n" } ?? ""
        let bytes = Array("HTTP/1.1 \(status) Sample\r\nContent-Length: 0\r\n\(field)\r\n".utf8)
        var response = MessageHead()
        var parser = ResponseParser()
        do {
            guard (200...599).contains(status), try parser.parse(bytes.span, into: &response) == bytes.count else {
                throw Fault(reason: "this is no response: its status is from 200 to 599, and its type has no line end")
            }
        } catch let error as WireError {
            throw Fault(reason: "this is no response: \(error.reason)")
        } catch let fault as Fault {
            throw fault
        } catch {
            throw Fault(reason: "this is no response")
        }
        guard status != 304, let rule = rules.choose(for: response, to: head).rule else { return nil }
        if rule.conversion?.acceptsStatus(status) == false {
            throw Fault(
                reason: "a response of \(status) is refused with 502: accept.status of its rule doesn't have it")
        }
        do throws(ConversionError) {
            let sources = try texts(of: rule.conversion?.sources ?? [], from: head, captures)
            return SampleResponse(body, response, rule: rule, sources: sources, on: route)
        } catch {
            throw Fault(reason: error.reason)
        }
    }

    private func path(for route: Route) -> String { path ?? Self.path(of: route.match.path) }

    /// The method of a request to the route that says none itself.
    public func method(for route: Route) -> String { method ?? route.match.methods.first ?? "POST" }

    /// Where the variables of the route's path stand in the path of `head`.
    private func captures(of head: borrowing MessageHead, on route: Route) throws(Fault) -> PathCaptures {
        let alone = Route(index: 0, name: route.name, match: RouteMatch(path: route.match.path), upstream: 0)
        guard case .found(let found) = RouteTable([alone]).find(head) else {
            throw Fault(reason: "the route's path \(route.match.path) doesn't take \(path(for: route))")
        }
        return found.captures
    }

    /// The texts that a conversion takes from the head.
    private func texts(
        of references: [SourceReference], from head: borrowing MessageHead, _ captures: PathCaptures
    ) throws(ConversionError) -> [[UInt8]] {
        let address = Array(client.utf8)
        var texts: [[UInt8]] = []
        for reference in references {
            var text: [UInt8] = []
            try reference.append(from: head, captures: captures, client: address.span, to: &text)
            texts.append(text)
        }
        return texts
    }

    private func head(for route: Route) throws(Fault) -> MessageHead {
        let coding = headers.first { $0.name.lowercased() == "content-encoding" }
        if let coding, coding.value.lowercased() != "identity" {
            throw Fault(reason: "the sample is a body without content coding: leave Content-Encoding out")
        }
        let (method, taken) = (method(for: route), route.match.methods)
        guard taken.isEmpty || taken.contains(method) else {
            throw Fault(reason: "the route takes \(taken.joined(separator: ", ")), not \(method)")
        }
        var text = "\(method) \(path(for: route))\(query.map { "?\($0)" } ?? "") HTTP/1.1\r\n"
        if !headers.contains(where: { $0.name.lowercased() == "host" }) { text += "Host: recast.example\r\n" }
        for header in headers { text += "\(header.name): \(header.value)\r\n" }
        let bytes = Array((text + "\r\n").utf8)
        var head = MessageHead()
        var parser = RequestParser()
        do {
            guard try parser.parse(bytes.span, into: &head) == bytes.count else {
                throw Fault(reason: "the method, a header or the query has a line end")
            }
        } catch let error as WireError {
            throw Fault(reason: "this is no request: \(error.reason)")
        } catch let fault as Fault {
            throw fault
        } catch {
            throw Fault(reason: "this is no request")
        }
        return head
    }

    /// A path that the pattern takes.
    private static func path(of pattern: PathPattern) -> String {
        pattern.text.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            if segment.hasPrefix("{") { return String(segment.dropFirst().dropLast()) }
            return segment.hasSuffix("*") ? segment.dropLast() + "any" : String(segment)
        }.joined(separator: "/")
    }
}
