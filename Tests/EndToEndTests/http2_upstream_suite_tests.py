"""What holds for upstreams of HTTP/1 holds for those of HTTP/2: the same tests, with an upstream that is spoken to by HTTP/2.

A test that is None here is one of HTTP/1's own; the comment says what there is instead."""

import authorize_tests
import coding_tests
import conversion_tests
import envelope_tests
import failure_tests
import forwarding_tests
import part_tests
import response_tests
import sign_tests
import spool_tests
import upload_tests
import upstream_tests
import verify_tests
import webhook_tests
from http2_upstream import OverHTTP2


class ConversionTests(OverHTTP2, conversion_tests.ConversionTests):
    pass


class RefusalTests(OverHTTP2, conversion_tests.RefusalTests):
    pass


class FieldTests(OverHTTP2, forwarding_tests.FieldTests):
    # HTTP/2 has no Connection that would name fields: http2_upstream_message_tests has those that are malformed there.
    test_hop_by_hop_fields_of_a_response_stay_here = None


class AccessLogTests(OverHTTP2, forwarding_tests.AccessLogTests):
    pass


class HeaderRuleTests(OverHTTP2, forwarding_tests.HeaderRuleTests):
    pass


class ConvertedResponseTests(OverHTTP2, response_tests.ConvertedResponseTests):
    def test_every_framing_gives_the_same_response_over_one_connection(self):
        """No framing costs the connection: a stream's end is the content's."""
        client = self.client()
        for framing in ("length", "chunked", "close", "length"):
            with self.subTest(framing):
                self.upstream.script = response_tests.answering(framing=framing)
                client.request("GET", "/form")
                self.assert_form(client.response())
        self.assertEqual(len({received.connection_number for received in self.upstream.wait_for(4)}), 1)


class ResponseLogTests(OverHTTP2, response_tests.LogTests):
    pass


class UploadTests(OverHTTP2, upload_tests.UploadTests):
    # Nothing is chunked: http2_upstream_tests.RequestTests has content without a length.
    test_an_upload_from_standard_input_is_chunked_on_a_plain_route = None


class EnvelopeTests(OverHTTP2, envelope_tests.EnvelopeTests):
    pass


class VerifyTests(OverHTTP2, verify_tests.VerifyTests):
    pass


class VerifyVectorTests(OverHTTP2, verify_tests.VectorTests):
    pass


class SignTests(OverHTTP2, sign_tests.SignTests):
    pass


class RequestCodingTests(OverHTTP2, coding_tests.RequestCodingTests):
    pass


class ResponseCodingTests(OverHTTP2, coding_tests.ResponseCodingTests):
    # Its chunks are written by hand: http2_upstream_message_tests has trailers of responses.
    test_trailers_of_coded_content_tell_nothing_of_its_bytes = None


class SpoolTests(OverHTTP2, spool_tests.SpoolTests):
    # Nothing is chunked.
    test_F7_chunked_upstreams_get_chunks = None


class FullDiskTests(OverHTTP2, spool_tests.FullDiskTests):
    pass


class ClientThatLeavesTests(OverHTTP2, failure_tests.ClientThatLeavesTests):
    pass


class UpstreamThatFailsTests(OverHTTP2, failure_tests.UpstreamThatFailsTests):
    # Texts that are no HTTP/1: http2_upstream_hostile_tests has frames that are no HTTP/2.
    test_a_chunk_that_can_t_be_read_behind_the_head_is_a_502 = None
    test_an_upstream_that_closes_or_answers_nonsense_is_a_502 = None


class IdleUpstreamTests(OverHTTP2, failure_tests.IdleUpstreamTests):
    pass


class RetrySafetyTests(OverHTTP2, upstream_tests.RetrySafetyTests):
    pass


class RouteRetryTests(OverHTTP2, upstream_tests.RouteRetryTests):
    # Half a head is no frame: http2_upstream_tests.ResetTests.
    test_F20_a_response_that_has_begun_is_why_there_is_no_second_attempt = None


class AuthorizeTests(OverHTTP2, authorize_tests.AuthorizeTests):
    pass


class AutoOutputTests(OverHTTP2, part_tests.AutoOutputTests):
    pass


class ChallengeTests(OverHTTP2, webhook_tests.ChallengeTests):
    pass


class ReplayTests(OverHTTP2, webhook_tests.ReplayTests):
    pass
