"""What happens to the fields of a message on its way, and what the log says of it."""

import requests

from harness import DEADLINE, FORM, Client, ProxyTestCase, free_port


class FieldTests(ProxyTestCase):
    routes = """
  - { name: form-json, match: /form-json, upstream: app, request: form -> json }
  - name: rewritten
    match: { method: [POST, PUT], path: "/api/orders/{id}", type: application/json }
    upstream: app
    rewrite: { path: "/orders.php", query: { id: "${path.id}" } }
    request: json -> form
  - { name: other-host, match: { path: /only, host: shop.example }, upstream: app }
  - { name: plain, match: "/plain/*", upstream: app }
"""

    def test_hop_by_hop_fields_of_a_request_stay_here(self):
        for path, body in (("/plain/x", b"a=1"), ("/form-json", b"a=1")):
            with self.subTest(path):
                self.upstream.reset()
                self.send("POST", path, body, FORM, [
                    "Connection: keep-alive, X-Named", "X-Named: n", "Keep-Alive: timeout=5", "Proxy-Connection: keep-alive",
                    "TE: trailers", "Trailer: X-T", "Proxy-Authorization: Basic eA==", "HTTP2-Settings: AAMAAABkAAQAoAAA", "X-Kept: k"])
                fields = self.upstream.one().fields
                for name in ("x-named", "keep-alive", "proxy-connection", "te", "trailer", "proxy-authorization", "http2-settings",
                             "upgrade"):
                    self.assertNotIn(name, fields)
                self.assertEqual(fields.all("x-kept"), ["k"])

    def test_hop_by_hop_fields_of_a_response_stay_here(self):
        def script(exchange):
            exchange.read_body()
            exchange.answer(fields=("Connection: keep-alive, X-Named, Cache-Control", "X-Named: n", "Keep-Alive: timeout=5", "X-Kept: k",
                                    "Cache-Control: no-store", "Set-Cookie: a=1", "Set-Cookie: b=2"))

        self.upstream.script = script
        fields = self.send("GET", "/plain/x").fields
        self.assertNotIn("x-named", fields)
        self.assertNotIn("keep-alive", fields)
        self.assertEqual((fields.all("x-kept"), fields.all("set-cookie")), (["k"], ["a=1", "b=2"]))
        # It is for all who get the response, whatever Connection says.
        self.assertEqual(fields.all("cache-control"), ["no-store"])

    def test_fields_that_describe_the_old_body_go_when_the_body_is_re_encoded(self):
        self.send("POST", "/form-json", b"a=1", FORM, ["Content-MD5: x", "Digest: sha-256=x", "Content-Digest: sha-256=:x:", "Range: bytes=0-1"])
        fields = self.upstream.one().fields
        for name in ("content-md5", "digest", "content-digest", "range"):
            self.assertNotIn(name, fields)

    def test_a_part_of_a_body_is_no_body_to_convert(self):
        fields = ["Content-Range: bytes 0-2/9"]
        response = self.send("PUT", "/form-json", b"a=1", FORM, fields)
        self.assertEqual((response.status, response.json["code"]), (400, "request_partial_content"))
        self.assertEqual(self.upstream.bytes_received, 0)
        self.assertEqual(self.send("PUT", "/plain/x", b"a=1", FORM, fields).status, 200)
        self.assertEqual(self.upstream.one().fields.all("content-range"), ["bytes 0-2/9"])

    def test_a_request_without_a_host_has_the_upstreams(self):
        with self.client() as client:
            client.send("GET /plain/x HTTP/1.0\r\n\r\n")
            self.assertEqual(client.response().status, 200)
        fields = self.upstream.one().fields
        self.assertEqual((fields.all("host"), fields.all("x-forwarded-host")), ([f"127.0.0.1:{self.upstream.port}"], []))

    def test_the_upstream_is_told_of_the_client(self):
        self.send("GET", "/plain/x", fields=["X-Forwarded-For: 6.6.6.6", "X-Forwarded-Proto: https", "X-Forwarded-Host: evil.example"])
        fields = self.upstream.one().fields
        # What an unknown client says of itself is replaced: it could say anything.
        self.assertEqual(fields.all("x-forwarded-for"), ["127.0.0.1"])
        self.assertEqual(fields.all("x-forwarded-proto"), ["http"])
        self.assertEqual(fields.all("x-forwarded-host"), ["client.example"])

    def test_a_request_has_an_id_its_own_or_a_new_one(self):
        self.send("GET", "/plain/x", fields=["X-Request-Id: mine-1"])
        self.assertEqual(self.upstream.one().fields.all("x-request-id"), ["mine-1"])
        ids = set()
        for _ in range(3):
            self.upstream.reset()
            self.send("GET", "/plain/x")
            ids.add(self.upstream.one().fields.get("x-request-id"))
        self.assertEqual(len(ids), 3)
        self.assertGreaterEqual(min(len(text or "") for text in ids), 16)

    def test_a_target_is_rewritten(self):
        self.assertEqual(self.send("PUT", "/api/orders/a%2Fb%26c", b'{"a":1}', "application/json").status, 200)
        received = self.upstream.one()
        self.assertEqual((received.method, received.target, received.body), ("PUT", "/orders.php?id=a%2Fb%26c", b"a=1"))

    def test_a_route_is_matched_by_host(self):
        self.assertEqual(self.send("GET", "/only").status, 404)
        with self.client() as client:
            client.send("GET /only HTTP/1.1\r\nHost: SHOP.example:80\r\n\r\n")
            self.assertEqual(client.response().status, 200)

    def test_a_session_of_requests_is_served(self):
        with requests.Session() as session:
            for number in range(10):
                self.assertEqual(session.post(self.url("/form-json"), data={"n": number}, timeout=DEADLINE).text, "ok")
        seen = self.upstream.wait_for(10)
        self.assertEqual([received.json["n"] for received in seen], [str(number) for number in range(10)])



