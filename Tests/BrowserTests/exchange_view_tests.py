"""The list of exchanges, and one of them, as somebody at a browser has them."""

import shlex
import subprocess
import unittest

from console_support import ROUTES, ConsoleTestCase, token_of
from harness import FORM, JSON, Client, Closed, Recast, free_port
from lifecycle_support import reload

BODY = "user_id=7&user[name]=Ada&tags[]=a&tags[]=b&internal=x&password=secret-word"


class ListTests(ConsoleTestCase):
    def test_an_exchange_comes_up_by_itself_with_what_it_was(self):
        page = self.tab()
        page.until_text("Live")
        self.send("POST", "/orders/1?x=1", BODY, FORM)
        self.send("GET", "/nothing")
        page.until("document.querySelector('.list tbody tr')?.innerText.includes('/nothing')")
        rows = page.run("return [...document.querySelectorAll('.list tbody tr')].map((row) => row.innerText.split(/\\s*[\\t\\n]\\s*/).filter(Boolean))")
        newest, before = rows[0], rows[1]
        self.assertEqual((newest[1:4], before[1:4]), (["GET", "/nothing", "rest"], ["POST", "/orders/1?x=1", "orders"]))
        self.assertEqual(before[4], "200")

    def test_the_token_leaves_the_address_and_stays_for_the_tab(self):
        page = self.tab()
        page.until_text("Live")
        self.assertEqual(page.run("return location.href"), f"{self.origin}/console#/exchanges")
        self.assertNotIn(self.token, page.run("return document.documentElement.outerHTML"))
        page.send("Page.reload")
        page.until_text("Live")

    def test_without_a_token_the_page_says_where_it_is_and_takes_it(self):
        for given in (self.token, f"{self.origin}/console#token={self.token}"):
            page = self.tab(signed_in=False)
            page.until_text("This page needs a token")
            self.assertIn("operational log", page.text())
            page.fill("#token", given)
            page.press("Enter")
            page.until_text("Live")

    def test_a_token_of_another_run_is_asked_for_anew(self):
        for wrong in ("of-another-run", "%zz", "%C3%BC", "&/routes"):
            page = self.browser.page()
            self.addCleanup(self.check, page)
            page.expected = ["401"]
            page.go(f"{self.origin}/console#token={wrong}")
            page.until_text("oken")
            page.until_found("#token")
            page.fill("#token", self.token)
            page.press("Enter")
            page.until_found("main h1#exchanges-title, main table.routes")

    def test_filters_stand_in_the_address_and_work_from_there(self):
        self.send("POST", "/orders/2", BODY, FORM)
        self.send("POST", "/orders/3", "a=1&a[b]=2", FORM)
        self.send("PUT", "/plain-text-7", "x", "text/plain")
        page = self.tab()
        shown = "[...document.querySelectorAll('.list tbody tr')].map((row) => row.querySelector('a').innerText).join()"
        page.until(f"{shown}.includes('/plain-text-7')")
        page.fill("[data-filter=status]", "4xx")
        page.until(f"{shown} !== '' && !{shown}.includes('/orders/2') && {shown}.includes('/orders/3')")
        self.assertIn("status=4xx", page.run("return location.hash"))
        page.fill("[data-filter=code]", "form_conflict")
        page.until(f"{shown}.includes('/orders/3')")
        page.fill("[data-filter=status]", "")
        page.fill("[data-filter=code]", "")
        page.fill("[data-filter=method]", "PUT")
        page.until(f"{shown}.includes('/plain-text-7') && !{shown}.includes('/orders')")
        page.fill("[data-filter=text]", "no such text")
        page.until_text("No exchange passes the filter")
        page.click("button", "Clear the filter")
        page.until(f"{shown}.includes('/orders/2')")
        page.choose("[data-filter=route]", "orders")
        page.until(f"{shown}.includes('/orders/2') && !{shown}.includes('plain')")
        again = self.tab("exchanges?route=orders&status=2xx")
        again.until(f"{shown}.includes('/orders/2') && !{shown}.includes('/orders/3')")
        self.assertEqual(again.run("return [document.querySelector('[data-filter=route]').value, document.querySelector('[data-filter=status]').value]"),
                         ["orders", "2xx"])

    def test_a_status_that_is_none_is_said_beside_the_field_and_the_list_goes_on(self):
        self.send("GET", "/before-the-teapot")
        page = self.tab()
        page.until_text("/before-the-teapot")
        for wrong in ("teapot", "4x", "4xx,5xx"):
            page.fill("[data-filter=status]", wrong)
            page.until_text(f"“{wrong}” is no status")
            self.assertEqual(page.run("const one = document.querySelector('[data-filter=status]');"
                                      " return [one.ariaInvalid, document.getElementById(one.getAttribute('aria-describedby')).innerText]"),
                             ["true", f"“{wrong}” is no status: write one as 404, or a class as 4xx"])
            self.send("GET", f"/beside-{len(wrong)}")
            page.until_text(f"/beside-{len(wrong)}")
            self.assertIn("/before-the-teapot", page.text())
            self.assertIn("Live", page.text())
        page.fill("[data-filter=status]", "5XX")
        page.until_text("No exchange passes the filter")
        self.assertNotIn("is no status", page.text())
        page.click("button", "Clear the filter")
        page.until_text("/before-the-teapot")
        # Who comes with a link that says none sees all, and why.
        again = self.tab("exchanges?status=4x")
        again.until_text("“4x” is no status")
        again.until_text("/before-the-teapot")

    def test_a_pause_holds_while_another_view_is_shown(self):
        self.send("GET", "/before-the-views")
        page = self.tab()
        page.until_text("/before-the-views")
        page.click("button", "Pause")
        page.until_text("Paused")
        page.click("nav a", "Routes")
        page.until_found("main table.routes")
        self.send("GET", "/between-the-views")
        page.click("nav a", "Exchanges")
        page.until_text("Show 1 new")
        page.until_text("Paused")
        self.assertIn("/before-the-views", page.text())
        self.assertNotIn("/between-the-views", page.text())
        page.click("button", "Go on")
        page.until_text("/between-the-views")
        page.until_text("Live")

    def test_an_answer_that_was_cut_looks_like_none(self):
        self.upstream.script = lambda exchange: (
            exchange.read_body(), exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), exchange.close())
        with Client(self.recast.port) as client:
            client.request("GET", "/cut-off")
            self.assertRaises(Closed, client.response, "GET")
        page = self.tab()
        page.until_text("/cut-off")
        status = "[...document.querySelectorAll('.list tbody tr')].find((row) => row.innerText.includes('/cut-off')).querySelector('.answer')"
        self.assertEqual(page.run(f"return [{status}.querySelector('.status').className, {status}.textContent, {status}.querySelector('.code').title]"),
                         ["status s5", "200 cut offUR", "the upstream closed or reset its connection too early"])
        self.open_first(page, "/cut-off")
        self.assertEqual(page.run("return document.querySelector('.problem').innerText"),
                         "The answer was cut off: the upstream closed or reset its connection too early UR")
        self.assertEqual(page.run("return document.querySelector('#exchange-title .status').className"), "status s5")

    def test_a_request_whose_head_cant_be_read_has_a_name(self):
        with Client(self.recast.port) as client:
            client.send("GET /plain HTTP/1.1\r\nHost: a\r\nbad field: 1\r\n\r\n")
            self.assertEqual(client.response("GET").status, 400)
        page = self.tab()
        self.open_first(page, "(unreadable request)")
        self.assertIn("(unreadable request)", page.run("return document.querySelector('#exchange-title').innerText"))
        self.assertIn("(unreadable request) 400", page.run("return document.title"))
        self.assertEqual(page.run("return [...document.querySelectorAll('.tools button')].map((one) => [one.innerText, one.disabled])"),
                         [["Replay", True], ["Edit and replay", True], ["Close", False]])

    def test_a_paused_list_stands_still_and_tells_what_waits(self):
        self.send("GET", "/before-the-pause")
        page = self.tab()
        page.until_text("/before-the-pause")
        page.click("button", "Pause")
        page.until_text("Paused")
        self.send("GET", "/meanwhile-1")
        self.send("GET", "/meanwhile-2")
        page.until_text("Show 2 new")
        self.assertNotIn("/meanwhile", page.text())
        page.run("document.querySelector('.news').focus()")
        page.press("Enter")
        page.until("document.activeElement.innerText === '/meanwhile-2'")
        self.send("GET", "/meanwhile-3")
        page.until_text("Show 1 new")
        page.click("button", "Go on")
        page.until_text("/meanwhile-3")
        page.until_text("Live")

    def test_nothing_moves_under_the_keyboard(self):
        self.send("GET", "/held")
        page = self.tab()
        page.until_text("/held")
        page.run("document.querySelector('.list tbody a').focus()")
        self.send("GET", "/later-on")
        page.until_text("Show 1 new")
        self.assertEqual(page.focused(), "a /held")
        self.assertNotIn("/later-on", page.text())
        page.click("button", "Show 1 new")
        page.until_text("/later-on")
        self.assertEqual(page.focused(), "a /later-on")
        self.send("GET", "/by-the-keyboard")
        page.until_text("Show 1 new")
        page.press("Tab", shift=True)  # who leaves the rows lets them go on
        page.until_text("/by-the-keyboard")
        page.until("!document.body.innerText.includes('Show 1 new')")

    def test_a_page_that_nobody_sees_asks_for_no_events(self):
        """Else six tabs that were left open take all connections that a browser has for an address."""
        self.send("GET", "/seen")
        page = self.tab()
        page.until_text("/seen")
        page.click("nav a", "Routes")
        page.run("window.streams = []; const send = window.fetch; window.fetch = (path, members) => {"
                 " if (members?.headers?.Accept === 'text/event-stream') { const one = { isOpen: true }; window.streams.push(one);"
                 " members.signal.addEventListener('abort', () => { one.isOpen = false; }); } return send(path, members); }")

        def turn(is_hidden):
            page.run("Object.defineProperty(document, 'hidden', { configurable: true, get: () => values[0] });"
                     " document.dispatchEvent(new Event('visibilitychange'))", is_hidden)

        def opened():
            return page.run("return window.streams.map((one) => one.isOpen)")

        page.click("nav a", "Exchanges")
        page.until_text("Live")
        self.assertEqual(opened(), [True])
        # Who only looks elsewhere for a moment loses nothing.
        turn(True)
        turn(False)
        self.assertEqual(opened(), [True])
        turn(True)
        page.until("!window.streams[0].isOpen", what="the events' end")
        self.send("GET", "/unseen")
        self.assertEqual(opened(), [False])
        turn(False)
        page.until_text("/unseen")
        page.until_text("Live")
        self.assertEqual(opened(), [False, True])
        # And a list that stands still goes on doing so.
        page.click("button", "Pause")
        turn(True)
        page.until("!window.streams[1].isOpen", what="the events' end")
        self.send("GET", "/unseen-in-the-pause")
        turn(False)
        page.until_text("Show 1 new")
        page.until_text("Paused")
        self.assertNotIn("/unseen-in-the-pause", page.text())
        page.click("button", "Show 1 new")
        page.until_text("/unseen-in-the-pause")
        self.assertEqual(page.run("return document.querySelectorAll('.list tbody tr').length"), 3)

    def test_no_more_are_kept_than_the_settings_say(self):
        page = self.tab()
        page.until_text("Each worker keeps its last 50 exchanges, of each body the first 16 KiB. Masked: password, token, authorization.")
        for number in range(60):
            self.send("GET", f"/many/{number}")
        page.until_text("/many/59")
        page.until("document.querySelectorAll('.list tbody tr').length === 50")


