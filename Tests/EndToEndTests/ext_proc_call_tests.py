"""Recast's gRPC server below ext_proc's meaning: calls that are broken in every way, health checks, many calls on one connection,
clients that stop, the end of a process, reloads, TLS; and gRPC's own library as a client."""

import json
import os
import signal
import struct
import threading
import unittest

from admin import Admin
from ext_proc_client import BUFFERED, FULL_DUPLEX, GRPC, HEALTH, NONE, PARTIAL, PROCESS, STREAMED, Ended, ExtProcTestCase, Processing, Refused, pseudo
from ext_proc_messages import decode, encode, header_map, tagged, varint
from grpc_client import FAILED_PRECONDITION, INVALID_ARGUMENT, NOT_FOUND, OK, RESOURCE_EXHAUSTED, UNIMPLEMENTED, Call, framed
from harness import DEADLINE, FORM, JSON, Closed, Recast, Upstream, free_port, memory_of
from http2_client import CANCEL, MAX_CONCURRENT_STREAMS, HTTP2Client, reset, window_update
from lifecycle_support import reload, wait_until
from raw_client import Client
from tls_support import certificates, pair, path

ROUTES = """
  - { name: form-json, match: /form-json, upstream: app, request: form -> json }
  - { name: json-form, match: /json-form, upstream: app, request: json -> form }
  - { name: parts, match: /parts, upstream: app, request: multipart -> multipart, limits: { body: 1GiB } }
  - { name: plain, match: "/plain*", upstream: app, limits: { body: 1GiB } }
  - { name: answer, match: /answer, upstream: app, response: json -> form }
  - { name: compressed, match: /compressed, upstream: app, compress: { plain: true } }
"""
SERVING, NOT_SERVING = 1, 2
MIB = 1 << 20
BEGIN_PART = b'--x\r\nContent-Disposition: form-data; name="a"; filename="f"\r\n\r\n'


def health(client, service=""):
    """(what Check says, how the call ended)."""
    call = Call(client, HEALTH + "Check")
    call.send(encode("HealthCheckRequest", {"service": service}), end=True)
    message = call.next()
    return message and decode("HealthCheckResponse", message).get("status", 0), call.status()[0]


class CallTestCase(ExtProcTestCase):
    routes = ROUTES

    def assert_alive(self):
        self.assertIsNone(self.recast.process.poll(), self.recast.error_text())
        self.assertEqual(self.ask("POST", "/form-json", b"a=1", FORM).json, {"a": "1"})

    def call(self, path=PROCESS, **options):
        return Call(self.connect(), path, **options)