class AddressTests(ProxyTestCase):
    """Addresses of the upstream in responses (docs/forwarding.md)."""

    routes = """
  - { name: new, match: { method: POST, path: /orders }, upstream: app, rewrite: /v1/orders, addresses: outer }
  - { name: one, match: "/orders/{id}", upstream: app, rewrite: "/v1/orders/${path.id}", response: form -> json, addresses: outer }
  - { name: shop, match: "/shop/*", upstream: app, rewrite: "/${path.*}", addresses: outer }
  - name: ruled
    match: "/ruled/*"
    upstream: app
    rewrite: "/${path.*}"
    host: upstream
    addresses: outer
    headers: { response: { set: { Content-Location: /set }, remove: ["Set-*"], add: { X-After: a } } }
  - { name: passes, match: "/*", upstream: app, rewrite: "/v1/${path.*}" }
"""

    def answer(self, *fields, status=201, body=b""):
        def script(exchange):
            exchange.read_body()
            exchange.answer(status=status, fields=fields, body=body)

        self.upstream.script = script

    def test_what_leads_to_the_upstream_leads_to_the_route(self):
        for path, came, goes in (
                ("POST /orders", "/v1/orders/7", "/orders/7"), ("POST /orders", "/else", "/shop/else"),
                ("POST /orders", f"http://127.0.0.1:{self.upstream.port}/v1/orders/7?a#b", "/orders/7?a#b"),
                ("POST /orders", "https://client.example/v1/orders/7", "https://client.example/orders/7"),
                ("POST /orders", "https://other.example/v1/orders/7", "https://other.example/v1/orders/7"),
                ("GET /shop/", "/login?next=/", "/shop/login?next=/"), ("GET /shop/", "//other.example/", "//other.example/"),
                ("GET /x", "/v1/orders/7", "/v1/orders/7")):
            with self.subTest(path, came=came):
                self.answer(f"Location: {came}", f"content-location: {came}")
                response = self.send(*path.split())
                self.assertEqual((response.fields.all("location"), response.fields.all("content-location")), ([goes], [goes]))

    def test_cookies_are_sent_back_where_clients_call(self):
        self.answer("Set-Cookie: a=1; Path=/; HttpOnly", "X-Kept: k", "Set-Cookie: b=2", "Set-Cookie: c=3; Domain=127.0.0.1; Path=/x")
        fields = self.send("GET", "/shop/x").fields
        self.assertEqual(fields.all("set-cookie"), ["a=1; Path=/shop/; HttpOnly", "b=2", "c=3; Path=/shop/x"])
        self.assertEqual(fields.all("x-kept"), ["k"])

    def test_converted_responses_and_header_rules(self):
        self.answer("Location: /v1/orders/8", "Content-Type: application/x-www-form-urlencoded", body=b"a=1")
        response = self.send("GET", "/orders/7")
        self.assertEqual((response.fields.all("location"), response.body), (["/orders/8"], b'{"a":"1"}'))
        self.answer("Location: /a", "Content-Location: /b", "Set-Cookie: a=1; Path=/")
        fields = self.send("GET", "/ruled/x").fields
        self.assertEqual([fields.all(name) for name in ("location", "content-location", "set-cookie", "x-after")],
                         [["/ruled/a"], ["/set"], [], ["a"]])

    def test_browsers_follow(self):
        def script(exchange):
            exchange.read_body()
            if exchange.received.target == "/login":
                exchange.answer(body=exchange.received.fields.get("cookie", "none").encode())
            else:
                exchange.answer(status=302, fields=("Location: /login", "Set-Cookie: a=1; Path=/"))

        self.upstream.script = script
        response = requests.get(f"http://127.0.0.1:{self.recast.port}/shop/x", timeout=DEADLINE)
        self.assertEqual((response.status_code, response.text), (200, "a=1"))
        self.assertEqual(response.url, f"http://127.0.0.1:{self.recast.port}/shop/login")