class ManyTests(ConsoleTestCase):
    console = "{ entries: 2100, body: 0B, mask: off }"

    def test_of_many_the_newest_are_drawn_and_a_filter_brings_the_others_up(self):
        client = self.client()
        for first in range(0, 2050, 50):
            client.send("".join(f"GET /many/{number} HTTP/1.1\r\nHost: a\r\n\r\n" for number in range(first, first + 50)))
            for _ in range(50):
                client.response()
        page = self.tab()
        page.until_text("2,000 of 2,050 shown, a filter brings the others up")
        self.assertEqual(page.run("return document.querySelectorAll('.list tbody tr').length"), 2000)
        page.fill("[data-filter=text]", "/many/49")
        page.until_text("11 of 2,050 shown, filtered")
        page.until("[...document.querySelectorAll('.list tbody a')].at(-1).innerText === '/many/49'")


class EmptyTests(ConsoleTestCase):
    def test_an_empty_list_has_a_command_that_works(self):
        page = self.tab()
        page.until_text("No exchange yet")
        page.until("document.querySelector('.command code').innerText.includes('/orders/1')")
        command = shlex.split(page.run("return document.querySelector('.command code').innerText"))
        subprocess.run([*command, "--silent", "--max-time", "20"], check=True, stdout=subprocess.DEVNULL)
        page.until("document.querySelector('.list tbody a')?.innerText.includes('/orders/1')")
        self.assertEqual(self.upstream.one().json, {"user": {"name": "Ada"}})

    def test_a_restart_is_seen_and_the_new_token_asked_for(self):
        admin = free_port()
        settings = f"admin: {{ address: 127.0.0.1:{admin}, console: {{ entries: 5 }} }}\n"
        first = Recast(self.routes, {"app": f"127.0.0.1:{self.upstream.port}"}, settings=settings)
        self.addCleanup(first.remove)
        page = self.browser.page()
        self.addCleanup(page.close)
        page.go(f"http://127.0.0.1:{admin}/console#token={token_of(first)}")
        page.until_text("Live")
        first.stop()
        page.until_text("Reconnecting")
        # A pause doesn't say that there are events, nor does its end.
        for button in ("Pause", "Go on"):
            page.click("button", button)
            self.assertRegex(page.run("return document.getElementById('link').innerText"), "^(Reconnecting|Connecting)")
        second = Recast(self.routes, {"app": f"127.0.0.1:{self.upstream.port}"}, settings=settings)
        self.addCleanup(second.remove)
        self.addCleanup(second.stop)
        page.until_text("Recast doesn’t know this token")
        page.fill("#token", token_of(second))
        page.press("Enter")
        page.until_text("Live")


