"""gRPC through Recast: grpcio's client and its server, with Recast between them, on routes that would convert anything else."""

import concurrent.futures
import os
import threading
import unittest

import grpc

from harness import DEADLINE, FORM, JSON, Client, ProxyTestCase, Recast, free_port
from http2_client import CANCEL, INTERNAL_ERROR, HTTP2Client
from http2_upstream import HTTP2UpstreamTestCase
from tls_support import pair, path

MIB = 1 << 20
SERVICE = "/test.Service/"
# The message of google.rpc.Status, about; for Recast it is any octets.
DETAILS = b"\x08\x03\x12\x04nope\x1a\x05\x00\xff\x80ab"
MINE = ("x-text", "x-octets-bin", "x-twice")  # metadata of the tests, beside that which Recast adds
OPTIONS = [("grpc.max_receive_message_length", 16 * MIB), ("grpc.max_send_message_length", 16 * MIB), ("grpc.enable_http_proxy", 0)]


class Service(grpc.GenericRpcHandler):
    """Messages are octets, so that nothing has to be generated."""

    def __init__(self):
        self.begun, self.cancelled = threading.Event(), threading.Event()

    def service(self, details):
        name = details.method.removeprefix(SERVICE)
        kinds = {"unary": grpc.unary_unary_rpc_method_handler, "down": grpc.unary_stream_rpc_method_handler,
                 "up": grpc.stream_unary_rpc_method_handler, "both": grpc.stream_stream_rpc_method_handler}
        kind, _, what = name.partition("/")
        return kinds[kind](getattr(self, f"{kind}_{what or 'echo'}")) if kind in kinds else None

    def unary_echo(self, message, context):
        sent = [(key, value) for key, value in context.invocation_metadata() if key in MINE]
        context.send_initial_metadata([(key.replace("x-", "x-initial-"), value) for key, value in sent])
        context.set_trailing_metadata([(key.replace("x-", "x-trailing-"), value) for key, value in sent])
        return message

    def unary_fail(self, message, context):
        context.set_trailing_metadata([("grpc-status-details-bin", DETAILS)])
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "näh, 100 % not\nso")

    def unary_wait(self, message, context):
        if not context.add_callback(self.cancelled.set):
            self.cancelled.set()
        self.begun.set()
        self.cancelled.wait(DEADLINE)
        return b""

    def unary_deadline(self, message, context):
        return str(context.time_remaining()).encode()

    def unary_compressed(self, message, context):
        context.set_compression(grpc.Compression.Gzip)
        return message * 1000

    def down_echo(self, message, context):
        for number in range(int(message)):
            yield b"%d" % number

    def down_fail(self, message, context):
        yield b"first"
        context.abort(grpc.StatusCode.DATA_LOSS, "half")

    def up_echo(self, messages, context):
        return b"%d" % sum(len(message) for message in messages)

    def both_echo(self, messages, context):
        for message in messages:
            yield message