class TrustedPeerTests(ProxyTestCase):
    """What a trusted peer says of where its client called."""

    settings = "trusted: [127.0.0.0/8, unix]\n"
    routes = """
  - { name: shop, match: "/shop/*", upstream: app, rewrite: "/${path.*}", addresses: outer }
  - { name: hop, match: "/hop/*", upstream: app, rewrite: "/${path.*}", addresses: outer, forwarded: forwarded }
  - { name: own, match: /own, upstream: app, forwarded: off, real_ip: true }
  - { name: plain, match: "/*", upstream: app }
"""

    def test_an_address_of_the_host_that_the_client_called_keeps_it(self):
        for path, said, came, goes in (
                ("/shop/", "X-Forwarded-Host: shop.example", "http://shop.example/x", "http://shop.example/shop/x"),
                ("/shop/", "X-Forwarded-Host: evil.example, shop.example:8443", "https://shop.example:8443/x", "https://shop.example:8443/shop/x"),
                ("/shop/", "X-Forwarded-Host: evil.example, shop.example", "http://evil.example/x", "http://evil.example/x"),
                ("/shop/", "X-Forwarded-Host: shop.example", "http://client.example:80/x", "http://client.example:80/shop/x"),
                ("/shop/", "X-Forwarded-Host: [2001:db8::1]:81", "http://[2001:DB8::1]:81/x", "http://[2001:DB8::1]:81/shop/x"),
                ("/shop/", "Forwarded: for=192.0.2.1;host=shop.example", "http://shop.example/x", "http://shop.example/x"),
                ("/hop/", "Forwarded: for=192.0.2.1;host=shop.example", "http://shop.example/x", "http://shop.example/hop/x")):
            with self.subTest(said, came=came):
                def script(exchange):
                    exchange.read_body()
                    exchange.answer(status=302, fields=(f"Location: {came}",))

                self.upstream.script = script
                self.assertEqual(self.send("GET", path, fields=[said]).fields.all("location"), [goes])

    def test_the_last_member_of_a_list_goes_on(self):
        self.send("GET", "/x", fields=["X-Forwarded-Proto: http", "X-Forwarded-Proto: http, https", "X-Forwarded-Host: evil.example, shop.example",
                                       "X-Forwarded-For: 1.2.3.4,,"])
        fields = self.upstream.one().fields
        self.assertEqual([fields.all(f"x-forwarded-{name}") for name in ("proto", "host", "port")], [["https"], ["shop.example"], ["443"]])

    def test_a_list_of_clients_has_8_kib(self):
        def chain(length):
            return ("192.0.2.1," * 1000)[:length - 1] + "1"

        for name, path in (("X-Forwarded-For", "/x"), ("X-Forwarded-For", "/own"), ("Forwarded", "/hop/x")):
            for lines, fits in (([8191], True), ([8192], True), ([8193], False), ([4095, 4095], True), ([4095, 4096], False)):
                with self.subTest(name=name, path=path, lines=lines):
                    answer = self.send("GET", path, fields=[f"{name}: {chain(length)}" for length in lines])
                    if fits:
                        self.assertEqual(answer.status, 200)
                    else:
                        self.assert_problem(answer, 431, "http_forwarded_too_long")

    def test_one_real_ip_goes_on(self):
        self.send("GET", "/own", fields=["X-Real-IP: 6.6.6.6", "X-Forwarded-For: 1.2.3.4,"])
        self.assertEqual(self.upstream.one().fields.all("x-real-ip"), ["1.2.3.4"])
        # A peer on a unix socket has no address: where it says nothing else of its client, its own line is all there is.
        for fields, told in ((["X-Real-IP: 6.6.6.6"], "6.6.6.6"), (["X-Real-IP: 6.6.6.6", "X-Forwarded-For: 1.2.3.4"], "1.2.3.4")):
            with self.subTest(fields), Client(self.recast.path) as client:
                self.upstream.reset()
                client.request("GET", "/own", fields=fields)
                self.assertEqual(client.response().status, 200)
                self.assertEqual(self.upstream.one().fields.all("x-real-ip"), [told])