PARTS = "--b\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nHello\r\n--b\r\n" \
    "Content-Disposition: form-data; name=\"photo\"; filename=\"a.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n\u0000\u0001\r\n--b--\r\n"


def parts_of(page, side=0):
    text = page.run("return [...document.querySelectorAll('.exchange .side')].map((side) => side.innerText)")[side]
    return text.replace("\n", " ")


class UnmaskedTests(ConsoleTestCase):
    console = "{ entries: 50, body: 16KiB, mask: off }"

    def test_bodies_are_read_as_what_they_are(self):
        def answer(exchange):
            exchange.read_body()
            exchange.answer(body=b'{"n":12345678901234567890,"e":[]}', fields=("Content-Type: application/json",))

        self.upstream.script = answer
        self.send("POST", "/photos", PARTS, "multipart/form-data; boundary=b")
        self.send("POST", "/binary", bytes(range(256)) * 90, "application/octet-stream")
        page = self.tab()
        self.open_first(page, "/photos")
        self.assertIn("photo file a.jpg image/jpeg, 2 B", parts_of(page))
        self.assertIn('"photo"', parts_of(page, 1))
        self.assertIn('"n": 12345678901234567890', parts_of(page, 2))
        page.run("document.querySelector('.exchange .side input[value=Hex]').click()")
        self.assertIn("000000  2d 2d 62 0d 0a", page.run("return document.querySelector('.exchange .side .hex').innerText"))
        page.click("button", "Close")
        self.open_first(page, "/binary")
        page.until_text("the first 16 KiB are kept")
        self.assertIn("000000  00 01 02", page.run("return document.querySelector('.hex').innerText"))
        before = len(page.run("return document.querySelector('.hex').innerText"))
        page.click(".body button", "Show 1 KiB more")
        self.assertGreater(len(page.run("return document.querySelector('.hex').innerText")), before)
        self.assertIn("It can’t be sent again as it was", page.text())


