"""Routes with `verify`: whose requests come through, what others are answered, and that nothing goes upstream before."""

import base64
import gzip
import hashlib
import hmac
import json
import os
import subprocess
import tempfile
import time
import unittest

from admin import Admin, admin_port
from harness import FORM, JSON, RECAST, ROOT, ProxyTestCase

SECRET = "A Secret to Everybody"
WHSEC = "whsec_" + base64.b64encode(SECRET.encode()).decode()
KIB = 1024


def sign(body, secret=SECRET, digest="sha256"):
    return hmac.new(secret.encode(), body, digest).digest()


def github(body, secret=SECRET):
    return f"X-Hub-Signature-256: sha256={sign(body, secret).hex()}"


def chunked(body, size):
    return b"".join(b"%x\r\n%s\r\n" % (len(body[at:at + size]), body[at:at + size])
                    for at in range(0, len(body), size)) + b"0\r\n\r\n"


class VerifyTests(ProxyTestCase):
    admin_address, admin_line = admin_port()
    settings = admin_line
    routes = f"""
  - {{ name: plain, match: /plain, upstream: app, verify: {{ preset: github, secret: "{SECRET}" }} }}
  - {{ name: form, match: /form, upstream: app, request: form -> json, verify: {{ preset: github, secrets: [new, "{SECRET}"] }} }}
  - {{ name: big, match: /big, upstream: app, request: form -> json, limits: {{ signed: 4MiB, field: 4MiB, tree: 8MiB }},
      verify: {{ preset: github, secret: "{SECRET}" }} }}
  - {{ name: limit, match: /limit, upstream: app, verify: {{ preset: github, secret: "{SECRET}" }}, limits: {{ signed: 1KiB }} }}
  - {{ name: report, match: /report, upstream: app, verify: {{ preset: github, secret: "{SECRET}", on_failure: report }} }}
  - {{ name: forbidden, match: /forbidden, upstream: app, verify: {{ preset: github, secret: "{SECRET}", on_failure: 403 }} }}
  - {{ name: slack, match: /slack, upstream: app, request: form -> json, verify: 'slack(secret: "{SECRET}")' }}
  - {{ name: twilio, match: "/twilio/*", upstream: app, request: form -> json,
      verify: {{ preset: twilio, secret: "{SECRET}", public_url: "https://hooks.example.com" }} }}
  - name: acme
    match: /acme
    upstream: app
    verify:
      sender: acme
      header: X-Acme
      list: {{ timestamp: t, signature: v1 }}
      signed: "{{id}}.{{method}}.{{path}}.{{timestamp}}.{{body}}"
      id: X-Delivery
      encoding: base64
      algorithm: hmac-sha512
      secret: {{ value: "{SECRET.encode().hex()}", encoding: hex }}
  - {{ name: length, match: /length, upstream: wants-length, verify: {{ preset: github, secret: "{SECRET}" }} }}
  - {{ name: svix, match: /svix, upstream: app, verify: 'svix(secret: "{WHSEC}")' }}
  - {{ name: ruled, match: /ruled, upstream: app, verify: 'svix(secret: "{WHSEC}")',
      headers: {{ request: {{ set: {{ svix-id: ours }}, remove: [x-a*] }} }} }}
  - {{ name: passing, match: /passing, upstream: app, underscores: pass, verify: 'svix(secret: "{WHSEC}")' }}
  - {{ name: open, match: /open, upstream: app }}
"""
    further_upstreams = {"wants-length": "{ address: $APP, framing: length }"}

    def post(self, path, body, *fields, media_type=JSON):
        return self.send("POST", path, body, media_type, fields)

    def assert_refused(self, response, code, status=401):
        self.assert_problem(response, status, code)
        self.assertEqual(self.upstream.requests, [])

    def test_what_the_sender_has_signed_goes_on_with_its_mark_and_its_length(self):
        for path in ("/plain", "/length"):
            with self.subTest(path):
                self.upstream.reset()
                body = b'{"a": "\xc3\xa4"}'
                self.assertEqual(self.post(path, body, github(body)).status, 200)
                request = self.upstream.one()
                self.assertEqual(request.body, body)
                self.assertEqual(request.fields.get("recast-verified"), "github")
                self.assertEqual(request.fields.get("content-length"), str(len(body)))

    def test_a_form_is_verified_as_it_came_and_converted_then(self):
        body = b"payload=%7B%22a%22%3A1%7D&b=%C3%A4+x"
        self.assertEqual(self.post("/form", body, github(body), media_type=FORM).status, 200)
        self.assertEqual(self.upstream.one().json, {"payload": '{"a":1}', "b": "\u00e4 x"})

    def test_any_bytes_that_differ_are_refused(self):
        body = b"payload=%7B%22a%22%3A1%7D&b=2"
        for at in range(len(body)):
            other = body[:at] + bytes([body[at] ^ 1]) + body[at + 1:]
            self.assert_refused(self.post("/form", other, github(body), media_type=FORM), "signature_mismatch")
        for other in (body[:-1], body + b" ", b"", body + b"&"):
            self.assert_refused(self.post("/form", other, github(body), media_type=FORM), "signature_mismatch")
        self.assert_refused(self.post("/form", body, github(body, "other"), media_type=FORM), "signature_mismatch")

    def test_the_signature_is_looked_at_before_the_body_is_read(self):
        body = b"%zz" * 10
        self.assert_refused(self.post("/form", body, github(b"x"), media_type="text/none"), "signature_mismatch")
        self.assert_refused(self.post("/form", body, github(body), media_type="text/none"), "unsupported_media_type", 415)
        body = b"a[b=1&" * 2000
        self.assert_refused(self.post("/form", body, github(b"x"), media_type=FORM), "signature_mismatch")

    def test_fields_that_are_missing_twice_or_no_signature(self):
        body = b"{}"
        self.assert_refused(self.post("/plain", body), "signature_missing")
        self.assert_refused(self.post("/plain", body, github(body), github(body)), "signature_duplicated")
        for value in ("", "sha256=", "sha256=xyz", sign(body).hex(), "sha1=" + sign(body).hex(), "sha256=" + sign(body).hex() + ", x"):
            response = self.post("/plain", body, f"X-Hub-Signature-256: {value}")
            self.assert_refused(response, "signature_malformed")
            self.assertEqual(response.fields.get("www-authenticate"), "Signature")
        self.assert_refused(self.post("/forbidden", body), "signature_missing", 403)

    def test_what_looks_signed_and_is_not_goes_no_further(self):
        body, at = b"{}", str(int(time.time()))
        signature = "v1," + base64.b64encode(sign(f"msg_7.{at}.".encode() + body)).decode()
        parts = {"id": "msg_7", "timestamp": at, "signature": signature}

        def fields(prefix, **more):
            return tuple(f"{prefix}-{name}: {value}" for name, value in (parts | more).items())

        def passed(path, *sent):
            self.upstream.reset()
            self.assertEqual(self.post(path, body, *sent).status, 200)
            request = self.upstream.one()
            self.assertEqual(request.fields.get("recast-verified"), "svix")
            return {f"{prefix}-{name}": request.fields.all(f"{prefix}-{name}") for prefix in ("webhook", "svix") for name in parts
                    if request.fields.all(f"{prefix}-{name}")}

        webhook = {f"webhook-{name}": [value] for name, value in parts.items()}
        svix = {f"svix-{name}": [value] for name, value in parts.items()}
        self.assertEqual(passed("/svix", *fields("webhook")), webhook)
        self.assertEqual(passed("/svix", *fields("svix")), svix)
        # What says the same is what was signed.
        self.assertEqual(passed("/svix", *fields("webhook"), *fields("svix")), webhook | svix)
        self.assertEqual(passed("/svix", *fields("webhook"), "svix-id: evil"), webhook)
        self.assertEqual(passed("/svix", "SVIX-ID: evil", *fields("webhook"), "Svix-Signature: v1,evil", "svix-timestamp: 1"), webhook)
        self.assertEqual(passed("/svix", *fields("webhook"), *fields("svix"), "svix-id: evil"),
                         webhook | {name: svix[name] for name in ("svix-timestamp", "svix-signature")})
        self.assertEqual(passed("/svix", *fields("svix"), "webhook-id: evil"), svix)
        # What a rule of the route sets is the route's own, and rules by a prefix reach what came alone.
        self.assertEqual(passed("/ruled", *fields("webhook"), "svix-id: evil", "X-A: 1"), webhook | {"svix-id": ["ours"]})
        self.assertIsNone(self.upstream.one().fields.get("x-a"))

    def test_the_mark_is_never_the_clients(self):
        self.assertEqual(self.post("/open", b"{}", "Recast-Verified: github").status, 200)
        self.assertIsNone(self.upstream.one().fields.get("recast-verified"))
        self.upstream.reset()
        self.assertEqual(self.post("/report", b"{}", "Recast-Verified: github").status, 200)
        self.assertEqual(self.upstream.one().fields.get("recast-verified"), "failed; sender=github; reason=missing")
        self.upstream.reset()
        body = b"{}"
        self.assertEqual(self.post("/report", body, github(body), "Connection: recast-verified").status, 400)
        self.assertEqual(self.post("/report", body, github(body)).status, 200)
        self.assertEqual(self.upstream.one().fields.get("recast-verified"), "github")

    def test_without_content_the_signature_is_over_nothing(self):
        self.assertEqual(self.send("GET", "/plain", fields=(github(b""),)).status, 200)
        self.assertEqual(self.upstream.one().fields.get("recast-verified"), "github")
        self.upstream.reset()
        self.assert_refused(self.send("GET", "/plain"), "signature_missing")

    def test_chunks_codings_and_pauses_change_nothing(self):
        body = b"a=" + b"x" * 5000
        for size in (1, 7, 4096, 5002):
            client = self.client()
            client.send(f"POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\nTransfer-Encoding: chunked\r\n"
                        f"{github(body)}\r\n\r\n")
            client.send(chunked(body, size))
            self.assertEqual(client.response().status, 200)
            # The connection goes on.
            client.send(f"POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\nContent-Length: 3\r\n{github(b'a=b')}\r\n\r\na=b")
            self.assertEqual(client.response().status, 200)
        coded = gzip.compress(body)
        response = self.post("/form", coded, github(coded), "Content-Encoding: gzip", media_type=FORM)
        self.assertEqual(response.status, 200)
        self.upstream.reset()
        self.assert_refused(
            self.post("/form", coded, github(body), "Content-Encoding: gzip", media_type=FORM), "signature_mismatch")

    def test_nothing_reaches_the_upstream_before_the_last_byte(self):
        body = b"a=" + b"x" * 200_000
        client = self.client()
        client.send(f"POST /big HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\nContent-Length: {len(body)}\r\n{github(body)}\r\n\r\n")
        client.send(body[:-1])
        # Another request is served meanwhile, so what came first would have gone on by now.
        self.assertEqual(self.post("/open", b"{}").status, 200)
        self.assertEqual([request.target for request in self.upstream.requests], ["/open"])
        client.send(body[-1:])
        self.assertEqual(client.response().status, 200)

    def test_long_content_is_held_on_disk_and_converted_in_pieces(self):
        value = os.urandom(1_500_000).hex().encode()
        body = b"a=" + value
        for framing in ("length", "chunked"):
            self.upstream.reset()
            client = self.client()
            head = f"POST /big HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\n{github(body)}\r\n"
            if framing == "length":
                client.send(head + f"Content-Length: {len(body)}\r\n\r\n")
                client.send(body)
            else:
                client.send(head + "Transfer-Encoding: chunked\r\n\r\n")
                client.send(chunked(body, 65_537))
            self.assertEqual(client.response().status, 200)
            self.assertEqual(self.upstream.one().json, {"a": value.decode()})

    def test_the_limit_at_n_and_one_more(self):
        for count, status in ((KIB - 1, 200), (KIB, 200), (KIB + 1, 413)):
            body = b"x" * count
            for is_chunked in (False, True):
                self.upstream.reset()
                client = self.client()
                framing = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {count}"
                client.send(f"POST /limit HTTP/1.1\r\nHost: a\r\n{framing}\r\n{github(body)}\r\n\r\n")
                client.send(chunked(body, 100) if is_chunked else body)
                response = client.response()
                self.assertEqual(response.status, status, (count, is_chunked))
                if status == 413:
                    self.assert_refused(response, "limit_signed", 413)

    def test_expect_is_answered_here(self):
        body = b"{}"
        client = self.client()
        client.send(f"POST /plain HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n{github(body)}\r\n\r\n")
        self.assertEqual(client.response().status, 100)
        client.send(body)
        self.assertEqual(client.response().status, 200)

    def test_slack_within_its_time(self):
        body = b"token=a&text=hi"
        for offset, code in ((0, None), (-270, None), (270, None), (-400, "signature_expired"), (400, "signature_future")):
            self.upstream.reset()
            stamp = str(int(time.time()) + offset)
            signature = "v0=" + sign(b"v0:" + stamp.encode() + b":" + body).hex()
            response = self.post("/slack", body, f"X-Slack-Signature: {signature}", f"X-Slack-Request-Timestamp: {stamp}",
                                 media_type=FORM)
            if code:
                self.assert_refused(response, code)
            else:
                self.assertEqual(response.status, 200, offset)
                self.assertEqual(self.upstream.one().json, {"token": "a", "text": "hi"})

    def test_twilio_signs_the_public_url_and_the_sorted_fields(self):
        target = "/twilio/call?foo=1&bar=%2F"
        signed = f"https://hooks.example.com{target}" + "Digits1234" + "To+1800"
        signature = base64.b64encode(sign(signed.encode(), digest="sha1")).decode()
        response = self.post(target, b"To=%2B1800&Digits=1234", f"X-Twilio-Signature: {signature}", media_type=FORM)
        self.assertEqual(response.status, 200)
        self.assertEqual(self.upstream.one().json, {"To": "+1800", "Digits": "1234"})
        self.upstream.reset()
        for other in ("/twilio/call?foo=1&bar=/", "/twilio/calls?foo=1&bar=%2F"):
            self.assert_refused(
                self.post(other, b"To=%2B1800&Digits=1234", f"X-Twilio-Signature: {signature}", media_type=FORM),
                "signature_mismatch")

    def test_any_other_sender_as_data(self):
        body, stamp = b"{}", str(int(time.time()))
        signed = f"d-1.POST./acme?x=1.{stamp}.".encode() + body
        value = base64.b64encode(sign(signed, digest="sha512")).decode()
        fields = (f"X-Acme: t={stamp},v1=AAAA,v1={value}", "X-Delivery: d-1")
        self.assertEqual(self.post("/acme?x=1", body, *fields).status, 200)
        self.assertEqual(self.upstream.one().fields.get("recast-verified"), "acme")
        self.upstream.reset()
        self.assert_refused(self.post("/acme?x=2", body, *fields), "signature_mismatch")
        self.assert_refused(self.post("/acme?x=1", body, fields[0]), "signature_missing")
        self.assert_refused(self.post("/acme?x=1", body, fields[0], "X-Delivery: d-2"), "signature_mismatch")

    def test_log_and_metrics_say_whose_it_is_and_nothing_secret(self):
        body = b"{}"
        metrics = Admin(self.admin_address).metrics
        count = {result: metrics().sum("recast_verifications_total", sender="github", result=result)
                 for result in ("verified", "mismatch")}
        self.post("/plain", body, github(body), "X-Request-Id: of-the-true-one")
        self.post("/plain", body, github(b"x"), "X-Request-Id: of-the-false-one")
        lines = [self.recast.log_entry(name) for name in ("of-the-true-one", "of-the-false-one")]
        self.assertEqual([(line["sender"], line["signature"], line.get("flags")) for line in lines],
                         [("github", "verified", None), ("github", "mismatch", "SV")])
        for result, number in count.items():
            self.assertEqual(metrics().sum("recast_verifications_total", sender="github", result=result), number + 1)
        text = json.dumps(lines) + self.recast.error_text() + Admin(self.admin_address).get("/config").decode()
        for secret in (SECRET, SECRET.encode().hex(), sign(body).hex(), sign(b"x").hex()):
            self.assertNotIn(secret, text)

    def test_no_name_with_an_underscore_passes_for_what_was_verified(self):
        stamp = str(int(time.time()))
        value = base64.b64encode(sign(f"m1.{stamp}.{{}}".encode())).decode()
        fields = ("svix-id: m1", f"svix-timestamp: {stamp}", f"svix-signature: v1,{value}")
        self.assertEqual(self.post("/passing", b"{}", *fields, "X_Other: a").status, 200)
        self.assertEqual(self.upstream.one().fields.get("x_other"), "a")
        self.upstream.reset()
        for imitation in ("svix_id: m2", "Webhook_Id: m2", "svix_signature: v1,AA=="):
            self.assert_refused(self.post("/passing", b"{}", *fields, imitation), "http_underscore_name", 400)

    def test_the_log_calls_nothing_verified_that_was_not(self):
        """Content that never comes whole is nobody's: one that is cut, and one whose client leaves."""
        head = f"POST /plain HTTP/1.1\r\nHost: a\r\n{github(b'{}')}\r\nX-Request-Id: "
        cut = self.client()
        cut.send(head + "never-whole-1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nZZ\r\n")
        self.assert_problem(cut.response("POST"), 400, "http_bad_chunk_size")
        leaving = self.client()
        leaving.send(head + "never-whole-2\r\nContent-Length: 3\r\n\r\n{}")
        leaving.wait_until_read()
        leaving.reset()
        for name, flag in (("never-whole-1", "BR"), ("never-whole-2", "CD")):
            line = self.recast.log_entry(name)
            self.assertEqual((line["sender"], line.get("signature"), line["flags"]), ("github", None, flag))
        self.assertEqual(self.upstream.requests, [])