class BrokenCallTests(CallTestCase):
    HEADERS = encode("ProcessingRequest", {"request_headers": {"headers": header_map(pseudo("POST", "/form-json", FORM))},
                                           "protocol_config": {"request_body_mode": 4, "response_body_mode": 4}})

    def test_methods_and_services_that_there_are_not(self):
        for method in ("/envoy.service.ext_proc.v3.ExternalProcessor/Other", "/no.Service/Process", "/", "/a", HEALTH + "List2",
                     PROCESS + "/", PROCESS.lower()):
            with self.subTest(method):
                call = self.call(method)
                call.half_close()
                self.assertEqual(call.status()[0], UNIMPLEMENTED)
        self.assert_alive()

    def test_what_is_no_call_gets_an_answer_of_http(self):
        """Of the content types 415 is gRPC's own rule."""
        for options, status in (({"content_type": "application/json"}, 415), ({"content_type": None}, 415),
                                ({"content_type": "application/grpc-web"}, 415)):
            with self.subTest(options):
                call = self.call(**options)
                call.half_close()
                self.assertEqual(call.client.over(call.stream).status, status)
        call = Call(self.connect(), PROCESS, method="GET")
        call.half_close()
        self.assertIn(call.client.over(call.stream).status, (404, 405, 415))
        self.assert_alive()

    def test_content_types_of_grpc(self):
        for content_type in ("application/grpc", "application/grpc+proto", "application/grpc; a=b"):
            call = self.call(content_type=content_type)
            call.send(self.HEADERS)
            call.half_close()
            self.assertEqual(call.client.over(call.stream).status, 200)

    def test_a_client_of_http1_is_told_to_go(self):
        with Client(self.port) as client:
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            try:
                self.assertGreaterEqual(client.response().status, 400)
            except (Closed, ValueError, IndexError):
                pass  # what it gets, if anything, isn't for it
            client.reader.rest()
        self.assert_alive()

    def test_garbage_is_an_invalid_argument(self):
        bad = [b"\xff" * 20, b"\x12\x05ab", b"\x12", b"\x13", b"\x14", tagged(2, 2, b"\x0a\x02\x0a\x7f"), b"\x00\x01", tagged(2, 0, varint(1)),
               tagged(4, 0, varint(1)), tagged(2, 2, tagged(1, 0, varint(3))), tagged(2, 2, tagged(3, 2, b"x")),
               varint(2 << 3 | 2) + b"\xff" * 9 + b"\x01", varint(2 << 3 | 2) + b"\xff" * 11]
        for message in bad:
            with self.subTest(message[:30]):
                call = self.call()
                call.send(message)
                self.assertIn(call.status()[0], (INVALID_ARGUMENT, UNIMPLEMENTED))
        self.assert_alive()

    def test_garbage_behind_headers(self):
        messages = (b"\x22\x05ab", b"\xff" * 12, tagged(4, 2, tagged(1, 0, varint(1))), tagged(4, 2, b"\x0a\xff\xff\xff\x7f"))
        for number, message in enumerate(messages):
            with self.subTest(message):
                call = Processing(self.connect())
                call.headers("request", pseudo("POST", "/form-json", FORM, [("x-request-id", f"garbage-{number}")]))
                call.send(message)
                self.assertEqual(call.status()[0], INVALID_ARGUMENT)
                # What the data plane's client gets then, where nothing else is set.
                entry = self.recast.log_entry(f"garbage-{number}")
                self.assertEqual((entry["status"], entry["flags"], entry["route"]), (500, "BR", "form-json"))
        self.assert_alive()

    def test_fields_that_nobody_knows_are_skipped(self):
        """A newer Envoy may send more, in any wire type, groups included."""
        more = (tagged(100, 0, varint(1 << 63)) + tagged(101, 2, b"\xff\xff") + tagged(102, 1, bytes(8)) + tagged(103, 5, bytes(4))
                + varint(104 << 3 | 3) + tagged(1, 0, varint(1)) + varint(104 << 3 | 4)
                + tagged(8, 2, tagged(1, 2, b"\x0a\x01a")) + tagged(9, 2, tagged(1, 2, b"k") + tagged(2, 2, b"")))
        inner = encode("HttpHeaders", {"headers": header_map(pseudo("POST", "/form-json", FORM))}) + more
        for parts in ((more, b""), (b"", more), (more, more)):
            call = Processing(self.connect())
            call.send(parts[0] + tagged(2, 2, inner) + parts[1] + tagged(11, 2, b"\x08\x04\x10\x04"))
            call.is_first = False
            call.send(more + tagged(4, 2, more + tagged(1, 2, b"a=1") + more + tagged(2, 0, b"\x01")) + more)
            message = call.take_streamed("request", call.take_headers("request", []))
            self.assertEqual(message.json, {"a": "1"})

    def test_a_message_of_nothing(self):
        call = self.call()
        call.send(b"")
        self.assertNotEqual(call.status()[0], OK)
        self.assert_alive()

    def test_a_frame_that_is_cut(self):
        whole = framed(self.HEADERS)
        for count in (1, 4, 5, 6, len(whole) - 1):
            with self.subTest(count):
                call = self.call()
                call.send_raw(whole[:count], end=True)
                self.assertNotEqual(call.status()[0], OK)
        self.assert_alive()

    def test_it_doesnt_matter_how_frames_are_cut(self):
        body = encode("ProcessingRequest", {"request_body": {"body": b"a=1&b=2", "end_of_stream": True}})
        data = framed(self.HEADERS) + framed(body)
        for size in (1, 3, len(data)):
            call = Processing(self.connect())
            call.client.content(call.stream, data, end=False, size=size)
            message = call.take_streamed("request", call.take_headers("request", []))
            self.assertEqual(message.json, {"a": "1", "b": "2"})

    def test_compression_is_not_implemented(self):
        for flag in (1, 2, 255):
            with self.subTest(flag):
                call = self.call()
                call.send(self.HEADERS, flag=flag)
                self.assertEqual(call.status()[0], UNIMPLEMENTED)

    def test_a_length_that_nobody_takes(self):
        """It is refused by its prefix: nothing waits for two gigabytes."""
        for length in ((1 << 32) - 1, (1 << 31) - 1, 64 * MIB):
            with self.subTest(length):
                call = self.call()
                # A head is what can't stream.
                call.send_raw(struct.pack("!BI", 0, length) + varint(2 << 3 | 2) + varint(length - 6) + b"\x0a\x10" * 4)
                self.assertEqual(call.status()[0], RESOURCE_EXHAUSTED)
        self.assert_alive()

    def test_heads_that_are_too_long(self):
        """As by the proxy: a head of 64 KiB and more is refused."""
        call = Processing(self.connect())
        call.headers("request", pseudo("POST", "/form-json", FORM, [("x-long", "x" * 80_000)]), end=True)
        with self.assertRaises((Refused, Ended)) as raised:
            call.take_headers("request", [])
        if isinstance(raised.exception, Refused):
            self.assertEqual(raised.exception.response.status, 431)
        else:
            self.assertEqual(raised.exception.code, RESOURCE_EXHAUSTED)

    def test_a_body_of_more_than_a_mebibyte_in_one_message(self):
        """What gRPC's usual limit of 4 MiB lets through has to pass: Envoy sends what it has."""
        for size in (MIB + 65_536, 4 * MIB - 100):
            body = os.urandom(size)
            self.assertEqual(self.ask("POST", "/plain", body, pieces=[body]).body, body)

    def test_events_in_a_wrong_order(self):
        head = header_map(pseudo("POST", "/form-json", FORM))
        answer = header_map([(":status", "200")])
        orders = [
            [{"request_body": {"body": b"a=1"}}], [{"request_trailers": {}}],
            [{"response_headers": {"headers": answer}}, {"request_headers": {"headers": head}}],
            [{"response_headers": {"headers": answer}}, {"request_body": {"body": b"a=1"}}],
            [{"response_headers": {"headers": answer}}] * 2,
            [{"response_body": {"body": b"x"}}], [{"request_headers": {"headers": head}}] * 2,
            [{"request_headers": {"headers": head}}, {"response_body": {"body": b"x"}}],
            [{"request_headers": {"headers": head}}, {"request_body": {"body": b"a=1"}}, {"request_trailers": {}}, {"request_trailers": {}}],
            # What nobody waits for would be left out.
            [{"request_headers": {"headers": head, "end_of_stream": True}}, {"request_body": {"body": b"a=1"}}],
            [{"response_headers": {"headers": answer, "end_of_stream": True}}, {"response_body": {"body": b"x"}}],
        ]
        for events in orders:
            with self.subTest([list(event)[0] for event in events]):
                call = self.call()
                for number, event in enumerate(events):
                    more = {"protocol_config": {"request_body_mode": 4, "response_body_mode": 4}} if number == 0 else {}
                    call.send(encode("ProcessingRequest", {**event, **more}))
                call.half_close()
                self.assertNotEqual(call.status()[0], OK)
        self.assert_alive()

    def test_modes_that_come_late_are_none(self):
        """They say how the head was to be answered, which it was by then."""
        call = self.call()
        call.send(encode("ProcessingRequest", {"request_headers": {"headers": header_map(pseudo("POST", "/plain"))}}))
        modes = encode("ProcessingRequest", {"protocol_config": {"request_body_mode": 4, "response_body_mode": 4}})
        call.send(modes + encode("ProcessingRequest", {"request_body": {"body": b"x"}}))
        self.assertEqual(call.status()[0], FAILED_PRECONDITION)

    def test_what_is_there_twice_is_refused(self):
        """To some readers the last one counts, to others all of them do."""
        head = encode("ProcessingRequest", {"request_headers": {"headers": header_map(pseudo("POST", "/plain"))}})
        for message in (head + head, head + tagged(3, 2, b"")):
            call = self.call()
            call.send(message)
            self.assertEqual(call.status()[0], INVALID_ARGUMENT)

    def test_heads_without_what_every_request_has(self):
        for missing in (":method", ":path", ":authority"):
            fields = [pair for pair in pseudo("POST", "/form-json", FORM) if pair[0] != missing]
            with self.subTest(missing):
                call = Processing(self.connect())
                call.headers("request", fields, end=True)
                with self.assertRaises((Refused, Ended)):
                    call.take_headers("request", fields)
        self.assert_alive()

    def test_fields_that_would_break_a_head_are_refused(self):
        """Envoy sends none of these; whoever does is answered, and nothing of it goes on."""
        for field in (("x\r\ny", "1"), ("x", "1\r\ny: 2"), ("x", "a\0b"), ("", "1"), ("a b", "1"), (":other", "1")):
            with self.subTest(field):
                call = Processing(self.connect())
                call.headers("request", pseudo("POST", "/plain", fields=[field]), end=True)
                with self.assertRaises((Refused, Ended)):
                    call.take_headers("request", [])
        self.assert_alive()

    def test_value_and_raw_value(self):
        """Older Envoys and other proxies may send text in `value`."""
        fields = [{"key": name, "value": value} for name, value in pseudo("POST", "/form-json", FORM)]
        call = Processing(self.connect())
        call.say(request_headers={"headers": {"headers": fields}})
        call.body("request", b"a=1", end=True)
        message = call.take_streamed("request", call.take_headers("request", []))
        self.assertEqual((message.json, message.fields.get("content-type")), ({"a": "1"}, JSON))

    def test_a_second_end_is_ignored(self):
        """Some Envoys send the last piece of a long body twice (issue 46237)."""
        for again in (b"", b"a=1", b"x" * 1000):
            call = self.processing()
            call.headers("request", pseudo("POST", "/form-json", FORM))
            call.body("request", b"a=1", end=True)
            call.body("request", again, end=True)
            message = call.take_streamed("request", call.take_headers("request", []))
            self.assertEqual(message.json, {"a": "1"})
            call.headers("response", [(":status", "200")], end=True)
            call.take_headers("response", [], end=True)
            self.assertEqual(call.finish()[0], OK)