class ExchangeTests(ConsoleTestCase):
    def test_both_sides_stand_beside_each_other_and_each_field_is_followed(self):
        self.send("POST", "/orders/10?token=query-secret", BODY, FORM, ["Authorization: Bearer of-a-client"])
        page = self.tab()
        self.open_first(page, "/orders/10")
        client, upstream = page.run("return [...document.querySelectorAll('.exchange .side')].slice(0, 2).map((side) => side.innerText)")
        self.assertIn("user_id = 7", client)
        self.assertIn("Content-Type: application/x-www-form-urlencoded", client)
        self.assertIn('"id": "7"', upstream)
        self.assertIn("Content-Type: application/json", upstream)
        for text in ("secret-word", "of-a-client", "query-secret"):
            self.assertNotIn(text, page.run("return document.documentElement.textContent"))
        self.assertRegex(client, r"password = \*\*\*")
        table = page.run("return [...document.querySelectorAll('.fields tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText))")
        rows = {row[0]: row[1:] for row in table}
        self.assertEqual(rows["user_id"][0], "user.id")
        self.assertIn("map.rename user_id to user.id", rows["user_id"][1])
        self.assertEqual(rows["internal"], ["left out", "map.remove internal"])
        self.assertIn("left out", page.run("return document.querySelector('.side .line.gone').innerText"))
        # What points at one, points at the other.
        entry = page.run("return [...document.querySelectorAll('.side .line')].find((line) => line.innerText.startsWith('user_id')).dataset.entry")
        page.hover(f".side .line[data-entry='{entry}']")
        page.until("document.querySelectorAll('.lit').length === 3", what="a field in three places")
        self.assertIn('"id": "7"', page.run("return [...document.querySelectorAll('.lit')].map((one) => one.innerText).join('|')"))
        page.run(f"document.querySelector('[data-show=\"{entry}\"]').focus()")
        page.until("document.querySelectorAll('.lit').length === 3")

    def test_fields_of_a_converted_answer_are_followed_apart_from_the_requests(self):
        self.upstream.script = lambda exchange: (
            exchange.read_body(), exchange.answer(200, b'{"done":{"at":5}}', fields=["Content-Type: application/json"]))
        self.send("POST", "/to-form", '{"asked":1}', JSON)
        page = self.tab()
        self.open_first(page, "/to-form")
        rows = page.run("return [...document.querySelectorAll('.part')].map((part) => [...part.querySelectorAll('.fields tbody tr')]"
                        ".map((row) => [...row.cells].slice(0, 2).map((cell) => cell.innerText)))")
        self.assertEqual(rows, [[["asked", "asked"]], [["done.at", "done[at]"]]])
        page.hover(".part ~ .part .side .line[data-entry='0']")
        page.until("document.querySelectorAll('.lit').length === 3", what="a field of the answer in three places")
        self.assertEqual(page.run("return document.querySelector('.part').querySelectorAll('.lit').length"), 0)

    def test_repeated_names_are_told_apart(self):
        self.send("POST", "/orders/11", BODY, FORM)
        page = self.tab()
        self.open_first(page, "/orders/11")
        pairs = page.run("""return [...document.querySelectorAll('.side .line[data-entry]')].map((line) => [line.dataset.entry, line.innerText.trim()])""")
        entries = [entry for entry, text in pairs if text.startswith("tags[]")]
        self.assertEqual(len(set(entries)), 2)
        self.assertEqual([text for entry, text in pairs if entry == entries[1]], ["tags[] = b", '"b"'])

    def test_what_was_refused_is_plain_to_see(self):
        self.send("POST", "/orders/12", "b=0&a=1&a[b]=2", FORM)
        page = self.tab()
        self.open_first(page, "/orders/12")
        page.until_text("Recast answered:")
        self.assertIn("form_conflict", page.run("return document.querySelector('.problem').innerText"))
        self.assertIn("Nothing was sent: form_conflict", page.text())
        self.assertIn("refused", page.run("return document.querySelector('.line.refused').innerText"))

    def test_a_line_end_in_a_value_makes_no_pair(self):
        self.send("POST", "/orders/14", "a=1%0Aadmin+%3D+true%0D%0A&b=2", FORM)
        page = self.tab()
        self.open_first(page, "/orders/14")
        lines = page.run("return [...document.querySelectorAll('.exchange .side')][0].querySelector('.lines').innerText.split('\\n')")
        self.assertEqual(lines, ["a = 1\\nadmin = true\\u000d\\n", "b = 2"])

    def test_a_body_that_was_not_read_is_told_from_none(self):
        with Client(self.recast.port) as client:
            client.send("POST /photos HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 2000\r\n\r\n")
            self.assertEqual(client.response("POST").status, 415)
        page = self.tab()
        self.open_first(page, "/photos")
        self.assertIn("2 KiB announced, not read", page.run("return document.querySelector('.exchange .side').innerText"))

    def test_what_frames_an_answer_is_not_said_to_be_missing(self):
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.send(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Own: 1\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
        self.send("GET", "/framed")
        page = self.tab()
        self.open_first(page, "/framed")
        sides = page.run("return [...document.querySelectorAll('.part ~ .part .side .head')].map((head) => head.innerText)")
        self.assertIn("Transfer-Encoding: chunked", sides[0])
        self.assertNotIn("not sent", sides[0])

    def test_a_place_in_a_body_is_marked(self):
        self.send("POST", "/to-form", '{"a": 1,\n"b" 2}', JSON)
        page = self.tab()
        self.open_first(page, "/to-form")
        page.until_text("line 2, column 5")
        self.assertIn("2", page.run("return document.querySelector('.place mark').innerText"))

    def test_what_is_no_text_is_not_shown_while_names_are_masked(self):
        self.send("POST", "/photos", PARTS, "multipart/form-data; boundary=b")
        self.send("POST", "/binary", bytes(range(256)) * 90, "application/octet-stream")
        page = self.tab()
        self.open_first(page, "/photos")
        self.assertIn("title 5 B  Hello  photo file a.jpg image/jpeg, masked  ***", parts_of(page))
        page.click("button", "Close")
        self.open_first(page, "/binary")
        page.until_text("It is not shown")
        self.assertIn("It can’t be sent again as it was", page.text())

    def test_copied_as_curl_it_is_the_same_request(self):
        self.send("POST", "/orders/13", "a[b]=it's \"1\"&c=%26 $HOME", FORM, ["X-Quoted: a'b"])
        before = self.upstream.wait_for(1)[0]
        for has_clipboard in (True, False):
            page = self.tab()
            self.browser.send("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"], browserContextId=page.context)
            if not has_clipboard:
                page.run("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
            page.run("window.copied = null; document.addEventListener('copy', () => { window.copied = String(getSelection()) || document.activeElement.value; })")
            self.open_first(page, "/orders/13")
            page.click("button", "Copy as curl")
            page.until_text("Copied")
            text = page.run("return window.copied ?? await navigator.clipboard.readText()")
            count = len(self.upstream.requests)
            subprocess.run(["bash", "-c", text + f" --silent --max-time 20 --connect-to ::127.0.0.1:{self.recast.port}"], check=True, stdout=subprocess.DEVNULL)
            after = self.upstream.wait_for(count + 1)[count]
            self.assertTrue(after.ended.wait(20))
            self.assertEqual((after.method, after.target, after.body), (before.method, before.target, before.body))
            self.assertEqual(after.fields.get("x-quoted"), "a'b")

    def test_an_exchange_that_is_gone_says_so(self):
        page = self.tab("exchanges?id=0-999999")
        page.expected = ["404"]
        page.until_text("This exchange is gone")
        page.click("button", "Close")
        page.until("!document.body.innerText.includes('This exchange is gone')")

    def test_while_one_is_waited_for_no_other_one_stands_there(self):
        for number in (1, 2):
            self.send("POST", f"/orders/slow-{number}", "a=1", FORM)
        page = self.tab()
        self.open_first(page, "/orders/slow-1")
        page.run("const fetched = window.fetch; window.fetch = async (path, ...more) => {"
                 " if (path.startsWith('/console/exchange?')) await new Promise((resolve) => { window.goOn = resolve; });"
                 " return fetched(path, ...more); }")
        page.click(".list tbody tr td.target a", "/orders/slow-2")
        page.until_text("Waiting for Recast")
        self.assertIsNone(page.run("return document.querySelector('.exchange')"))
        page.run("window.goOn()")
        page.until("document.querySelector('#exchange-title')?.innerText.includes('/orders/slow-2')")

    def test_escape_leads_back_to_the_row(self):
        self.send("GET", "/and-back")
        page = self.tab()
        self.open_first(page, "/and-back")
        page.until("document.activeElement.id === 'exchange-title'")
        page.press("Escape")
        page.until("document.activeElement.closest('tr') !== null")
        self.assertEqual(page.focused(), "a /and-back")


class DownTests(ConsoleTestCase):
    routes = ROUTES.replace("  - { name: rest", "  - { name: down, match: /down, upstream: down, request: form -> json }\n  - { name: rest")
    further_upstreams = {"down": f"127.0.0.1:{free_port()}"}

    def test_what_was_never_sent_is_said_so(self):
        response = self.send("POST", "/down", "a=1&b=2", FORM)
        self.assertEqual(response.status, 502)
        page = self.tab()
        self.open_first(page, "/down")
        upstream = page.run("return [...document.querySelectorAll('.exchange .side')][1].innerText")
        self.assertIn("Never sent: no connection to the upstream could be made", upstream)
        self.assertIn("POST /down", upstream)
        self.assertIn("2 values would have gone on, none was left out", page.text())
        client = page.run("return [...document.querySelectorAll('.exchange .side')][0].innerText")
        self.assertNotIn("not sent", client)

    def test_what_was_refused_would_have_gone_on(self):
        # The route reads it, and refuses the request for another reason: its body isn't whole.
        self.send("POST", "/orders/40", "b=0&a=1&a[b]=2", FORM)
        page = self.tab()
        self.open_first(page, "/orders/40")
        self.assertIn("Nothing was sent: form_conflict", page.text())
        self.assertNotIn("went on", page.text())


class CommandTests(ConsoleTestCase):
    console = "{ entries: 50, body: 64KiB, mask: [password, token] }"

    def test_a_body_that_is_no_argument_comes_as_a_file_and_masked_values_are_counted(self):
        body = "'" * (31 * 1024)
        self.send("POST", "/long", body, "text/plain", ["X-Token: of-a-client"])
        page = self.tab()
        self.open_first(page, "/long")
        page.until_text("1 value is masked as ***")
        page.run("window.saved = []; URL.createObjectURL = (blob) => { window.saved.push(blob); return 'about:blank#saved'; };"
                 " HTMLAnchorElement.prototype.click = function () { window.saved.push(this.download); }")
        page.click("button", "Download the body")
        self.assertEqual(page.run("return [await window.saved[0].text(), window.saved[1]]"), [body, "body"])

    def test_of_a_body_that_is_not_kept_the_command_says_so(self):
        self.send("POST", "/longer", "x" * (65 * 1024), "text/plain")
        self.send("POST", "/bytes", bytes(range(256)), "application/octet-stream")
        page = self.tab()
        for target, why in (("/longer", "is not kept whole"), ("/bytes", "is not shown here")):
            self.open_first(page, target)
            page.until_text(f"The body isn’t in the command, since it {why}")
            self.assertNotIn("Download the body", page.text())
            page.click("button", "Close")


class ReloadTests(ConsoleTestCase):
    def test_new_settings_of_the_console_reach_a_page_that_is_open(self):
        self.send("POST", "/orders/30", "a=1", FORM)
        page = self.tab()
        self.open_first(page, "/orders/30")
        with open(self.recast.config, encoding="utf-8") as file:
            text = file.read()
        with open(self.recast.config, "w", encoding="utf-8") as file:
            file.write(text.replace("entries: 50", "entries: 40"))
        reload(self.recast)
        page.until_text("Each worker keeps its last 40 exchanges")
        self.send("POST", "/orders/31", "a=2", FORM)
        page.until_text("/orders/31")
        # What is shown is the one that was opened, which is gone by now; no other one goes in its place.
        count = len(self.upstream.requests)
        page.expected = ["404"]
        page.click("button", "Replay")
        page.until_text("Recast no longer has this exchange, so it can’t be sent again.")
        self.assertEqual(len(self.upstream.requests), count)
        self.open_first(page, "/orders/31")
        page.until("document.querySelector('#exchange-title').innerText.includes('/orders/31')")

    def test_a_console_that_is_off_for_a_while_is_asked_again(self):
        page = self.tab()
        page.until_text("Live")
        page.expected = ["404"]
        with open(self.recast.config, encoding="utf-8") as file:
            text = file.read()
        for console, seen in (("off", "the console is off"), (self.console, "Live")):
            with open(self.recast.config, "w", encoding="utf-8") as file:
                file.write(text.replace(f"console: {self.console}", f"console: {console}"))
            reload(self.recast)
            if seen == "Live":
                page.click("button", "Try again")
            page.until_text(seen)

    def test_the_page_says_whose_request_it_means(self):
        self.send("POST", "/orders/32", "a=1", FORM)
        page = self.tab()
        self.open_first(page, "/orders/32")
        page.run("window.posted = []; const send = window.fetch; window.fetch = (path, members) => {"
                 " if (members?.method === 'POST') window.posted.push(JSON.parse(members.body)); return send(path, members); }")
        shown = page.run("return document.querySelector('.list tbody tr.open').dataset.request")
        page.click("button", "Replay")
        page.until_text("Replay of")
        self.assertEqual(page.run("return window.posted.map((one) => one.request_id)"), [shown])


class ReplayTests(ConsoleTestCase):
    def test_a_replay_is_the_same_request_and_is_marked(self):
        self.send("POST", "/orders/20?x=1", BODY, FORM, ["Authorization: Bearer of-a-client", "X-Own: 1"])
        first = self.upstream.one()
        page = self.tab()
        self.open_first(page, "/orders/20")
        page.click("button", "Replay")
        second = self.upstream.wait_for(2)[1]
        page.until_text("Replay of")
        self.assertTrue(second.ended.wait(20))
        self.assertEqual((second.method, second.target, second.body), (first.method, first.target, first.body))
        self.assertEqual([second.fields.get(name) for name in ("authorization", "x-own", "content-type")],
                         [first.fields.get(name) for name in ("authorization", "x-own", "content-type")])
        page.until("[...document.querySelectorAll('.list tbody tr .tag')].some((tag) => tag.innerText === 'replay')")

    def test_an_edited_replay_sends_what_was_written(self):
        self.send("POST", "/orders/21", "a=1", FORM, ["Authorization: Bearer of-a-client", "X-Own: 1"])
        page = self.tab()
        self.open_first(page, "/orders/21")
        page.click("button", "Edit and replay")
        page.until_found(".replay form")
        labels = page.run("return [...document.querySelectorAll('.replay label')].map((label) => [label.innerText, label.control.value])")
        self.assertEqual([name for name, _ in labels], ["Method", "Target", "Fields", "Body"])
        self.assertIn("Authorization: ***", labels[2][1])
        self.assertNotIn("Content-Length", labels[2][1])
        identifiers = page.run("return [...document.querySelectorAll('.replay label')].map((label) => '#' + label.control.id)")
        page.fill(identifiers[0], "PUT")
        page.fill(identifiers[1], "/orders/22?edited=1")
        page.fill(identifiers[2], labels[2][1].replace("X-Own: 1", "X-Own: 2"))
        page.fill(identifiers[3], "a=2&b=ü")
        page.click(".replay button[type=submit]")
        edited = self.upstream.wait_for(2)[1]
        page.until_text("Replay of")
        self.assertTrue(edited.ended.wait(20))
        self.assertEqual((edited.method, edited.target, edited.json), ("PUT", "/orders/22?edited=1", {"a": "2", "b": "ü"}))
        self.assertEqual((edited.fields.get("authorization"), edited.fields.get("x-own")), ("Bearer of-a-client", "2"))

    def test_a_body_whose_lines_end_in_several_ways_keeps_them(self):
        body = '--b\r\nContent-Disposition: form-data; name="x"; filename="x.txt"\r\n\r\none\ntwo\n\rthree\r\n--b--\r\n'
        self.send("POST", "/lines", body, "multipart/form-data; boundary=b")
        first = self.upstream.one()
        page = self.tab()
        for count, (change, into) in enumerate(((None, None), ("two", "2"))):
            page.go(f"{self.origin}/console#/exchanges")
            page.until("document.querySelector('.exchange') === null")
            page.click(".list tbody tr:last-child td.target a", "/lines")
            page.until_found(".exchange")
            page.click("button", "Edit and replay")
            page.until_text("Not all of its lines end alike")
            if change:
                field, text = page.run("const one = [...document.querySelectorAll('.replay label')][3].control; return ['#' + one.id, one.value]")
                page.run("const one = document.querySelector(values[0]); one.value = values[1]; one.dispatchEvent(new Event('input', { bubbles: true }))",
                         field, text.replace(change, into))
            page.click(".replay button[type=submit]")
            again = self.upstream.wait_for(count + 2)[count + 1]
            page.until_text("Replay of")
            self.assertTrue(again.ended.wait(20))
            self.assertEqual(again.body, first.body if change is None else body.replace(change, into).encode())

    def test_masked_values_go_with_a_body_that_is_not_edited_and_are_asked_for_in_one_that_is(self):
        parts = b'--b\r\nContent-Disposition: form-data; name="token"\r\n\r\nsecret\r\n--b\r\n' \
                b'Content-Disposition: form-data; name="x"; filename="x"\r\n\r\n\x00\x01\r\n--b--\r\n'
        for target, body, media_type in (("/orders/23", BODY.encode(), FORM), ("/forms", parts, "multipart/form-data; boundary=b")):
            self.upstream.reset()
            self.send("POST", target, body, media_type)
            page = self.tab()
            self.open_first(page, target)
            page.click("button", "Edit and replay")
            page.click(".replay button[type=submit]")
            page.until_text("Replay of")
            first, second = self.upstream.wait_for(2)
            self.assertTrue(second.ended.wait(20))
            self.assertEqual(first.body, second.body)
            self.assertIn(b"secret", second.body)
        page = self.tab()
        page.expected = ["409"]
        self.open_first(page, "/orders/23")
        page.click("button", "Edit and replay")
        page.until_text("write values in the place of ***")
        body = page.run("return '#' + [...document.querySelectorAll('.replay label')][3].control.id")
        page.fill(body, "a=2&password=***")
        page.click(".replay button[type=submit]")
        page.until("document.querySelector('.said').innerText.includes('***')")
        page.until_found(".replay form")
        self.assertEqual(len(self.upstream.requests), 2)

    def test_a_line_that_is_no_field_is_named(self):
        self.send("POST", "/orders/24", "a=1", FORM)
        page = self.tab()
        self.open_first(page, "/orders/24")
        page.click("button", "Edit and replay")
        page.until_found(".replay form")
        fields = page.run("return '#' + [...document.querySelectorAll('.replay label')][2].control.id")
        page.fill(fields, "Host: a\nnonsense")
        page.click(".replay button[type=submit]")
        page.until_text("Line 2 of the fields is no “Name: value”.")
        self.assertEqual(page.run("return '#' + document.activeElement.id"), fields)


if __name__ == "__main__":
    unittest.main()