def serve(credentials=None):
    """A service and its port; the server is to be stopped."""
    service = Service()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(16), options=[*OPTIONS, ("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers([service])
    address = f"127.0.0.1:{free_port()}"
    port = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    server.start()
    return server, service, port


class CallTests(unittest.TestCase):
    """By h2c on both sides, on a plain route."""

    upstream_tls = downstream_tls = False
    route = "{ name: all, match: '/*', upstream: app }"

    @classmethod
    def setUpClass(cls):
        credentials = None
        if cls.upstream_tls:
            with open(path("server.key"), "rb") as key, open(path("server.pem"), "rb") as certificate:
                credentials = grpc.ssl_server_credentials([(key.read(), certificate.read())])
        cls.server, cls.service, port = serve(credentials)
        cls.addClassCleanup(lambda: cls.server.stop(None).wait(DEADLINE))
        tls = f", tls: {{ ca: {path('ca.pem')} }}" if cls.upstream_tls else ""
        host = "localhost" if cls.upstream_tls else "127.0.0.1"
        secure = free_port()
        listeners = [f"{{ address: '127.0.0.1:{secure}', tls: {{ {pair('server')} }} }}"] if cls.downstream_tls else []
        cls.recast = Recast(f"  - {cls.route}\n", {"app": f"{{ http: 2, address: '{host}:{port}'{tls} }}"}, listeners=listeners,
                            settings="defaults: { limits: { body: 16MiB } }\n")
        cls.addClassCleanup(cls.recast.remove)
        cls.addClassCleanup(cls.stop)
        if cls.downstream_tls:
            with open(path("ca.pem"), "rb") as ca:
                trusted = grpc.ssl_channel_credentials(ca.read())
            cls.channel = grpc.secure_channel(f"127.0.0.1:{secure}", trusted,
                                              [*OPTIONS, ("grpc.ssl_target_name_override", "a.example")])
        else:
            cls.channel = grpc.insecure_channel(f"127.0.0.1:{cls.recast.port}", OPTIONS)
        cls.addClassCleanup(cls.channel.close)

    @classmethod
    def stop(cls):
        code = cls.recast.stop()
        if code != 0:
            raise AssertionError(f"recast ended with {code}: {cls.recast.error_text()}")

    def setUp(self):
        self.service.begun.clear()
        self.service.cancelled.clear()

    def unary(self, name="unary"):
        return self.channel.unary_unary(SERVICE + name)

    def test_a_unary_call(self):
        for message in (b"", b"x", os.urandom(100_000)):
            self.assertEqual(self.unary()(message, timeout=DEADLINE), message)

    def test_large_messages(self):
        message = os.urandom(8 * MIB)
        self.assertEqual(self.unary()(message, timeout=DEADLINE), message)

    def test_many_calls_at_once(self):
        calls = [self.unary().future(b"%d" % number, timeout=DEADLINE) for number in range(200)]
        self.assertEqual([call.result() for call in calls], [b"%d" % number for number in range(200)])

    def test_a_stream_from_the_server(self):
        answers = self.channel.unary_stream(SERVICE + "down")(b"1000", timeout=DEADLINE)
        self.assertEqual(list(answers), [b"%d" % number for number in range(1000)])
        self.assertEqual(list(self.channel.unary_stream(SERVICE + "down")(b"0", timeout=DEADLINE)), [])

    def test_a_stream_from_the_client(self):
        for count, size in ((0, 0), (1000, 10), (100, 100_000)):
            call = self.channel.stream_unary(SERVICE + "up")
            self.assertEqual(call((bytes(size) for _ in range(count)), timeout=DEADLINE), b"%d" % (count * size))

    def test_a_thousand_messages_each_way_one_behind_the_other(self):
        """The next one is sent when the answer to the last has come: nothing may wait for the stream's end."""
        turn = threading.Semaphore(1)

        def messages():
            for number in range(1000):
                turn.acquire()
                yield b"%d" % number

        seen = []
        for answer in self.channel.stream_stream(SERVICE + "both")(messages(), timeout=DEADLINE):
            seen.append(answer)
            turn.release()
        self.assertEqual(seen, [b"%d" % number for number in range(1000)])

    def test_both_ways_at_once(self):
        sent = [os.urandom(10_000) for _ in range(300)]
        self.assertEqual(list(self.channel.stream_stream(SERVICE + "both")(iter(sent), timeout=DEADLINE)), sent)

    def test_many_small_messages(self):
        """Hundreds of them share a frame, and whoever reads them gives windows back for each."""
        for size in (0, 1, 20):
            sent = [os.urandom(size) for _ in range(10_000)]
            beside = self.unary("unary/wait").future(b"", timeout=DEADLINE * 2)
            self.assertEqual(list(self.channel.stream_stream(SERVICE + "both")(iter(sent), timeout=DEADLINE * 2)), sent)
            self.service.cancelled.set()
            self.assertEqual(beside.result(), b"")
            self.service.cancelled.clear()

    def test_an_error_with_details(self):
        with self.assertRaises(grpc.RpcError) as raised:
            self.unary("unary/fail")(b"x", timeout=DEADLINE)
        error = raised.exception
        self.assertEqual((error.code(), error.details()), (grpc.StatusCode.INVALID_ARGUMENT, "näh, 100 % not\nso"))
        self.assertEqual(dict(error.trailing_metadata())["grpc-status-details-bin"], DETAILS)

    def test_an_error_behind_a_message(self):
        answers = self.channel.unary_stream(SERVICE + "down/fail")(b"x", timeout=DEADLINE)
        self.assertEqual(next(answers), b"first")
        with self.assertRaises(grpc.RpcError):
            next(answers)
        self.assertEqual((answers.code(), answers.details()), (grpc.StatusCode.DATA_LOSS, "half"))

    def test_an_unknown_method(self):
        """Its answer has nothing but trailers."""
        with self.assertRaises(grpc.RpcError) as raised:
            self.unary("nothing")(b"x", timeout=DEADLINE)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.UNIMPLEMENTED)

    def test_metadata_both_ways(self):
        metadata = [("x-text", "a, b"), ("x-octets-bin", bytes(range(256))), ("x-twice", "1"), ("x-twice", "2")]
        answer, call = self.unary().with_call(b"x", metadata=metadata, timeout=DEADLINE)
        self.assertEqual(answer, b"x")
        for kind, found in (("initial", call.initial_metadata()), ("trailing", call.trailing_metadata())):
            found = [(key, value) for key, value in found if key.startswith("x-" + kind)]
            self.assertEqual(sorted(found), sorted((key.replace("x-", f"x-{kind}-"), value) for key, value in metadata))

    def test_the_deadline_is_told_and_kept(self):
        # grpc-timeout is rounded up.
        self.assertLess(float(self.unary("unary/deadline")(b"", timeout=20)), 22)
        with self.assertRaises(grpc.RpcError) as raised:
            self.unary("unary/wait")(b"", timeout=1)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertTrue(self.service.cancelled.wait(DEADLINE), "the server isn't told")

    def test_a_call_that_is_cancelled(self):
        call = self.unary("unary/wait").future(b"", timeout=DEADLINE)
        self.assertTrue(self.service.begun.wait(DEADLINE))
        call.cancel()
        self.assertTrue(self.service.cancelled.wait(DEADLINE), "the server isn't told")
        self.assertEqual(self.unary()(b"next", timeout=DEADLINE), b"next")

    def test_compression(self):
        """It is the messages' and no content coding: nobody touches it."""
        self.assertEqual(self.unary("unary/compressed")(b"abc", compression=grpc.Compression.Gzip, timeout=DEADLINE), b"abc" * 1000)


class TLSCallTests(CallTests):
    """By TLS on both sides."""

    upstream_tls = downstream_tls = True


class ConvertingRouteCallTests(CallTests):
    """On a route that would convert both messages, and compress: calls pass untouched."""

    route = """
    name: all
    match: '/*'
    upstream: app
    request: form -> json
    response: json -> form
    compress: { types: ["*/*"], min: 1B }
"""


class QuietCallTests(unittest.TestCase):
    """Calls whose client has nothing to say for a while."""

    def setUp(self):
        server, self.service, port = serve()
        self.addCleanup(lambda: server.stop(None).wait(DEADLINE))
        self.recast = Recast("  - { name: quiet, match: '/*/up', upstream: app, timeouts: { body_gap: 200ms, gap: 20s },"
                             " min_rate: { request: 1MiB/s, response: 1MiB/s, grace: 200ms } }\n"
                             "  - { name: brief, match: '/*/up/echo', upstream: app, timeouts: { body_gap: 20s, gap: 300ms } }\n"
                             "  - { name: all, match: '/*', upstream: app }\n", {"app": f"{{ http: 2, address: '127.0.0.1:{port}' }}"})
        self.addCleanup(self.recast.remove)
        self.addCleanup(self.recast.stop)
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.recast.port}", OPTIONS)
        self.addCleanup(self.channel.close)

    def wait_a_second(self):
        """For the deadline of another call."""
        with self.assertRaises(grpc.RpcError) as raised:
            self.channel.unary_unary(SERVICE + "unary/wait")(b"", timeout=1)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertTrue(self.service.cancelled.wait(DEADLINE))
        self.service.cancelled.clear()

    def test_neither_a_rate_nor_the_gap_of_bodies_holds(self):
        def messages():
            for _ in range(3):
                yield b"1234"
                self.wait_a_second()

        self.assertEqual(self.channel.stream_unary(SERVICE + "up")(messages(), timeout=DEADLINE), b"12")

    def test_a_call_on_which_nobody_speaks_is_cut(self):
        over = threading.Event()

        def messages():
            yield b"1234"
            over.wait(DEADLINE)

        with self.assertRaises(grpc.RpcError) as raised:
            self.channel.stream_unary(SERVICE + "up/echo")(messages(), timeout=DEADLINE)
        over.set()
        self.assertIn("body_timeout", raised.exception.details())