class VectorTests(ProxyTestCase):
    """What senders have published, as bodies that are signed: each holds, or doesn't, as it says, and not with a byte changed."""

    ALGORITHMS = {"ecdsa-p256-sha256-der": "ecdsa-p256", "ecdsa-p256-sha256-raw": "ecdsa-p256-raw"}

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(ROOT, "Tests", "Vectors", "webhook-vectors.json")) as file:
            # One is a digest without a secret: Twilio's of a JSON body, which the unit tests have.
            cls.vectors = [vector for vector in json.load(file) if vector["algorithm"] != "sha256"]
        cls.routes = "".join(cls.route(number, vector) for number, vector in enumerate(cls.vectors))
        super().setUpClass()

    @classmethod
    def route(cls, number, vector):
        algorithm = cls.ALGORITHMS.get(vector["algorithm"], vector["algorithm"])
        secret, encoding = vector.get("key"), "text"
        if secret is None:
            secret, encoding = vector["key_base64"], "pem" if algorithm.startswith("ecdsa") else "base64"
        if algorithm == "ed25519":
            secret, encoding = base64.b64decode(secret).hex(), "ed25519"
        verify = {"sender": f"v{number}", "header": "X-Signature", "algorithm": algorithm, "encoding": vector["encoding"],
                  "secret": {"value": secret, "encoding": encoding}}
        return f"  - {json.dumps({'name': f'v{number}', 'match': f'/v{number}', 'upstream': 'app', 'verify': verify})}\n"

    def test_each_vector(self):
        self.assertEqual(len(self.vectors), 32)
        for number, vector in enumerate(self.vectors):
            with self.subTest(vector["name"]):
                self.upstream.reset()
                body, field = vector["signed"].encode(), f"X-Signature: {vector['signature']}"
                response = self.send("POST", f"/v{number}", body, JSON, (field,))
                if not vector["valid"]:
                    self.assert_problem(response, 401, "signature_mismatch")
                    continue
                self.assertEqual(response.status, 200)
                self.assertEqual(self.upstream.one().body, body)
                self.upstream.reset()
                for at in sorted({0, len(body) // 2, len(body) - 1} if body else ()):
                    other = body[:at] + bytes([body[at] ^ 1]) + body[at + 1:]
                    self.assert_problem(self.send("POST", f"/v{number}", other, JSON, (field,)), 401, "signature_mismatch")
                self.assert_problem(self.send("POST", f"/v{number}", body + b"\n", JSON, (field,)), 401, "signature_mismatch")
                self.assertEqual(self.upstream.requests, [])


class CommandTests(unittest.TestCase):
    """`recast sign` and `recast verify`."""

    def run_command(self, *arguments, body=b"a=1&b=%C3%A4"):
        result = subprocess.run([RECAST, *arguments], input=body, capture_output=True)
        return result.returncode, result.stdout.decode(), result.stderr.decode()

    def test_what_is_signed_is_verified_and_nothing_else_is(self):
        for sender, secret in (
            ("github", "s"), ("slack", "s"), ("stripe", "whsec_x"), ("svix", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
            ("twilio", "s"), ("mandrill", "s"), ("square", "s"), ("hubspot", "s"), ("zendesk", "s"), ("gitlab-token", "s"),
            ("shopify", "s"),
        ):
            with self.subTest(sender):
                url = "https://hooks.example.com/a?b=%2F"
                common = (sender, "--secret", secret, "--url", url)
                signs_url = sender in ("twilio", "mandrill", "square", "hubspot")
                code, output, errors = self.run_command("sign", *(common if signs_url else common[:3]))
                self.assertEqual((code, errors), (0, ""))
                fields = [part for line in output.splitlines() for part in ("-H", line)]
                self.assertEqual(self.run_command("verify", *common, *fields), (0, f"verified: {sender}\n", ""))
                code, output, errors = self.run_command("verify", sender, "--secret", secret + "A", "--url", url, *fields)
                self.assertEqual((code, output), (65, "") if sender != "svix" else (code, ""), errors)
                if sender != "gitlab-token":
                    code, output, errors = self.run_command("verify", *common, *fields, body=b"a=2&b=%C3%A4")
                    self.assertEqual((code, output), (65, ""))
                    self.assertIn("mismatch", errors)
                self.assertEqual(self.run_command("verify", *common)[0], 65)

    def test_a_secret_from_a_file_and_a_time(self):
        wanted = self.run_command("sign", "slack", "--secret", "s", "--time", "1700000000")
        self.assertIn("X-Slack-Request-Timestamp: 1700000000\n", wanted[1])
        for text in (b"s\n", b"s\r\n", b"s"):
            with tempfile.NamedTemporaryFile() as file:
                file.write(text)
                file.flush()
                one = self.run_command("sign", "slack", "--secret-file", file.name, "--time", "1700000000")
            self.assertEqual(one, wanted, text)

    def test_a_secret_that_is_no_text_is_refused(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"geheim\xff\n")
            file.flush()
            for command in ("sign", "verify"):
                code, output, errors = self.run_command(command, "github", "--secret-file", file.name)
                self.assertEqual((code, output), (69, ""))
                self.assertIn("is not UTF-8 in line 1", errors)

    def test_wrong_usage_is_told(self):
        for arguments, message in (
            (("sign", "nobody", "--secret", "geheim"), 'there is no sender "nobody"'), (("sign", "github"), "give --secret"),
            (("sign", "github", "--secret", "geheim", "--secret-file", "/x"), "give --secret"),
            (("sign", "github", "--secret-file", "/nowhere"), "there is no file /nowhere"), 
            (("sign", "sns", "--secret", "geheim"), "signs in the body"), (("sign", "paypal", "--secret", "geheim"), "signs in the body"),
            (("sign", "mailgun", "--secret", "geheim"), "signs in the body"), (("sign", "svix", "--secret", "ge.heim"), "is not whsec_"),
            (("verify", "github", "--secret", "geheim", "-H", "a b"), "Name: value"),
            (("sign", "github", "--secret", "geheim", "--encoding", "rot13"), "known are text, hex, base64, whsec, pem, ed25519"),
            (("sign", "github", "--secret", "geheim", "--id", "a\r\nX-Other: b"), "--id holds a control"),
            (("sign", "github", "--secret", "geheim", "--type", "a\nb"), "--type holds a control"),
            (("sign", "github", "--secret", b"geheim\xff"), "not UTF-8"), (("verify", "github", "--secret", b"geheim\xff"), "not UTF-8"),
            *(((command, "square", "--secret", "geheim", "--url", url), "--url is what the sender was told")
              for command in ("sign", "verify")
              for url in ("foo", "", "ftp://x/", "http://x/?q=a b", "http://", "http:///a", "http://x:99999/", "http://x:y/", "https://x/#a",
                          "https://\u00e4/", "https://x/\u00e4", "//x/", "http://[]/", "http://u@/")),
            *(((command, "stripe", "--secret", "whsec_geheim", f"--time={moment}"), f"--time is 0 to 253402300799 seconds since 1970, not {moment}")
              for command in ("sign", "verify") for moment in (-1, 253402300800, 2**63 - 1, -2**63)),
        ):
            with self.subTest(arguments):
                code, output, errors = self.run_command(*arguments)
                self.assertIn(code, (64, 69))
                self.assertEqual(output, "")
                self.assertIn(message, errors)
                self.assertNotIn("heim", errors)


    def test_who_forgets_the_url_is_told(self):
        for sender in ("twilio", "mandrill", "square", "hubspot", "rfc9421"):
            with self.subTest(sender):
                code, signed, errors = self.run_command("sign", sender, "--secret", "s", "--url", "https://h.example/a")
                self.assertEqual((code, errors), (0, ""))
                fields = [part for line in signed.splitlines() for part in ("-H", line)]
                code, output, errors = self.run_command("verify", sender, "--secret", "s", *fields)
                self.assertEqual((code, output), (65, ""))
                self.assertIn("mismatch: ", errors)
                self.assertIn("signs the URL, here http://localhost/: --url says", errors)
                code, output, errors = self.run_command("sign", sender, "--secret", "s")
                self.assertEqual((code, output != ""), (0, True))
                self.assertIn("signs the URL, here http://localhost/: --url says", errors)
        for sender in ("github", "slack", "stripe"):
            self.assertEqual(self.run_command("sign", sender, "--secret", "whsec_x")[2], "")

    def test_a_line_end_that_an_editor_or_echo_has_put_behind_the_body_is_told(self):
        signed = self.run_command("sign", "github", "--secret", "s", body=b'{"a":1}')[1]
        for body, told in ((b'{"a":1}\n', True), (b'{"a":1}\r\n', True), (b'{"a":2}\n', False), (b'{"a":1}\n\n', False)):
            code, output, errors = self.run_command("verify", "github", "--secret", "s", "-H", signed, body=body)
            self.assertEqual((code, output), (65, ""))
            self.assertEqual("without the line end behind the body it does" in errors, told, body)

    def test_fields_may_come_as_sign_prints_them(self):
        signed = self.run_command("sign", "slack", "--secret", "s")[1]
        for text in (signed, signed.rstrip("\n"), signed.replace("\n", "\r\n")):
            self.assertEqual(self.run_command("verify", "slack", "--secret", "s", "-H", text), (0, "verified: slack\n", ""))
        for text, line in ((signed + "x\n", "x"), ("", ""), ("a: b\n\nc: d", "")):
            code, output, errors = self.run_command("verify", "slack", "--secret", "s", "-H", text)
            self.assertEqual((code, output), (64, ""))
            self.assertIn(f'"{line}" is no \'Name: value\'', errors)

    def test_an_option_without_effect_is_refused(self):
        for sender, option, reason in (
            ("github", "--url=https://x/", "github signs no URL"), ("github", "--id=1", "github signs no id"),
            ("github", "--time=1", "github signs no time"), ("github", "--method=PUT", "github signs no method"),
            ("github", "--type=application/json", "github signs a body of any type"), ("github", "--key-id=k", "github says no name of a key"),
            ("slack", "--id=1", "slack signs no id"), ("square", "--time=1", "square signs no time"), ("twilio", "--time=1", "twilio signs no time"),
            ("linear", "--time=1", "linear signs the time that stands in the body"),
            ("stripe", "--url=https://x/", "stripe signs no URL"), ("rfc9421", "--id=1", "rfc9421 signs no id"),
        ):
            with self.subTest(sender=sender, option=option):
                secret = "whsec_geheim" if sender == "stripe" else "geheim"
                code, output, errors = self.run_command("sign", sender, "--secret", secret, option)
                self.assertEqual((code, output), (64, ""))
                self.assertIn(f"recast sign: {reason}: leave {option.split('=')[0]} out", errors)
        for sender, options, reason in (
            ("github", ("--time=1",), "signs no time"), ("github", ("--key-id=k",), "says no name of a key"),
            ("github", ("--webhook-id=1",), "has no webhooks with ids"),
            ("twilio", ("--type=text/plain", "-H", "content-type: application/json"), "reads the Content-Type that is among the fields"),
        ):
            with self.subTest(sender=sender, options=options):
                code, output, errors = self.run_command("verify", sender, "--secret", "geheim", *options)
                self.assertEqual((code, output), (64, ""))
                self.assertIn(f"recast verify: {sender} {reason}: leave {options[0].split('=')[0]} out", errors)

    def test_the_last_time_is_signed(self):
        url = ("--url", "https://h.example/")
        for sender, secret, target in (("stripe", "whsec_x", ()), ("zendesk", "s", ()), ("hubspot", "s", url), ("rfc9421", "s", url)):
            for moment in ("0", "253402300799"):
                with self.subTest(sender=sender, time=moment):
                    common = (sender, "--secret", secret, "--time", moment, *target)
                    code, output, errors = self.run_command("sign", *common)
                    self.assertEqual((code, errors), (0, ""))
                    fields = [part for line in output.splitlines() for part in ("-H", line)]
                    self.assertEqual(self.run_command("verify", *common, *fields), (0, f"verified: {sender}\n", ""))

    def test_a_url_without_a_path_is_the_one_that_a_client_sends(self):
        for sender, more in (("rfc9421", ("--time", "1700000000", "--url")), ("github", ("--url",))):
            for short, sent in (("http://h.example", "http://h.example/"), ("http://h.example?a=1", "http://h.example/?a=1"),
                                ("http://h.example?next=/a", "http://h.example/?next=/a")):
                for url, other in ((short, sent), (sent, short)):
                    with self.subTest(sender=sender, url=url):
                        common = (sender, "--secret", "s", *more)
                        code, output, errors = self.run_command("sign", *((*common, url) if sender == "rfc9421" else common[:3]))
                        self.assertEqual((code, errors), (0, ""))
                        fields = [part for line in output.splitlines() for part in ("-H", line)]
                        self.assertEqual(self.run_command("verify", *common, other, *fields), (0, f"verified: {sender}\n", ""))

    def test_a_url_may_have_all_that_senders_are_told(self):
        for url in ("http://x", "HTTPS://x.example:8443/a/b?c=d&e=%20", "https://user:word@x/", "http://[::1]:80/", "http://x?a", "http://x:/"):
            with self.subTest(url):
                self.assertEqual(self.run_command("sign", "square", "--secret", "s", "--url", url)[0], 0)

    def test_a_request_has_its_host_in_the_url_and_in_its_fields(self):
        def verify(sender, signed, *arguments):
            fields = [part for line in signed.splitlines() for part in ("-H", line)]
            return self.run_command("verify", sender, "--secret", "s", *fields, *arguments)

        for url, hosts in (("http://h.example/x", ("h.example", "H.example:80")), ("https://h.example:8443/x?a=1", ("h.example:8443",)),
                           ("HTTPS://h.example/x", ("h.example:443",)), ("http://[::1]:8080/", ("[::1]:8080",)),
                           ("http://user:word@h.example/?a", ("h.example",)), ("http://h.example:/", ("h.example",))):
            for sender in ("github", "square", "rfc9421"):
                code, signed, errors = self.run_command("sign", sender, "--secret", "s", *(("--url", url) if sender != "github" else ()))
                self.assertEqual((code, errors), (0, ""))
                for host in (None, *hosts):
                    with self.subTest(url=url, sender=sender, host=host):
                        more = ("-H", f"Host: {host}") if host else ()
                        self.assertEqual(verify(sender, signed, "--url", url, *more), (0, f"verified: {sender}\n", ""))
                code, output, errors = verify(sender, signed, "--url", url, "-H", "Host: other.example")
                self.assertEqual((code, output), (64, ""))
                self.assertIn("Host names another host than --url", errors)
        # Without a URL the request says where it went.
        signed = self.run_command("sign", "square", "--secret", "s", "--url", "http://h.example:81/")[1]
        self.assertEqual(verify("square", signed, "-H", "Host: h.example:81")[0], 0)
        self.assertEqual(verify("square", signed, "-H", "Host: h.example")[0], 65)
        self.assertEqual(verify("square", self.run_command("sign", "square", "--secret", "s")[1])[0], 0)
        for field, reason in (("Host: a b", "not a host"), ("b c: d", "no fields of a request")):
            code, output, errors = verify("square", signed, "-H", field)
            self.assertEqual((code, output), (64, ""))
            self.assertIn(reason, errors)
        self.assertIn("Host must appear once", verify("square", signed, "-H", "Host: a", "-H", "Host: a")[2])

    def test_what_cannot_be_signed_is_told_to_who_signs(self):
        def sign(sender, *more, body=b'{"a":1}'):
            return self.run_command("sign", sender, "--secret", "s", *more, body=body)

        digest = hashlib.sha256(b'{"a":1}').hexdigest()
        for media_type in ("text/plain", "application/json"):
            code, output, errors = sign("twilio", "--type", media_type, "--url", "https://x/a")
            self.assertEqual((code, output), (65, ""))
            self.assertIn(f"add bodySHA256={digest} to --url", errors)
            common = ("--type", media_type, "--url", f"https://x/a?bodySHA256={digest}")
            code, output, errors = sign("twilio", *common)
            self.assertEqual((code, errors), (0, ""))
            self.assertEqual(self.run_command("verify", "twilio", "--secret", "s", *common, "-H", output.strip(), body=b'{"a":1}')[0], 0)
            code, output, errors = sign("mandrill", "--type", media_type)
            self.assertEqual((code, output), (65, ""))
            self.assertIn("mandrill signs the fields of a form", errors)
        for sender, body, reason in (("linear", b'{"a":1}', "it has no /webhookTimestamp"), ("linear", b"x", "that can't be read"),
                                     ("linear", b'{"webhookTimestamp":"soon"}', "that can't be read"),
                                     ("x", b"YWJj", "a body that looks like one")):
            code, output, errors = sign(sender, body=body)
            self.assertEqual((code, output), (65, ""), (sender, body))
            self.assertIn(reason, errors)
        # Empty content has no fields, whatever its type says.
        code, output, errors = sign("mandrill", "--type", "text/plain", "--url", "https://x/a", body=b"")
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(self.run_command("verify", "mandrill", "--secret", "s", "--type", "text/plain", "--url", "https://x/a",
                                          "-H", output.strip(), body=b"")[0], 0)
        code, output, errors = sign("svix", "--id", "a.b", "--encoding", "text")
        self.assertEqual((code, output), (65, ""))
        self.assertIn("take another id", errors)


class CheckTests(unittest.TestCase):
    def check(self, verify):
        if "(" in verify:
            verify = f'"{verify}"'
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("version: 1\nlisten: 127.0.0.1:1\nupstreams: { app: 127.0.0.1:2 }\n"
                       f"routes:\n  - name: a\n    match: /\n    upstream: app\n    verify: {verify}\n")
            file.flush()
            result = subprocess.run([RECAST, "check", "--quiet", file.name], capture_output=True, text=True)
            return result.returncode, (result.stdout + result.stderr).replace(file.name, "FILE")

    def test_what_is_wrong_is_told(self):
        for verify, message in (
            ("github(secret: geheim)", None), ("{ preset: slack, secret: a, tolerance: off }", None),
            ("githup(secret: geheim)", 'there is no preset "githup": '), ("github", "needs a secret"),
            ("github(secret: '')", "the secret is empty"), ("github(secret: geheim, tolerance: 5m)", "this one has none"),
            ("github(secret: geheim) -> x", "nothing follows"), ("discord(secret: geheim)", "is no Ed25519 key"),
            ("sns(secret: geheim)", "is no key"), ("github(secret: geheim, public_url: 'https://a')", "doesn't sign the URL"),
            ("twilio(secret: geheim, public_url: hooks)", '"public_url" is what'), ("github(secret: geheim, extra: 1)", 'no key "extra"'),
            ("{ secret: geheim }", 'needs "header"'), ("{ header: X-A, secret: geheim, signed: '{time}' }", "has {time}, which is none"),
            ("{ header: X-A, secret: geheim, signed: '{id}{body}' }", 'add "id"'),
            ("{ header: X-A, secret: geheim, signed: hello }", "is the same for each request"),
            ("{ header: X-A, secret: geheim, signed: '{timestamp}{body}' }", 'add "timestamp"'),
            # A time or an id that nothing signs protects from nothing.
            ("{ header: X-A, secret: geheim, timestamp: { header: X-T } }", 'the time isn\'t signed'),
            ("{ header: X-A, secret: geheim, timestamp: { header: X-T }, signed: '{body}' }", '"signed" has no {timestamp}'),
            ("{ header: X-A, secret: geheim, list: { timestamp: t, signature: v1 } }", 'the time isn\'t signed'),
            ("{ header: X-A, secret: geheim, timestamp: { member: at }, signed: '{path}' }", '"signed" has no {body}'),
            ("{ header: X-A, secret: geheim, timestamp: { member: at } }", None),
            ("{ header: X-A, secret: geheim, timestamp: { header: X-T }, signed: '{timestamp}{body}' }", None),
            ("{ header: X-A, secret: geheim, id: X-Id }", 'the id isn\'t signed'),
            ("{ header: X-A, secret: geheim, id: X-Id, signed: '{id}{body}' }", None),
            ("{ header: X-A, secret: geheim, algorithm: equal, timestamp: { header: X-T }, signed: '{timestamp}' }", '"algorithm: equal" signs'),
            # What nothing looks at is refused, and so is a secret by which no signature could hold.
            ("{ header: X-A, secret: geheim, algorithm: equal, signed: '{body}' }", '"signed" is for signatures'),
            ("{ header: X-A, secret: geheim, algorithm: equal, encoding: hex }", '"encoding" is for signatures'),
            ("{ header: X-A, secret: geheim, algorithm: equal, prefix: 'Token ' }", None),
            ("{ preset: rfc9421, secret: geheim, algorithm: ed25519 }", "ed25519 isn't made with a shared secret"),
            ("{ preset: rfc9421, secret: geheim, algorithm: hmac-sha256 }", None),
            ("{ preset: rfc9421, secrets: [ geheim, sesam ], algorithm: ed25519 }", "ed25519 isn't made with a shared secret"),
            # Whoever has recorded a token can send anything.
            ("gitlab(secret: geheim, replay: 10m)", '"replay" can\'t be had of gitlab'), ("gitlab(secret: geheim, replay: off)", None),
            ("{ preset: gitlab-token, secret: geheim, replay: { remember: 10m } }", "can't be had of gitlab-token"),
            ("{ header: X-A, secret: geheim, algorithm: equal, replay: 1m }", "can't be had of custom"),
            ("{ header: X-A, secret: geheim, algorithm: md5 }", '"algorithm" is not "md5"'),
            ("{ header: X-A, secret: geheim, algorithm: rsa-sha256 }", "is no key"),
            ("{ header: 'X A', secret: geheim }", '"header" is the name of a field'),
            ("{ header: X-A, prefix: a, list: { signature: v1 }, secret: geheim }", "exclude each other"),
            ("{ header: X-A, list: { separator: ', ', signature: v1 }, secret: geheim }", "is one character"),
            ("{ preset: github, secret: a, secrets: [b] }", "exclude each other"), ("[a]", "is a mapping"),
            ("{ preset: github, secret: a, on_failure: 500 }", '"on_failure" is not "500"'),
            ("paypal(secret: geheim)", "is no key"),
        ):
            with self.subTest(verify):
                code, output = self.check(verify)
                self.assertEqual(code == 0, message is None, output)
                if message:
                    self.assertIn(message, output)
                    self.assertNotIn("geheim", output)


if __name__ == "__main__":
    unittest.main()
