"""A collector of spans: OTLP over HTTP as http.server hears it, read with OpenTelemetry's own messages."""

import http.server
import threading

from harness import DEADLINE


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A connection that Recast has given up is none."""


class Collector:
    """Takes requests at `port`, answers each by what `script` returns of its number, from 1 on, and keeps them.

    An answer is (status, fields, content); None closes the connection without one, "hang" waits for the end of the test."""

    def __init__(self, port=0, context=None):
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with collector.changed:
                    collector.posts.append((self.path, self.headers, body))
                    number = len(collector.posts)
                    answer = collector.script(number)
                    if isinstance(answer, tuple) and answer[0] == 200:
                        collector._take(body)
                    collector.changed.notify_all()
                if answer == "hang":
                    collector.over.wait(DEADLINE * 4)
                    answer = None
                if answer is None:
                    self.close_connection = True
                    return
                status, fields, content = answer
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.over = threading.Event()
        self.changed = threading.Condition()
        self.reset()
        self.server = Server(("127.0.0.1", port), Handler)
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        self.url = f"{'https' if context else 'http'}://localhost:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def reset(self, script=lambda number: (200, {}, b"")):
        with self.changed:
            self.posts, self.spans, self.resources, self.scopes = [], [], [], []
            self.script = script

    def _take(self, body):
        for resource in _read(body).resource_spans:
            self.resources.append(attributes(resource.resource))
            for scope in resource.scope_spans:
                self.scopes.append(scope.scope)
                self.spans.extend(scope.spans)

    def count_of_last(self):
        """The spans in the request that came last."""
        return sum(len(scope.spans) for resource in _read(self.posts[-1][2]).resource_spans for scope in resource.scope_spans)

    def wait_for_posts(self, count):
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.posts) >= count, DEADLINE):
                raise AssertionError(f"the collector saw {len(self.posts)} requests, not {count}")
            return self.posts[:count]

    def spans_of(self, request_id):
        """All spans of the trace in which the server span has that request id, which is waited for."""
        server = self.spans_with("recast.request_id", request_id)[-1]
        with self.changed:
            return [span for span in self.spans if span.trace_id == server.trace_id]

    def spans_with(self, name, value):
        """All spans that have an attribute with that value, of which the first is waited for."""
        def found():
            return [span for span in self.spans if attributes(span).get(name) == value]

        with self.changed:
            if not self.changed.wait_for(found, DEADLINE):
                raise AssertionError(f"no span with {name} {value} among {[span.name for span in self.spans]}")
            return found()

    def stop(self):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()


def _read(body):
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    return ExportTraceServiceRequest.FromString(body)


def attributes(message):
    """Its attributes by name; each name occurs once."""
    values = {}
    for item in message.attributes:
        if item.key in values:
            raise AssertionError(f"{item.key} twice")
        values[item.key] = getattr(item.value, item.value.WhichOneof("value"))
    return values