class HealthTests(CallTestCase):
    def test_serving(self):
        for service in ("", "envoy.service.ext_proc.v3.ExternalProcessor"):
            self.assertEqual(health(self.connect(), service), (SERVING, OK))

    def test_a_service_that_there_is_not(self):
        self.assertEqual(health(self.connect(), "other"), (None, NOT_FOUND))

    def test_a_watch_answers_at_once_or_says_no(self):
        call = Call(self.connect(), HEALTH + "Watch")
        call.send(encode("HealthCheckRequest", {}), end=True)
        message = call.next()
        if message is None:
            self.assertEqual(call.status()[0], UNIMPLEMENTED)
        else:
            self.assertEqual(decode("HealthCheckResponse", message), {"status": SERVING})

    def test_what_is_no_question(self):
        for data in (b"", framed(b"\xff\xff"), framed(b"", flag=1), framed(b"") * 2):
            call = Call(self.connect(), HEALTH + "Check")
            call.send_raw(data, end=True)
            self.assertNotEqual(call.status()[0], OK)


class ManyCallTests(CallTestCase):
    def test_many_calls_before_the_limit_is_known(self):
        """A data plane that has just connected sends what comes in: Envoy fails a request whose call is refused. These are as many
        as the first window of a connection has room for."""
        client = self.connect()
        with client.at_once():
            calls = [Processing(client) for _ in range(250)]
            for number, call in enumerate(calls):
                call.headers("request", pseudo("POST", "/form-json", FORM))
                call.body("request", b"n=%d" % number, end=True)
        for number, call in enumerate(calls):
            message = call.take_streamed("request", call.take_headers("request", []))
            self.assertEqual(message.json, {"n": str(number)})
        self.assertEqual(client.goaways, [])
        self.assertEqual(client.server_settings[MAX_CONCURRENT_STREAMS], 1000)

    def test_a_hundred_calls_on_one_connection(self):
        client = self.connect()
        client.until(lambda: client.server_settings)
        count = min(100, client.server_settings.get(MAX_CONCURRENT_STREAMS, 100))
        self.assertEqual(count, 100)
        calls = [Processing(client) for _ in range(count)]
        for number, call in enumerate(calls):
            call.headers("request", pseudo("POST", "/form-json", FORM))
            call.body("request", b"n=%d" % number)
        for number in reversed(range(count)):
            calls[number].body("request", b"&m=1", end=True)
        for number, call in enumerate(calls):
            message = call.take_streamed("request", call.take_headers("request", []))
            self.assertEqual(message.json, {"n": str(number), "m": "1"})
        for call in calls:
            self.assertEqual(call.finish()[0], OK)

    def test_calls_one_after_the_other_on_one_connection(self):
        """More than a connection of HTTP has requests (`http2.requests`): a data plane keeps its connection, or is told by GOAWAY."""
        client = self.connect()
        for number in range(1500):
            if client.goaways:
                client = self.connect()
            call = Processing(client)
            message = call.run("request", pseudo("POST", "/form-json", FORM), b"n=%d" % number)
            self.assertEqual(message.json, {"n": str(number)})
            self.assertEqual(call.finish()[0], OK)

    def test_a_refusal_of_one_call_is_of_no_other(self):
        client = self.connect()
        calls = [Processing(client) for _ in range(20)]
        for number, call in enumerate(calls):
            call.headers("request", pseudo("POST", "/json-form", JSON))
            call.body("request", b'{"a":1}' if number % 2 else b'{"a":', end=True)
        for number, call in enumerate(calls):
            if number % 2:
                self.assertEqual(call.take_streamed("request", call.take_headers("request", [])).body, b"a=1")
            else:
                with self.assertRaises(Refused):
                    call.take_headers("request", [])

    def test_cancelled_anywhere(self):
        client = self.connect()
        data = framed(BrokenCallTests.HEADERS) + framed(encode("ProcessingRequest", {"request_body": {"body": b"a=1" * 50}}))
        for at in range(0, len(data), 7):
            call = Call(client, PROCESS)
            call.send_raw(data[:at])
            client.send(reset(call.stream, CANCEL))
        client.pause()
        self.assertEqual(client.goaways, [])
        message = Processing(client).run("request", pseudo("POST", "/form-json", FORM), b"n=1")
        self.assertEqual(message.json, {"n": "1"})