class AccessLogTests(ProxyTestCase):
    further_upstreams = {"down": f"127.0.0.1:{free_port()}"}
    routes = """
  - { name: form-json, match: /form-json, upstream: app, request: form -> json }
  - { name: down, match: /down, upstream: down }
"""

    def test_every_request_is_one_line_of_json_without_a_value_of_query_or_body(self):
        self.send("POST", "/form-json?password=hunter2", b"secret=hunter3", FORM, ["X-Request-Id: mine-7"])
        self.send("POST", "/form-json", b"a=%FF", FORM)
        self.send("GET", "/down")
        converted, refused, down = self.recast.log_lines(3)
        for line in (converted, refused, down):
            for key in ("ts", "request_id", "route", "client", "method", "path", "status", "bytes_in", "t_total"):
                self.assertIn(key, line)
        self.assertEqual((converted["route"], converted["method"], converted["path"], converted["status"], converted["request_id"]),
                         ("form-json", "POST", "/form-json", 200, "mine-7"))
        self.assertEqual((refused["status"], down["status"]), (400, 502))
        self.assertNotIn("hunter", str(converted))


class HeaderRuleTests(ProxyTestCase):
    settings = """
defaults: { headers: { response: { set: { Strict-Transport-Security: max-age=63072000 }, remove: [Server, "X-Internal-*"] } } }
"""
    routes = """
  - name: keyed
    match: "/keyed/{tenant}"
    upstream: app
    headers:
      request: { set: { X-Api-Key: "k 1", X-Tenant: "${path.tenant}" }, add: { X-Seen: [a, b] }, remove: [Cookie] }
      response: { add: { Set-Cookie: ours=1 } }
  - { name: converted, match: /converted, upstream: app, request: form -> json, headers: { request: { set: { X-Api-Key: k2 } } } }
  - { name: small, match: /small, upstream: app, limits: { body: 1KiB } }
  - { name: based, match: "/files/*", upstream: app, rewrite: "/base/${path.*}" }
  - name: shared
    match: "/shared/{tenant}"
    upstream: app
    authorize: { bearer: token }
    limits: { body: 1KiB }
    headers:
      request: { set: { X-Long: "${header.x-long}" } }
      response: { set: { Access-Control-Allow-Origin: "${header.origin}", X-Tenant: "${path.tenant}", X-Seen-As: "${client.ip}", X-C: c } }
  - name: limited
    match: /limited
    upstream: app
    rate_limit: 1/h
    headers: { response: { set: { Access-Control-Allow-Origin: "${header.origin}", X-Q: "${query.q}" } } }
"""

    def test_headers_are_edited_on_both_sides(self):
        def script(exchange):
            exchange.read_body()
            exchange.answer(fields=("Server: secret/1", "X-Internal-Node: n1", "Set-Cookie: theirs=1"))

        self.upstream.script = script
        answer = self.send("GET", "/keyed/acme", fields=["Cookie: a=1", "x-api-key: stolen", "X-Tenant: evil"])
        fields = self.upstream.one().fields
        self.assertEqual((fields.all("x-api-key"), fields.all("x-tenant"), fields.all("x-seen")), (["k 1"], ["acme"], ["a", "b"]))
        self.assertNotIn("cookie", fields)
        self.assertEqual(answer.fields.all("strict-transport-security"), ["max-age=63072000"])
        self.assertEqual(answer.fields.all("set-cookie"), ["theirs=1", "ours=1"])
        self.assertNotIn("server", answer.fields)
        self.assertNotIn("x-internal-node", answer.fields)

    def test_headers_of_a_converted_request_and_of_answers_of_ours(self):
        self.send("POST", "/converted", b"a=1", FORM)
        self.assertEqual(self.upstream.one().fields.all("x-api-key"), ["k2"])
        answer = self.send("POST", "/small", b"x" * 2000, "text/plain")
        self.assert_problem(answer, 413, "limit_body")
        self.assertEqual(answer.fields.all("strict-transport-security"), ["max-age=63072000"])

    def test_answers_of_ours_have_values_of_the_request_too(self):
        # A browser may read none of these answers without the field that names its origin.
        origin, token = "Origin: https://shop.example", "Authorization: Bearer token"
        for status, code, path, *fields, body in (
                (401, "authorization_missing", "/shared/acme", origin, b""),
                (413, "limit_body", "/shared/acme", origin, token, b"x" * 2000),
                (431, "header_value_too_long", "/shared/acme", origin, token, "X-Long: " + "l" * 9000, b""),
                (400, "header_value_control", "/shared/a%0D%0Ab", origin, token, b"")):
            with self.subTest(code):
                answer = self.send("POST", path, body, "text/plain", fields=fields)
                self.assert_problem(answer, status, f"^{code}$")
                found = {name: answer.fields.all(name) for name in ("access-control-allow-origin", "x-tenant", "x-seen-as", "x-c")}
                # What no field can have is left out.
                tenant = ["acme"] if path.endswith("acme") else []
                self.assertEqual(found, {"access-control-allow-origin": ["https://shop.example"], "x-tenant": tenant,
                                         "x-seen-as": ["127.0.0.1"], "x-c": ["c"]})
        self.assert_untouched()
        for status in (200, 429):
            answer = self.send("GET", "/limited?q=a%20b", fields=[origin])
            self.assertEqual((answer.status, answer.fields.all("access-control-allow-origin"), answer.fields.all("x-q")),
                             (status, ["https://shop.example"], ["a b"]))

    def test_white_space_around_a_value_of_the_request_is_none_of_it(self):
        for sent, value in (("%20a", "a"), ("%09a", "a"), ("a%20", "a"), ("%20%09a%20b%09%20", "a b"), ("a%09b", "a\tb")):
            with self.subTest(sent), self.client() as client:
                client.send(f"GET /shared/{sent} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer token\r\n\r\n")
                # As it stands on the wire: who reads a field over HTTP/1 leaves the white space out.
                head = client.reader.until(b"\r\n\r\n")
                self.assertIn(f"X-Tenant: {value}\r\n".encode(), head + b"\r\n")

    def test_a_value_never_becomes_a_line_of_a_head(self):
        answer = self.send("GET", "/keyed/a%0d%0aX-Evil:%20yes")
        self.assert_problem(answer, 400, "header_value_control")
        self.assert_untouched()

    def test_slashes_in_front_of_what_a_star_stands_for_go_on(self):
        for path, target in (("/files//key", "/base//key"), ("/files////", "/base////"), ("/files/a//b", "/base/a//b")):
            with self.subTest(path):
                self.upstream.reset()
                self.assertEqual(self.send("GET", path).status, 200)
                self.assertEqual(self.upstream.one().target, target)

    def test_dot_segments_lead_nowhere(self):
        for path in ("/x/../small", "/./small", "/x/%2e%2e/small", "/files/..%2fadmin", "/files/..;/admin", "/files/%2E%2e"):
            with self.subTest(path):
                self.assert_problem(self.send("GET", path), 400, "http_dot_segment")
        self.assert_untouched()
        self.assert_problem(self.send("POST", "//small", b"x" * 2000, "text/plain"), 413, "limit_body")
