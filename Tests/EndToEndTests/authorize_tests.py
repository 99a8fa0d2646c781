"""Routes with `authorize`: whose requests come in, what others are told, and that no secret is."""

import base64
import hashlib
import json
import unittest

from admin import Admin, admin_port
from harness import FORM, JSON, ProxyTestCase

DIGEST = hashlib.sha256("pass:w\u00f6rd".encode())


def basic(user, password):
    return "Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class AuthorizeTests(ProxyTestCase):
    admin_address, admin_line = admin_port()
    settings = admin_line
    routes = f"""
  - {{ name: bearer, match: /bearer, upstream: app, authorize: [{{ bearer: [token-one, "tok en+/=two"] }}] }}
  - {{ name: basic, match: /basic, upstream: app, authorize: {{ basic: {{ ada: "secret:with colon", bob: "{{SHA256}}{DIGEST.hexdigest()}",
      eve: "{{SHA256}}{base64.b64encode(DIGEST.digest()).decode()}" }} }} }}
  - {{ name: key, match: /key, upstream: app, authorize: [{{ header: X-Api-Key, keys: [k1, k2] }}] }}
  - {{ name: any, match: /any, upstream: app, request: form -> json,
      authorize: [{{ bearer: token }}, {{ basic: {{ ada: pw }} }}, {{ header: X-Api-Key, keys: k }}] }}
  - {{ name: hashed, match: /hashed, upstream: app, authorize: [{{ bearer: "{{SHA256}}{DIGEST.hexdigest()}" }},
      {{ header: X-Api-Key, keys: ["{{SHA256}}{base64.b64encode(DIGEST.digest()).decode()}"] }}] }}
  - {{ name: passing, match: /passing, upstream: app, underscores: pass, authorize: [{{ bearer: token }}, {{ header: X-Api-Key, keys: k }}] }}
  - {{ name: open, match: /open, upstream: app }}
"""

    def get(self, path, *fields):
        return self.send("GET", path, fields=fields)

    def assert_refused(self, response, code, challenge):
        self.assert_problem(response, 401, f"authorization_{code}")
        self.assertEqual(response.fields.all("www-authenticate"), [challenge])
        self.assertEqual(self.upstream.requests, [])

    def assert_in(self, path, *fields):
        self.upstream.reset()
        self.assertEqual(self.get(path, *fields).status, 200)
        self.upstream.one()
        self.upstream.reset()

    def test_bearer(self):
        for value in ("Bearer token-one", "bearer token-one", "BEARER   token-one", "Bearer tok en+/=two"):
            self.assert_in("/bearer", "Authorization: " + value)
        self.assert_refused(self.get("/bearer"), "missing", 'Bearer realm="recast"')
        self.assert_refused(self.get("/bearer", basic("token-one", "")), "missing", 'Bearer realm="recast"')
        for value in ("Bearer", "Bearer ", "Digest token-one", "token-one", ""):
            self.assert_refused(self.get("/bearer", "Authorization: " + value), "missing", 'Bearer realm="recast"')
        for value in ("Bearer token-on", "Bearer token-one2", "Bearer TOKEN-ONE", "Bearer x", "Bearer tok"):
            self.assert_refused(self.get("/bearer", "Authorization: " + value), "refused", 'Bearer realm="recast", error="invalid_token"')
        response = self.get("/bearer", "Authorization: Bearer token-one", "Authorization: Bearer x")
        self.assert_problem(response, 400, "http_repeated_field")

    def test_basic(self):
        challenge = 'Basic realm="recast", charset="UTF-8"'
        for user, password in (("ada", "secret:with colon"), ("bob", "pass:w\u00f6rd"), ("eve", "pass:w\u00f6rd")):
            self.assert_in("/basic", basic(user, password))
        self.assert_refused(self.get("/basic"), "missing", challenge)
        for credentials in (basic("ada", "pass:w\u00f6rd"), basic("bob", "secret:with colon"), basic("ada", ""), basic("", ""), basic("Ada", "secret:with colon"),
                            basic("bob", DIGEST.hexdigest()), "Authorization: Basic !", "Authorization: Basic YWRh"):
            self.assert_refused(self.get("/basic", credentials), "refused", challenge)

    def test_a_key_in_a_field(self):
        challenge = 'ApiKey realm="recast", header="X-Api-Key"'
        self.assert_in("/key", "x-api-key: k2")
        self.assert_refused(self.get("/key"), "missing", challenge)
        for fields in (("X-Api-Key: k3",), ("X-Api-Key: K1",), ("X-Api-Key:",), ("X-Api-Key: k1", "X-Api-Key: k1"), ("X-Api-Key: k1, k2",)):
            self.assert_refused(self.get("/key", *fields), "refused", challenge)

    def test_tokens_and_keys_stand_as_their_digests_too(self):
        secret = "pass:w\u00f6rd".encode().decode("latin-1")
        for field in (f"Authorization: Bearer {secret}", f"X-Api-Key: {secret}"):
            self.assert_in("/hashed", field)
        for given in ("{SHA256}" + DIGEST.hexdigest(), DIGEST.hexdigest()):
            for field in (f"Authorization: Bearer {given}", f"X-Api-Key: {given}"):
                response = self.get("/hashed", field)
                self.assert_problem(response, 401, "authorization_refused")
        self.assertEqual(self.upstream.requests, [])

    def test_no_name_with_an_underscore_passes_for_a_key(self):
        for credentials in ("X-Api-Key: k", "Authorization: Bearer token"):
            self.upstream.reset()
            self.assertEqual(self.get("/passing", credentials, "X_Other: a").status, 200)
            self.assertEqual(self.upstream.one().fields.get("x_other"), "a")
            self.upstream.reset()
            self.assert_problem(self.get("/passing", credentials, "X_Api_Key: admin"), 400, "http_underscore_name")
            self.assertEqual(self.upstream.requests, [])

    def test_any_of_them_lets_a_request_in_before_its_body_is_looked_at(self):
        for credentials in ("Authorization: Bearer token", basic("ada", "pw"), "X-Api-Key: k"):
            self.upstream.reset()
            self.assertEqual(self.send("POST", "/any", b"a=1", FORM, (credentials,)).status, 200)
            request = self.upstream.one()
            self.assertEqual(request.json, {"a": "1"})
            name, value = credentials.split(": ")
            self.assertEqual(request.fields.get(name), value)
        self.upstream.reset()
        challenge = 'Bearer realm="recast", Basic realm="recast", charset="UTF-8", ApiKey realm="recast", header="X-Api-Key"'
        self.assert_refused(self.send("POST", "/any", b"\xff" * 100, "image/png"), "missing", challenge)
        # An error is told of a bearer token alone (RFC 6750 section 3.1).
        refused = challenge.replace('"recast"', '"recast", error="invalid_token"', 1)
        for fields, expected in (((basic("ada", "no"),), challenge), (("X-Api-Key: no",), challenge), (("Authorization: Basic !",), challenge),
                                 (("Authorization: Bearer no",), refused), (("Authorization: bearer no", "X-Api-Key: no"), refused)):
            self.assert_refused(self.send("POST", "/any", b"a=1", FORM, fields), "refused", expected)
        for field in ("Authorization: Bearer ", "Authorization: Digest x"):
            self.assert_refused(self.send("POST", "/any", b"a=1", FORM, (field,)), "missing", challenge)
        # A wrong one of one kind doesn't spoil a right one of another.
        self.assertEqual(self.send("POST", "/any", b"a=1", FORM, ("Authorization: Bearer no", "X-Api-Key: k")).status, 200)

    def test_a_connection_goes_on_and_the_body_of_a_refused_request_is_not_taken_for_the_next(self):
        client = self.client()
        for _ in range(3):
            client.request("POST", "/key", b"GET /open HTTP/1.1\r\nHost: a\r\n\r\n", JSON)
            self.assertEqual(client.response("POST").status, 401)
            client.request("POST", "/key", b"{}", JSON, ("X-Api-Key: k1",))
            self.assertEqual(client.response("POST").status, 200)
        self.assertEqual([request.target for request in self.upstream.requests], ["/key"] * 3)

    def test_a_client_that_waits_for_100_hears_401(self):
        client = self.client()
        client.send(b"POST /key HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        self.assertEqual(client.response("POST").status, 401)

    def test_log_metrics_and_config_say_who_and_nothing_secret(self):
        metrics = Admin(self.admin_address).metrics
        def counts():
            samples = metrics()
            return {result: samples.sum("recast_authorizations_total", route="basic", result=result) for result in ("basic", "missing", "refused")}
        before = counts()
        self.get("/basic", basic("ada", "secret:with colon"), "X-Request-Id: a-granted")
        self.get("/basic", "X-Request-Id: a-missing")
        self.get("/basic", basic("ada", "guess"), "X-Request-Id: a-refused")
        self.assertEqual(counts(), {result: count + 1 for result, count in before.items()})
        entries = [self.recast.log_entry(f"a-{word}") for word in ("granted", "missing", "refused")]
        self.assertEqual([(entry["authorization"], entry.get("user"), entry.get("flags"), entry["status"]) for entry in entries],
                         [("basic", "ada", None, 200), ("missing", None, "AU", 401), ("refused", None, "AU", 401)])
        text = json.dumps(entries) + self.recast.error_text() + Admin(self.admin_address).get("/config").decode()
        for secret in ("secret:with colon", "guess", DIGEST.hexdigest(), "token-one"):
            self.assertNotIn(secret, text)


if __name__ == "__main__":
    unittest.main()