class SlowClientTests(CallTestCase):
    """A client that doesn't take answers gets to send no more: what waits is bounded, whatever it sends."""

    def assert_bounded(self, path, media_type, begin):
        self.ask("POST", "/form-json", b"a=1", FORM)
        before = memory_of(self.recast.process, "VmHWM")
        call = Processing(self.connect(gives=False))
        call.headers("request", pseudo("POST", path, media_type))
        call.body("request", begin)
        # One message whose content never ends.
        length = 1 << 30
        call.send_raw(struct.pack("!BI", 0, length + 20) + varint(4 << 3 | 2) + varint(length + 10) + b"\x0a" + varint(length))
        self.assertLess(call.client.fill(call.stream, b"x" * 16_384, most=64 * MIB), 8 * MIB)
        self.assertLess(memory_of(self.recast.process, "VmHWM") - before, 8 * MIB)
        self.assert_alive()  # on another connection

    def test_a_plain_route(self):
        self.assert_bounded("/plain", None, b"x")

    def test_a_conversion(self):
        self.assert_bounded("/parts", "multipart/form-data; boundary=x", BEGIN_PART)

    def test_a_response_that_is_the_data_plane_s_own(self):
        """One that comes before the request is whole passes; what of it waits for the data plane is bounded all the same."""
        before = memory_of(self.recast.process, "VmHWM")
        call = Processing(self.connect(gives=False), FULL_DUPLEX)
        call.headers("request", pseudo("POST", "/form-json", FORM))
        call.headers("response", [(":status", "200"), ("content-type", "a/b")])
        # One message whose content never ends.
        length = 1 << 30
        call.send_raw(struct.pack("!BI", 0, length + 20) + varint(5 << 3 | 2) + varint(length + 10) + b"\x0a" + varint(length))
        self.assertLess(call.client.fill(call.stream, b"z" * 16_384, most=64 * MIB), 8 * MIB)
        self.assertLess(memory_of(self.recast.process, "VmHWM") - before, 8 * MIB)
        self.assert_alive()

    def until_full(self, client, call, window):
        """Reads until the call's window is used up."""
        while call.record.count < window:
            self.assertTrue(client.read(), "the connection ends")

    def give(self, client, call):
        """What was sent has been read by now; gives the windows that all of the call needs."""
        client.pause()
        client.gives = True
        client.send(window_update(0, MIB) + window_update(call.stream, MIB))

    def test_the_end_of_a_request_that_comes_while_nothing_is_taken(self):
        """Its last content and its end come in one read, and what it becomes waits for windows: what follows is read all the same."""
        window = 8_192
        for first in (24_000, 30_000, 40_000, 50_000):
            for last in (0, 2, 4_000):
                for ends_first in (False, True):
                    with self.subTest(first=first, last=last, ends_first=ends_first):
                        client = self.connect(gives=False, window=window)
                        call = Processing(client)
                        call.headers("request", pseudo("POST", "/json-form", JSON))
                        call.body("request", b'{"a":"' + "\u00e9".encode() * (first // 2))
                        self.until_full(client, call, window)
                        content = "\u00e9".encode() * (last // 2) + b'"}'
                        with client.at_once():
                            if ends_first:
                                # Content behind another field is held until its message is whole.
                                body = b"\x10\x00\x0a" + varint(len(content)) + content
                                call.send(varint(4 << 3 | 2) + varint(len(body)) + body)
                            else:
                                call.body("request", content)
                            call.body("request", b"", end=True)
                        self.give(client, call)
                        message = call.take_streamed("request", call.take_headers("request", []))
                        self.assertEqual(message.body, b"a=" + b"%C3%A9" * (first // 2 + last // 2))
                        call.headers("response", [(":status", "200")], end=True)
                        call.take_headers("response", [], end=True)
                        self.assertEqual(call.finish()[0], OK)

    def test_the_end_of_a_response_that_comes_while_nothing_is_taken(self):
        window = 8_192
        for first in (60_000, 70_000, 100_000):
            with self.subTest(first):
                client = self.connect(gives=False, window=window)
                call = Processing(client)
                call.headers("request", pseudo("GET", "/compressed"), end=True)
                call.take_headers("request", [], end=True)
                content = os.urandom(first)
                call.headers("response", [(":status", "200"), ("content-type", "a/b")])
                for start in range(0, first, 20_000):
                    call.body("response", content[start:start + 20_000])
                self.until_full(client, call, window)
                with client.at_once():
                    call.body("response", b"x")
                    call.body("response", b"", end=True)
                self.give(client, call)
                message = call.take_streamed("response", call.take_headers("response", []))
                self.assertEqual(message.body, content + b"x")
                self.assertEqual(call.finish()[0], OK)

    def test_a_call_that_ends_while_nothing_is_taken(self):
        """What was read of its last message is whole: it ends as any call that its client leaves."""
        client = self.connect(gives=False, window=8_192)
        call = Processing(client)
        call.headers("request", pseudo("POST", "/json-form", JSON))
        call.body("request", b'{"a":"' + "\u00e9".encode() * 12_000)
        self.until_full(client, call, 8_192)
        with client.at_once():
            call.body("request", "\u00e9".encode() * 100)
            call.half_close()
        self.give(client, call)
        self.assertEqual(call.status()[0], OK)
        self.assert_alive()

    def test_trailers_of_coded_content_tell_nothing_of_its_bytes(self):
        for coding, removed in (("gzip", {"content-digest", "etag"}), ("identity", set())):
            with self.subTest(coding):
                call = Processing(self.connect())
                call.headers("request", pseudo("GET", "/compressed", fields=(("accept-encoding", coding),)), end=True)
                call.take_headers("request", [], end=True)
                call.headers("response", [(":status", "200"), ("content-type", "text/plain")])
                call.body("response", b"0123456789" * 1000)
                call.trailers("response", [("content-digest", "sha-256=:AA==:"), ("etag", '"x"'), ("x-rows", "10")])
                message = call.take_streamed("response", call.take_headers("response", []), has_trailers=True)
                self.assertEqual(message.fields.get("content-encoding"), None if coding == "identity" else coding)
                self.assertEqual(set(message.trailers.get("remove_headers", [])), removed)
                self.assertEqual(call.finish()[0], OK)

    def test_trailers_in_the_place_of_content_that_would_be_coded(self):
        """Nothing can be written in front of them. The head waits for that, but of events, for whose client it says something."""
        for mode, media_type, coding in ((FULL_DUPLEX, "text/plain", None), (BUFFERED, "text/plain", None),
                                         (FULL_DUPLEX, "text/event-stream", "gzip")):
            with self.subTest(mode, media_type=media_type):
                call = Processing(self.connect(), mode)
                call.headers("request", pseudo("GET", "/compressed", fields=(("accept-encoding", "gzip"),)), end=True)
                request_id = call.take_headers("request", [], end=True).fields.get("x-request-id")
                call.headers("response", [(":status", "500"), ("content-type", media_type)])
                message = call.take_headers("response", []) if coding else None
                call.trailers("response", [("x-rows", "10")])
                message = call.take_streamed("response", message or call.take_headers("response", []), has_trailers=True)
                self.assertEqual([message.fields.get(name) for name in ("content-encoding", "vary")], [coding, "Accept-Encoding"])
                self.assertEqual((message.body, call.finish()[0]), (b"", OK))
                self.assertEqual(self.recast.log_entry(request_id).get("response_coding"), coding)

    def test_trailers_without_content(self):
        """Nothing can be said of content that the data plane never had: a conversion that writes some is refused."""
        for path_, refused in (("/form-json", True), ("/plain", False)):
            with self.subTest(path_):
                call = Processing(self.connect())
                call.headers("request", pseudo("POST", path_, FORM))
                call.trailers("request", [("x-t", "v")])
                if refused:
                    with self.assertRaises(Refused) as raised:
                        call.take_streamed("request", call.take_headers("request", []), has_trailers=True)
                    self.assertEqual((raised.exception.response.status, raised.exception.response.json["code"]), (400, "ext_proc_trailers"))
                else:
                    message = call.take_streamed("request", call.take_headers("request", []), has_trailers=True)
                    self.assertEqual(message.body, b"")

    def test_others_on_the_connection_go_on(self):
        """The window of one call is full, that of the connection isn't."""
        client = self.connect(gives=False, window=65_535)
        call = Processing(client)
        call.headers("request", pseudo("POST", "/plain"))
        # Answers of less than the connection's window.
        for _ in range(2):
            call.body("request", b"x" * 16_000)
        message = Processing(client).run("request", pseudo("POST", "/form-json", FORM), b"n=1")
        self.assertEqual(message.json, {"n": "1"})

    def test_memory_of_a_long_body(self):
        self.ask("POST", "/form-json", b"a=1", FORM)
        before = memory_of(self.recast.process, "VmHWM")
        piece, count = os.urandom(MIB), 64
        call = Processing(self.connect(keeps=True))
        call.headers("request", pseudo("POST", "/parts", "multipart/form-data; boundary=x"))
        call.body("request", BEGIN_PART)
        received = 0
        for _ in range(count):
            call.body("request", piece)
            while (message := call.buffered()) is not None:
                received += len(message)
            del call.record.body[:call.offset]
            call.offset = 0
        call.body("request", b"\r\n--x--\r\n", end=True)
        while True:
            kind, content = call.answer()
            streamed = content["response"].get("body_mutation", {}).get("streamed_response", {})
            received += len(streamed.get("body", b""))
            if streamed.get("end_of_stream"):
                break
        self.assertGreater(received, count * MIB)
        self.assertLess(memory_of(self.recast.process, "VmHWM") - before, 8 * MIB)


class EndTests(unittest.TestCase):
    """Drain and reload, each with a Recast of its own."""

    def setUp(self):
        upstream = Upstream()
        self.addCleanup(upstream.stop)
        self.port = free_port()
        self.recast = Recast(ROUTES, {"app": f"127.0.0.1:{upstream.port}"}, settings="drain_delay: 5s\n",
                             listeners=(f'{{ address: "127.0.0.1:{self.port}", serves: ext_proc }}',))
        self.addCleanup(self.recast.remove)
        self.addCleanup(self.recast.stop)

    def connect(self):
        client = HTTP2Client(self.port)
        self.addCleanup(client.socket.close)
        return client

    def begun(self, client):
        call = Processing(client)
        call.headers("request", pseudo("POST", "/form-json", FORM))
        call.body("request", b"a=1")
        client.pause()
        return call

    def test_live_calls_end_well_and_health_says_no(self):
        client, other = self.connect(), self.connect()
        call = self.begun(client)
        self.assertEqual(health(other), (SERVING, OK))
        self.recast.process.send_signal(signal.SIGTERM)
        # While it drains, new connections are still taken, and health says that none is wanted.
        wait_until("health says no", lambda: health(self.connect())[0] == NOT_SERVING)
        message = Processing(self.connect()).run("request", pseudo("POST", "/form-json", FORM), b"n=1")
        self.assertEqual(message.json, {"n": "1"})
        call.body("request", b"&b=2", end=True)
        message = call.take_streamed("request", call.take_headers("request", []))
        self.assertEqual(message.json, {"a": "1", "b": "2"})
        call.headers("response", [(":status", "200")], end=True)
        call.take_headers("response", [], end=True)
        self.assertEqual(call.finish()[0], OK)
        client.rest()
        self.assertTrue(client.goaways)
        self.assertEqual(self.recast.process.wait(DEADLINE), 0)

    def test_a_call_keeps_the_settings_that_it_began_with(self):
        client = self.connect()
        call = self.begun(client)
        with open(self.recast.config) as file:
            text = file.read()
        with open(self.recast.config, "w") as file:
            file.write(text.replace("form -> json", "form -> xml"))
        reload(self.recast)
        call.body("request", b"&b=2", end=True)
        self.assertEqual(call.take_streamed("request", call.take_headers("request", [])).json, {"a": "1", "b": "2"})
        message = Processing(self.connect()).run("request", pseudo("POST", "/form-json", FORM), b"n=1")
        self.assertEqual(message.media_type, "application/xml")


class TLSTests(CallTestCase):
    @classmethod
    def setUpClass(cls):
        cls.tls, cls.mutual = free_port(), free_port()
        cls.listeners = (
            f'{{ address: "127.0.0.1:{cls.tls}", serves: ext_proc, tls: {{ {pair("server")} }} }}',
            f'{{ address: "127.0.0.1:{cls.mutual}", serves: ext_proc, tls: {{ {pair("server")}, client_ca: {path("ca.pem")} }} }}')
        super().setUpClass()

    def over(self, port, certificate=None):
        client = HTTP2Client(port, certificates().client_context(certificate))
        self.addCleanup(client.socket.close)
        self.assertEqual(client.socket.selected_alpn_protocol(), "h2")
        return Processing(client).run("request", pseudo("POST", "/form-json", FORM), b"n=1").json

    def test_tls(self):
        self.assertEqual(self.over(self.tls), {"n": "1"})

    def test_mutual_tls(self):
        self.assertEqual(self.over(self.mutual, "client"), {"n": "1"})
        with self.assertRaises((OSError, Closed)):
            self.over(self.mutual)
        self.assert_alive()


class LibraryTests(CallTestCase):
    """grpcio, the library of gRPC's own project, as the client; messages are bytes for it."""

    def channel(self):
        import grpc
        channel = grpc.insecure_channel(f"127.0.0.1:{self.port}")
        self.addCleanup(channel.close)
        return channel

    def converse(self, channel, number):
        head = {"request_headers": {"headers": header_map(pseudo("POST", "/form-json", FORM))},
                "protocol_config": {"request_body_mode": FULL_DUPLEX, "response_body_mode": FULL_DUPLEX}}
        events = [head, {"request_body": {"body": b"n=%d" % number}}, {"request_body": {"end_of_stream": True}}]
        answers = channel.stream_stream(PROCESS)(iter([encode("ProcessingRequest", event) for event in events]), timeout=DEADLINE)
        return [decode("ProcessingResponse", answer) for answer in answers]

    def test_calls_in_threads(self):
        channel, results = self.channel(), {}
        threads = [threading.Thread(target=lambda number=number: results.update({number: self.converse(channel, number)}))
                   for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
        for number in range(50):
            first, *rest = results[number]
            self.assertIn("request_headers", first)
            body = b"".join(one["request_body"]["response"]["body_mutation"]["streamed_response"].get("body", b"") for one in rest)
            self.assertEqual(body, b'{"n":"%d"}' % number)

    def test_statuses_as_the_library_reads_them(self):
        import grpc
        channel = self.channel()
        with self.assertRaises(grpc.RpcError) as raised:
            channel.unary_unary("/no.Service/Method")(b"", timeout=DEADLINE)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
        with self.assertRaises(grpc.RpcError) as raised:
            list(channel.stream_stream(PROCESS)(iter([b"\xff" * 9]), timeout=DEADLINE))
        self.assertEqual(raised.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertTrue(raised.exception.details())

    def test_health(self):
        answer = self.channel().unary_unary(HEALTH + "Check")(encode("HealthCheckRequest", {}), timeout=DEADLINE)
        self.assertEqual(decode("HealthCheckResponse", answer), {"status": SERVING})


class ModeTests(CallTestCase):
    def test_modes_that_are_not_served(self):
        for mode in (PARTIAL, GRPC):
            for target in ("/plain", "/form-json"):
                response = self.refusal("POST", target, b"a=1", FORM, mode=mode)
                self.assertEqual((response.status, json.loads(response.body)["code"]), (500, "ext_proc_mode"))

    def test_a_compressed_response_needs_its_end(self):
        """In STREAMED nothing can be written in front of trailers; where bodies pass beside us, they pass as they are."""
        response = self.refusal("GET", "/compressed", mode=STREAMED)
        self.assertEqual((response.status, json.loads(response.body)["code"]), (500, "ext_proc_mode"))
        for mode in (FULL_DUPLEX, BUFFERED, NONE):
            self.ask("GET", "/compressed", mode=mode)


class OwnAnswerTests(CallTestCase):
    """Envoy answers itself before the request has gone on: what it says passes as it is."""

    def test_in_each_mode(self):
        fields, body = [(":status", "413"), ("content-type", "text/plain"), ("content-length", "9")], b"too large"
        for mode in (FULL_DUPLEX, BUFFERED):
            with self.subTest(mode=mode):
                call = self.processing(mode)
                call.headers("request", pseudo("POST", "/form-json", FORM))
                if mode == BUFFERED:
                    call.take_headers("request", [])
                message = call.run("response", fields, body)
                self.assertEqual((message.status, message.body, message.media_type), (413, body, "text/plain"))
                self.assertEqual(call.finish()[0], OK)
        self.assert_alive()


class ForeignAnswerTests(CallTestCase):
    """A filter in front of the processor answers: the request never comes, and what is said passes as it is."""

    def test_in_each_mode(self):
        for mode in (FULL_DUPLEX, BUFFERED, STREAMED, NONE):
            for body in (b"RBAC: access denied", None):
                with self.subTest(mode=mode, body=body):
                    fields = [(":status", "403"), ("content-type", "text/plain"), ("x-request-id", f"foreign-{mode}")]
                    call = self.processing(mode)
                    message = call.run("response", fields, body, trailers=[("x-t", "v")] if body and mode == FULL_DUPLEX else None)
                    self.assertEqual((message.status, message.media_type), (403, "text/plain"))
                    self.assertEqual(message.body, b"" if mode == NONE else body or b"")
                    self.assertEqual(message.trailers or {}, {})
                    self.assertEqual(call.finish()[0], OK)
        self.assert_alive()

    def test_the_log_has_its_status_and_no_request(self):
        call = self.processing()
        call.run("response", [(":status", "429")], None)
        self.assertEqual(call.finish()[0], OK)
        lines = self.recast.log_lines()
        while lines[-1]["status"] != 429:
            lines = self.recast.log_lines(len(lines) + 1)
        self.assertEqual([lines[-1].get(name) or None for name in ("route", "method", "path", "flags")], [None] * 4)

    def test_a_request_without_its_head_is_none(self):
        for event in ({"request_body": {"body": b"a=1"}}, {"request_trailers": {}}):
            call = self.processing()
            call.say(**event)
            code, message = call.status()
            self.assertEqual(code, FAILED_PRECONDITION)
            self.assertIn("request_header_mode", message)
        self.assert_alive()

    def test_a_data_plane_that_heeds_no_answer(self):
        call = self.processing()
        call.say(request_headers={"headers": header_map(pseudo("POST", "/form-json", FORM))}, observability_mode=True)
        code, message = call.status()
        self.assertEqual(code, FAILED_PRECONDITION)
        self.assertIn("observability_mode", message)


class MemoryTests(CallTestCase):
    settings = "memory: { bodies: 4MiB, wait: 100ms }\n"

    def test_what_waits_for_its_end_is_paid_for(self):
        body = BEGIN_PART + b"x" * (8 * MIB) + b"\r\n--x--\r\n"
        media_type = "multipart/form-data; boundary=x"
        response = self.refusal("POST", "/parts", body, media_type, mode=BUFFERED)
        self.assertEqual((response.status, json.loads(response.body)["code"]), (503, "memory_exhausted"))
        # What streams doesn't wait, and nothing is left of what did.
        self.assertEqual(len(self.ask("POST", "/parts", body, media_type, pieces=[body]).body) > 8 * MIB, True)
        short = BEGIN_PART + b"x" * MIB + b"\r\n--x--\r\n"
        self.assertIn(b"x" * MIB, self.ask("POST", "/parts", short, media_type, mode=BUFFERED).body)


class MessageMemoryTests(CallTestCase):
    port_of_admin = free_port()
    settings = f"memory: {{ bodies: 8MiB, wait: 100ms }}\nadmin: 127.0.0.1:{port_of_admin}\n"

    def leased(self, condition):
        self.admin = Admin(self.port_of_admin)
        self.admin.metrics_when(lambda metrics: condition(metrics.sum("recast_memory_leased_bytes")))

    def test_messages_that_are_half_are_paid_for(self):
        """A mebibyte of each call, but for its last byte: what there is no memory for ends."""
        half = framed(tagged(9, 2, bytes(MIB - 10)))[:-1]
        client = self.connect()
        calls = [Call(client, PROCESS) for _ in range(20)]
        for call in calls:
            call.send_raw(half)
        client.pause()
        ended = [call for call in calls if call.record.is_over]
        self.assertGreaterEqual(len(ended), 10)
        self.assertLess(len(ended), 20)
        for call in ended:
            self.assertEqual(call.status()[0], RESOURCE_EXHAUSTED)
        self.leased(lambda bytes_: bytes_ >= 4 * MIB)
        client.socket.close()
        self.leased(lambda bytes_: bytes_ == 0)
        self.assert_alive()

    def test_fields_that_are_empty_are_few(self):
        """Two bytes of a message each, and many times that in memory."""
        fields = b"\x0a\x00" * 400_000
        for number in (2, 6):
            call = Call(self.connect(), PROCESS)
            call.send(tagged(number, 2, tagged(1, 2, fields)))
            self.assertEqual(call.status()[0], RESOURCE_EXHAUSTED)
        self.assert_alive()

    def test_answers_that_nobody_takes_stop_what_asks_for_them(self):
        """In STREAMED each message has one, also behind the end of the content."""
        messages = framed(encode("ProcessingRequest", {"request_body": {"body": b"x"}})) * 100
        for length in (None, 10 * MIB):
            client = self.connect(window=0, gives=False)
            call = Processing(client, STREAMED)
            call.headers("request", pseudo("POST", "/plain", length=length))
            call.body("request", b"x", end=length is None)
            count = 1
            while client.pause() or min(client.window, call.record.window) >= len(messages):
                call.send_raw(messages)
                count += 100
                self.assertLess(count * len(messages), 100 * MIB)
            # All are answered once the answers are taken.
            client.gives = True
            client.send(window_update(call.stream, 16 * MIB) + window_update(0, 16 * MIB))
            call.common("request_headers")
            for _ in range(count):
                call.common("request_body")


class BufferedLimitTests(CallTestCase):
    def part(self, count):
        body = BEGIN_PART + b"x" * count + b"\r\n--x--\r\n"
        return self.ask("POST", "/parts", body, "multipart/form-data; boundary=x", mode=BUFFERED)

    def test_what_goes_on_in_one_message_has_a_limit(self):
        count = 16 * MIB - (len(self.part(1).body) - 1)
        self.assertEqual(len(self.part(count - 1).body), 16 * MIB - 1)
        self.assertEqual(len(self.part(count).body), 16 * MIB)
        with self.assertRaises(Refused) as raised:
            self.part(count + 1)
        response = raised.exception.response
        self.assertEqual((response.status, json.loads(response.body)["code"]), (413, "limit_ext_proc"))

    @staticmethod
    def grown(count):
        """A JSON text of less than half of them, and the form of `count` bytes that it becomes."""
        fields = [("k", "&" * 20_000) for _ in range(count // 60_010)]
        fields = [(f"{name}{number:04}", value) for number, (name, value) in enumerate(fields)]
        length = sum(len(name) + 2 + 3 * len(value) for name, value in fields)
        fields.append(("z", "x" * (count - length - 2)))
        return json.dumps(dict(fields)).encode(), "&".join(f"{name}={value.replace('&', '%26')}" for name, value in fields).encode()

    def test_what_grows_beyond_what_the_data_plane_takes_has_a_code(self):
        for target, limit in (("/json-form", MIB),):
            for count in (limit - 1, limit, limit + 1):
                body, expected = self.grown(count)
                self.assertEqual(len(expected), count)
                self.assertLess(len(body), count // 2)
                with self.subTest(count=count):
                    try:
                        message = self.ask("POST", target, body, JSON, mode=BUFFERED)
                    except Refused as refused:
                        self.assertGreater(count, limit)
                        self.assertEqual((refused.response.status, json.loads(refused.response.body)["code"]), (413, "limit_ext_proc"))
                        self.assertIn(str(limit), json.loads(refused.response.body)["detail"])
                    else:
                        self.assertLessEqual(count, limit)
                        self.assertEqual(message.body, expected)
        body, expected = self.grown(MIB + 1)
        self.assertEqual(self.ask("POST", "/json-form", body, JSON).body, expected)  # what streams has no such bound

    def test_a_response_that_grows_so_has_the_code_too(self):
        for count in (MIB, MIB + 1):
            body, expected = self.grown(count)
            call = self.processing(BUFFERED)
            call.run("request", pseudo("GET", "/answer", fields=[("x-request-id", f"grown-{count}")]))
            fields = [(":status", "200"), ("content-type", JSON), ("content-length", str(len(body)))]
            try:
                message = call.run("response", fields, body)
            except Refused as refused:
                self.assertGreater(count, MIB)
                self.assertEqual((refused.response.status, json.loads(refused.response.body)["code"]), (502, "limit_ext_proc"))
                entry = self.recast.log_entry(f"grown-{count}")
                self.assertEqual((entry["status"], entry["flags"], entry.get("code")), (502, "RL", "limit_ext_proc"))
            else:
                self.assertEqual((count, message.body), (MIB, expected))
            self.assertEqual(call.status()[0] if count > MIB else call.finish()[0], OK)

    def test_a_body_in_one_message_is_converted_as_one(self):
        body = b"a=" + b"x" * (MIB - 200_000)
        with self.assertRaises(Refused) as raised:  # a field of that length is beyond limits.field, in any mode
            self.ask("POST", "/form-json", body, FORM, mode=BUFFERED)
        self.assertEqual(raised.exception.response.status, 413)


if __name__ == "__main__":
    unittest.main()
