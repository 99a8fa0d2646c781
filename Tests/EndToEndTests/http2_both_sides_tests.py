"""Clients of HTTP/2 before an upstream of HTTP/2, and what is interrupted on the way: the tests of clients, with that upstream."""


import http2_chaos_tests
import http2_smuggling_tests
import http2_stream_tests
import http2_tests
import interruption_tests
from http2_client import CANCEL, NO_ERROR, reset
from http2_upstream import OverHTTP2

MIB = 1 << 20


class ExchangeTests(OverHTTP2, http2_tests.ExchangeTests):
    # Nothing is chunked, and trailers are no text: http2_upstream_tests has both.
    test_content_without_a_length_is_chunked = None
    test_trailers_of_requests = None
    # A length beside 204 is an error of the stream there, and a 502.
    test_head_of_a_status_without_content_has_no_length = None


class SmugglingTests(OverHTTP2, http2_smuggling_tests.SmugglingTests):
    # It reads chunks of HTTP/1: http2_upstream_tests.TrailerTests.
    test_trailers_that_are_none_are_dropped = None


class ManyTests(OverHTTP2, http2_stream_tests.ManyTests):
    # It reads chunks of HTTP/1.
    test_content_that_comes_at_once_goes_on_in_one_write = None


class BackpressureTests(OverHTTP2, http2_stream_tests.BackpressureTests):
    def flood_the_client(self, client, streams, stop):
        def script(exchange):
            exchange.read_body()
            exchange.respond()
            exchange.received.count = 0
            for _ in range(64 * MIB // 16_384):
                exchange.content(b"x" * 16_384)
                exchange.received.count += 1

        self.addCleanup(stop.set)
        self.upstream.script = script
        opened = [client.request(path=f"/plain/{number}") for number in range(streams)]
        self.upstream.wait_for(streams)
        return opened


class BreakingOffTests(OverHTTP2, http2_stream_tests.BreakingOffTests):
    def test_a_reset_upload_is_never_completed(self):
        """Its stream is given up, and the connection goes on."""
        for fields in ([], [("content-length", "10")]):
            with self.subTest(fields), self.http2() as client:
                self.upstream.reset()
                stream = client.request("POST", fields=fields, end=False)
                client.content(stream, b"abc", end=False)
                received = self.upstream.wait_for(1)[0]
                client.send(reset(stream))
                self.assertEqual(received.stream.wait_for_cut(), CANCEL)
                self.assertFalse(self.upstream.one().is_complete)
                self.assertEqual(client.exchange().status, 200)
                self.assertEqual(self.upstream.requests[1].connection_number, received.connection_number)


class UnreadTests(OverHTTP2, http2_stream_tests.UnreadTests):
    pass


class LimitTests(OverHTTP2, http2_stream_tests.LimitTests):
    pass


class ChaosTests(OverHTTP2, http2_chaos_tests.ChaosTests):
    pass


class EarlyAnswerTests(OverHTTP2, interruption_tests.EarlyAnswerTests):
    @staticmethod
    def break_off(exchange):
        """What is to be read no more is given up behind the answer, without an error (RFC 9113 §8.1)."""
        exchange.abort(NO_ERROR)


class StallTests(OverHTTP2, interruption_tests.StallTests):
    @staticmethod
    def leave(exchange):
        """The stream has been reset, and the connection stays: the next request may have begun on it."""


class ClientStallTests(OverHTTP2, interruption_tests.ClientStallTests):
    pass


class ConnectionTests(OverHTTP2, interruption_tests.ConnectionTests):
    pass