class LongSilenceTests(unittest.TestCase):
    """A call on which nobody speaks for long, as its route lets it."""

    def test_the_server_is_not_asked_too_often_whether_it_is_there(self):
        """gRPC's servers end a connection whose client asks more often than every five minutes."""
        server, service, port = serve()
        self.addCleanup(lambda: server.stop(None).wait(DEADLINE))
        recast = Recast("  - { name: all, match: '/*', upstream: app }\n", {"app": f"{{ http: 2, address: '127.0.0.1:{port}' }}"},
                        settings="http2: { ping: 300ms }\n")
        self.addCleanup(recast.remove)
        self.addCleanup(recast.stop)
        over = threading.Event()
        self.addCleanup(over.set)

        def messages():
            yield b"first"
            over.wait(DEADLINE)

        with grpc.insecure_channel(f"127.0.0.1:{recast.port}", OPTIONS) as channel:
            answers = channel.stream_stream(SERVICE + "both")(messages(), timeout=DEADLINE)
            self.assertEqual(next(answers), b"first")
            # Its deadline is the time that passes.
            with self.assertRaises(grpc.RpcError) as raised:
                channel.unary_unary(SERVICE + "unary/wait")(b"", timeout=4)
            self.assertEqual(raised.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
            self.assertTrue(answers.is_active(), "the call has ended")
            over.set()
            self.assertEqual(list(answers), [])
            self.assertEqual(answers.code(), grpc.StatusCode.OK)


class DownTests(unittest.TestCase):
    def test_an_upstream_that_is_down(self):
        recast = Recast("  - { name: all, match: '/*', upstream: app }\n", {"app": f"{{ http: 2, address: '127.0.0.1:{free_port()}' }}"})
        self.addCleanup(recast.remove)
        self.addCleanup(recast.stop)
        with grpc.insecure_channel(f"127.0.0.1:{recast.port}", OPTIONS) as channel:
            with self.assertRaises(grpc.RpcError) as raised:
                channel.unary_unary(SERVICE + "unary")(b"x", timeout=DEADLINE)
            self.assertEqual(raised.exception.code(), grpc.StatusCode.UNAVAILABLE)

    def test_an_upstream_that_stops_and_comes_back(self):
        server, _, port = serve()
        self.addCleanup(lambda: server.stop(None))
        recast = Recast("  - { name: all, match: '/*', upstream: app }\n", {"app": f"{{ http: 2, address: '127.0.0.1:{port}' }}"})
        self.addCleanup(recast.remove)
        self.addCleanup(recast.stop)
        with grpc.insecure_channel(f"127.0.0.1:{recast.port}", OPTIONS) as channel:
            call = channel.unary_unary(SERVICE + "unary")
            self.assertEqual(call(b"x", timeout=DEADLINE), b"x")
            server.stop(None).wait(DEADLINE)
            with self.assertRaises(grpc.RpcError) as raised:
                call(b"x", timeout=DEADLINE)
            self.assertEqual(raised.exception.code(), grpc.StatusCode.UNAVAILABLE)
            again = grpc.server(concurrent.futures.ThreadPoolExecutor(2), options=[("grpc.so_reuseport", 0)])
            again.add_generic_rpc_handlers([Service()])
            again.add_insecure_port(f"127.0.0.1:{port}")
            again.start()
            self.addCleanup(lambda: again.stop(None))
            self.assertEqual(call(b"x", timeout=DEADLINE), b"x")


class CutTests(HTTP2UpstreamTestCase):
    """Calls that can't go on behind their first message: the client hears why, as from a server, and not by a reset alone."""

    routes = """
  - { name: brief, match: "/a.S/brief", upstream: app, timeouts: { gap: 500ms } }
  - { name: small, match: "/a.S/small", upstream: app, limits: { body: 1KiB } }
  - { name: timed, match: "/a.S/timed", upstream: app, timeouts: { request: 500ms } }
  - { name: plain, match: "/*", upstream: app }
"""

    def serve(self, then, fields=(("content-type", "application/grpc"),)):
        def script(exchange):
            exchange.respond(200, fields)
            exchange.content(b"\0\0\0\0\3abc")
            then(exchange)

        self.upstream.script = script

    def outcome(self, method, then, behind=()):
        """How a call ends of which the client has said one message, and the server has answered it; `then` is what the server does, and
        `behind` what the client says."""
        answered, over = threading.Event(), threading.Event()
        self.addCleanup(over.set)
        self.addCleanup(answered.set)
        self.serve(lambda exchange: (answered.wait(DEADLINE), then(exchange)))

        def messages():
            yield b"first"
            answered.wait(DEADLINE)
            yield from behind
            over.wait(DEADLINE)

        with grpc.insecure_channel(f"127.0.0.1:{self.recast.port}", OPTIONS) as channel:
            name = f"/a.S/{method}"
            answers = channel.stream_stream(name)(messages(), timeout=DEADLINE, metadata=[("x-request-id", self.id())])
            self.assertEqual(next(answers), b"abc")
            answered.set()
            with self.assertRaises(grpc.RpcError):
                next(answers)
            # The connection goes on.
            self.serve(lambda exchange: exchange.trailers([("grpc-status", "0")]))
            self.assertEqual(channel.unary_unary("/a.S/next")(b"", timeout=DEADLINE), b"abc")
        over.set()
        entry = self.recast.log_entry(self.id())
        return answers.code(), answers.details().split(":")[0], entry["status"], entry["flags"]

    def test_the_upstream_s_connection_ends(self):
        self.assertEqual(self.outcome("x", lambda exchange: exchange.leave()),
                         (grpc.StatusCode.UNAVAILABLE, "upstream_closed", 200, "UR"))

    def test_it_ends_within_a_message(self):
        def then(exchange):
            exchange.content(b"\0\0\0\0\5ab")
            exchange.leave()

        self.assertEqual(self.outcome("x", then), (grpc.StatusCode.UNAVAILABLE, "upstream_closed", 200, "UR"))

    def test_nobody_speaks_for_too_long(self):
        cut = []
        self.assertEqual(self.outcome("brief", lambda exchange: cut.append(exchange.stream.wait_for_cut())),
                         (grpc.StatusCode.UNAVAILABLE, "upstream_timeout", 200, "UT"))
        self.assertEqual(cut, [CANCEL])

    def test_the_client_says_more_than_its_route_takes(self):
        self.assertEqual(self.outcome("small", lambda exchange: exchange.stream.wait_for_cut(), [bytes(2000)]),
                         (grpc.StatusCode.RESOURCE_EXHAUSTED, "limit_body", 200, "BL"))

    def test_the_call_takes_longer_than_its_route_allows(self):
        """Whether its client has said all or not."""
        self.assertEqual(self.outcome("timed", lambda exchange: exchange.stream.wait_for_cut()),
                         (grpc.StatusCode.UNKNOWN, "request_timeout", 200, "CT"))
        self.serve(lambda exchange: exchange.stream.wait_for_cut())
        with grpc.insecure_channel(f"127.0.0.1:{self.recast.port}", OPTIONS) as channel:
            answers = channel.unary_stream("/a.S/timed")(b"", timeout=DEADLINE, metadata=[("x-request-id", "said-all")])
            with self.assertRaises(grpc.RpcError):
                list(answers)
        self.assertEqual((answers.code(), answers.details().split(":")[0]), (grpc.StatusCode.UNAVAILABLE, "request_timeout"))
        entry = self.recast.log_entry("said-all")
        self.assertEqual((entry["flags"], entry["code"]), ("UT", "request_timeout"))

    def test_the_server_s_own_reset_stays_one(self):
        self.assertEqual(self.outcome("x", lambda exchange: exchange.abort(INTERNAL_ERROR))[0], grpc.StatusCode.INTERNAL)

    def test_what_has_no_such_trailers_is_reset(self):
        """gRPC-web has them among its content; what isn't gRPC's, or said its length, has none."""
        for fields in ([("content-type", "application/grpc-web+proto")], [("content-type", "text/plain")], [],
                       [("content-type", "application/grpc"), ("content-length", "100")]):
            with self.subTest(fields), HTTP2Client(self.recast.port) as client:
                self.serve(lambda exchange: exchange.leave(), fields)
                number = client.request("POST", "/x", fields=[("content-type", "application/grpc"), ("te", "trailers")], end=False)
                client.content(number, bytes(5))
                record = client.over(number)
                self.assertEqual((record.status, record.reset), (200, INTERNAL_ERROR))


class WireTests(HTTP2UpstreamTestCase):
    """What the types of gRPC say, whoever speaks it."""

    routes = """
  - name: converts
    match: "/convert/*"
    upstream: app
    request: form -> json
    response: json -> form
    compress: { types: ["*/*"], min: 1B }
  - { name: raw, match: "/raw", upstream: app, request: raw -> multipart }
  - { name: json, match: "/json", upstream: app, request: json -> form }
  - { name: xml, match: "/xml", upstream: app, request: xml -> json }
  - { name: any, match: "/any", upstream: app, request: { decode: { as: json }, accept: { type: "*/*" }, encode: { as: form } } }
  - { name: small, match: "/small", upstream: app, limits: { body: 1KiB } }
  - { name: plain, match: "/*", upstream: app }
"""

    def test_trailers_reach_clients_of_http1(self):
        """However the call's content is framed, and whatever the route lists."""
        def script(exchange):
            exchange.read_body()
            exchange.respond(200, [("content-type", "application/grpc")])
            exchange.content(b"abc")
            exchange.trailers([("grpc-status", "0"), ("x-own", "1")])

        for target in ("/convert/x", "/plain"):
            for framing, content in (("Content-Length: 5", bytes(5)),
                                     ("Transfer-Encoding: chunked", b"5\r\n" + bytes(5) + b"\r\n0\r\n\r\n")):
                with self.subTest(target, framing=framing), Client(self.recast.port) as client:
                    self.upstream.reset()
                    self.upstream.script = script
                    client.request("POST", target, None, "application/grpc", ["TE: trailers", framing])
                    client.send(content)
                    self.assertEqual(client.reader.head()[0].split()[1], "200")
                    rest = client.reader.until(b"\r\n\r\n")
                    self.assertIn(b"\r\n0\r\ngrpc-status: 0\r\nx-own: 1", rest.lower())

    def test_refusals_over_http1(self):
        """As over HTTP/2: a head alone with the status among its fields, which gRPC-web's clients read, too."""
        for media_type, fields in (("application/grpc", ["TE: trailers"]), ("application/grpc-web+proto", []),
                                   ("application/grpc-web-text", [])):
            for framing in ("Content-Length: 2000", "Transfer-Encoding: chunked"):
                with self.subTest(media_type, framing=framing), Client(self.recast.port) as client:
                    client.request("POST", "/small", None, media_type, [*fields, framing])
                    client.send(bytes(2000) if framing.endswith("2000") else b"7d0\r\n" + bytes(2000) + b"\r\n0\r\n\r\n")
                    response = client.response()
                    self.assertEqual((response.status, response.fields.get("grpc-status"), response.body), (200, "8", b""))
                    self.assertEqual(response.fields.get("content-type"), media_type)
                    self.assertEqual(response.fields.all("cache-control"), ["no-store"])
                    self.assertIn("limit_body", response.fields.get("grpc-message"))
                with self.subTest(media_type, framing=framing, method="GET"), Client(self.recast.port) as client:
                    client.request("GET", "/small", None, media_type, [*fields, framing])
                    client.send(bytes(2000) if framing.endswith("2000") else b"7d0\r\n" + bytes(2000) + b"\r\n0\r\n\r\n")
                    self.assertEqual(client.response().status, 413)
        self.assertEqual({self.send("POST", "/small", bytes(2000), JSON).status}, {413})

    def test_what_is_a_call_over_http1(self):
        """The response to one is never converted, whatever its type is."""
        def script(exchange):
            exchange.read_body()
            exchange.respond(200, [("content-type", JSON)])
            exchange.content(b'{"a":"1"}', end=True)

        for method, field, media_type in (("POST", "TE: trailers", JSON), ("POST", "TE: gzip, trailers", JSON), ("POST", "TE: gzip", FORM),
                                          ("POST", "X-A: b", FORM), ("GET", "TE: trailers", FORM)):
            with self.subTest(method, field=field):
                self.upstream.script = script
                response = self.send(method, "/convert/x", bytes(5), "application/grpc", [field])
                self.assertEqual((response.status, response.fields.get("content-type")), (200, media_type))

    def test_grpc_web_over_http1_passes_untouched(self):
        body = bytes([0, 0, 0, 0, 3]) + b"abc" + b"\x80\x00\x00\x00\x0fgrpc-status:0\r\n"
        for media_type in ("application/grpc-web", "application/grpc-web+proto", "application/grpc-web-text", "application/grpc"):
            for target in ("/convert/x", "/plain"):
                with self.subTest(media_type, target=target):
                    self.upstream.reset()
                    self.upstream.script = lambda exchange, media_type=media_type: (
                        exchange.read_body(), exchange.answer(body=body, fields=(f"Content-Type: {media_type}",)))
                    response = self.send("POST", target, body, media_type, ["Accept-Encoding: gzip"])
                    self.assertEqual((response.status, response.body), (200, body))
                    self.assertEqual(response.fields.get("content-type"), media_type)
                    self.assertNotIn("content-encoding", response.fields)
                    received = self.upstream.one()
                    self.assertEqual((received.body, received.fields.get("content-type")), (body, media_type))

    def test_grpc_over_http1_passes_where_its_type_would_be_read(self):
        """With a Content-Length and without TE only the type tells that it is a call."""
        body = bytes([0, 0, 0, 0, 3]) + b"abc"
        for target, media_type in (("/raw", "application/grpc"), ("/raw", "application/grpc-web+proto"), ("/json", "application/grpc+json"),
                                   ("/json", "application/grpc-web+json"), ("/xml", "application/grpc+xml"), ("/any", "application/grpc")):
            with self.subTest(target, media_type=media_type):
                self.upstream.reset()
                self.assertEqual(self.send("POST", target, body, media_type).status, 200)
                received = self.upstream.one()
                self.assertEqual((received.body, received.fields.get("content-type")), (body, media_type))
        # Neither another method nor another type is one.
        self.upstream.reset()
        self.assertEqual(self.send("PUT", "/raw", body, "application/grpc").status, 200)
        self.assertEqual(self.upstream.one().media_type, "multipart/form-data")

    def test_what_only_begins_like_it_is_converted(self):
        response = self.send("POST", "/convert/x", b"{}", "application/grpcx")
        self.assert_problem(response, 415)

    def test_other_requests_on_the_route_are_converted(self):
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.answer(body=b'{"a":"1"}', fields=(f"Content-Type: {JSON}",)))
        response = self.send("POST", "/convert/x", b"b=2", "application/x-www-form-urlencoded")
        self.assertEqual(response.body, b"a=1")
        self.assertEqual(self.upstream.one().json, {"b": "2"})


class HTTP1UpstreamTests(ProxyTestCase):
    """grpc-web to an upstream of HTTP/1, which knows it as any other content."""

    routes = '  - { name: converts, match: "/*", upstream: app, request: form -> json }\n'

    def test_it_passes_untouched(self):
        body = bytes([0, 0, 0, 0, 3]) + b"abc"
        with Client(self.recast.port) as client:
            client.request("POST", "/x", body, "application/grpc-web+proto")
            self.assertEqual(client.response().status, 200)
        self.assertEqual(self.upstream.one().body, body)
