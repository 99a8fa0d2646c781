"""Routes, uploads and what is tried, in a browser."""

import base64
import os
import subprocess
import tempfile
import threading
import unittest

from console_support import ROUTES, ConsoleTestCase
from harness import FORM, JSON, RECAST, Client
from lifecycle_support import reload


class RouteTests(ConsoleTestCase):
    def test_routes_are_counted_and_lead_to_their_exchanges_and_to_a_try(self):
        for number in range(3):
            self.send("POST", f"/orders/{number}", "a=1", FORM)
        self.send("POST", "/orders/9", "a=1&a[b]=2", FORM)
        page = self.tab("routes")
        row = "[...document.querySelectorAll('.routes tbody tr')].find((row) => row.cells[0].innerText === 'orders')"
        page.until(f"{row}?.cells[5].innerText === '4'")
        cells = page.run(f"return [...{row}.cells].map((cell) => cell.innerText)")
        self.assertIn("/orders/{id}", cells[1])
        self.assertEqual(cells[2], "form -> json")
        self.assertIn("2xx 3", cells[6])
        self.assertIn("4xx 1", cells[6])
        self.send("POST", "/orders/4", "a=1", FORM)
        page.until(f"{row}.cells[5].innerText === '5'", what="a count that goes on")
        page.click(".routes a.status", "4xx")
        page.until("document.querySelectorAll('.list tbody tr').length === 1")
        self.assertEqual(page.run("return location.hash"), "#/exchanges?route=orders&status=4xx")
        page.click("nav a", "Routes")
        page.until_found(".routes tbody tr")
        page.click("a[aria-label='Try orders']")
        page.until_found(".result .good")
        page.click("nav a", "Routes")
        page.click("a.button", "New route")
        page.until("document.querySelector('h1')?.innerText === 'New route' && document.activeElement.tagName === 'H1'")


class ReloadedRouteTests(ConsoleTestCase):
    def test_what_a_reload_changes_of_a_route_is_shown(self):
        page = self.tab("routes")
        cells = "[...document.querySelectorAll('.routes tbody tr')].map((row) => [row.cells[0].innerText, row.cells[2].innerText].join(' ')).join()"
        page.until(f"{cells} === 'orders form -> json,photos multipart -> json,to-form json -> form,rest as it is'")
        with open(self.recast.config, encoding="utf-8") as file:
            text = file.read()
        for was, becomes, shown in (
            ("request: json -> form\n", "request: json -> multipart\n", "orders form -> json,photos multipart -> json,to-form json -> multipart,rest as it is"),
            ("  - { name: rest", "  - { name: more, match: /more, upstream: app }\n  - { name: rest",
             "orders form -> json,photos multipart -> json,to-form json -> multipart,more as it is,rest as it is"),
        ):
            text = text.replace(was, becomes)
            with open(self.recast.config, "w", encoding="utf-8") as file:
                file.write(text)
            reload(self.recast)
            page.until(f"{cells} === values[0]", shown)


class UploadTests(ConsoleTestCase):
    def test_an_upload_of_200_mib_shows_its_progress(self):
        total = 200 << 20
        page = self.tab("uploads")
        page.until_text("No upload is on its way")
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def upload():
            with Client(self.recast.port) as client:
                client.send(f"POST /big HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\nX-Request-Id: upload-1\r\nContent-Length: {total}\r\n\r\n")
                block = bytes(1 << 20)
                for number in range(200):
                    if number == 120:
                        go_on.wait(60)
                    client.socket.sendall(block)
                client.response("POST")

        def swallow(exchange):
            for _ in exchange.reader.body_pieces(exchange.received.fields):
                pass
            exchange.answer()

        self.upstream.script = swallow
        thread = threading.Thread(target=upload)
        thread.start()
        self.addCleanup(thread.join)
        page.until("document.querySelector('.uploads progress')?.value >= 120 * 1048576 * 0.99")
        text = page.run("return document.querySelector('.uploads li').innerText")
        self.assertIn("of 200 MiB (60 %)", text)
        self.assertIn("upload-1", text)
        self.assertEqual(page.run("return document.querySelector('.uploads progress').max"), total)
        name = page.run("const one = document.querySelector('.uploads progress'); return document.getElementById(one.getAttribute('aria-labelledby')).innerText")
        self.assertIn("rest", name)
        go_on.set()
        page.until_text("Ended while you looked")
        page.until_text("No upload is on its way")
        page.click(".ended a")
        page.until_text("/big")


DEFINITION = "[...document.querySelectorAll('.trying label')].find((label) => label.textContent.startsWith('The route as YAML'))?.control"


class TryTestCase(ConsoleTestCase):
    def new_route(self):
        page = self.tab("try?new")
        page.until("document.querySelector('.trying [data-option=dialect]') !== null")
        return page

    def begin_with(self, page, what):
        self.control(page, "Begin with", what)
        page.click(".trying button", "Begin")

    def definition(self, page):
        return page.run(f"return {DEFINITION}.value")

    def write(self, page, definition):
        """Writes the definition by hand."""
        page.until(f"{DEFINITION} !== undefined")
        page.run(f"{DEFINITION}.focus(); {DEFINITION}.select()")
        page.type(definition)

    def control(self, page, name, value):
        """Fills what has that label, or chooses in it, as a person at the keyboard does."""
        find = "[...document.querySelectorAll('label')].find((label) => label.textContent === values[0] && label.checkVisibility())?.control"
        page.until(f"{find} && !{find}.disabled", name, what=f"the control {name}")
        if page.run(f"{find}.focus(); return {find}.tagName", name) == "SELECT":
            page.run(f"const one = {find}; one.value = values[1]; one.dispatchEvent(new Event('change', {{ bubbles: true }}))", name, value)
        else:
            page.run(f"{find}.select()", name)
            page.type(value)

    def try_definition(self, page, definition, media_type, body):
        page.click("label", "A new route")
        self.write(page, definition)
        page.run("""const labels = [...document.querySelectorAll('.trying label')];
            for (const [name, value] of [['Content-Type', values[0]], ['Body', values[1]]]) {
                const { control } = labels.find((label) => label.textContent === name);
                control.value = value; control.dispatchEvent(new Event('input'));
            }""", media_type, body)
        page.click("button", "Convert")

    def check_file(self, yaml):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(yaml)
            file.flush()
            result = subprocess.run([RECAST, "check", file.name], capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stderr + yaml)

    def keep_copies(self, page):
        """What is copied is kept in the page, too: a clipboard is for windows that have the focus."""
        page.run("window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text); }")

    def copy(self, page, name):
        page.click(".result button", name)
        page.until("window.copied.length > 0")
        return page.run("return window.copied.pop()")


class TryTests(TryTestCase):
    def test_a_route_takes_a_sample_and_shows_what_becomes_of_it(self):
        page = self.tab("try?route=orders")
        page.until_text("It becomes application/json")
        self.assertIn('"name": "Ada"', page.run("return document.querySelector('.result').innerText"))
        rows = page.run("return [...document.querySelectorAll('.result .fields tbody tr')].map((row) => row.innerText)")
        self.assertTrue(rows)
        page.hover(".result .side .line[data-entry='0']")
        page.until("document.querySelectorAll('.result .lit').length === 3")

    def test_what_was_put_in_is_there_again_behind_another_view(self):
        page = self.tab("try?route=orders")
        page.until_text("It becomes application/json")
        self.control(page, "Body", "user[name]=Grace&kept=1")
        page.until("document.querySelector('.result').innerText.includes('Grace')")
        page.click("nav a", "Routes")
        page.until_found("main table.routes")
        page.click("nav a", "Try it")
        page.until("document.querySelector('.result')?.innerText.includes('Grace')")
        found = page.run("return [...document.querySelectorAll('.trying label')].filter((label) => ['Route', 'Body'].includes(label.textContent))"
                         ".map((label) => label.control.value)")
        self.assertEqual(found, ["orders", "user[name]=Grace&kept=1"])
        # A new route, too, with what was written by hand and hasn't been read.
        page.click("label", "A new route")
        self.control(page, "Name", "mine")
        page.until(f"{DEFINITION}.value.includes('name: mine')")
        page.click("nav a", "Routes")
        page.until_found("main table.routes")
        page.click("nav a", "Try it")
        page.until(f"{DEFINITION}?.value.includes('name: mine')")
        page.until("document.querySelector('.result').innerText.includes('Grace')")
        page.expected = ["422"]
        self.write(page, "request: [")
        page.until_text("Edited by hand")
        page.click("nav a", "Routes")
        page.until_found("main table.routes")
        page.click("nav a", "Try it")
        page.until_text("Edited by hand")
        self.assertEqual(self.definition(page), "request: [")
        page.click("button", "Start over from the lists")
        page.until(f"{DEFINITION}.value.includes('name: mine')")

    def test_an_address_that_changes_while_the_view_loads_is_heeded(self):
        page = self.tab("routes")
        page.until_found(".routes tbody tr")
        page.run("const send = window.fetch; const held = new Promise((resolve) => { window.letGo = resolve; });"
                 " window.fetch = async (path, members) => { if (path === '/console/options') await held; return send(path, members); }")
        page.click("a[aria-label='Try orders']")
        page.until_found(".trying")
        page.run("location.hash = '#/try?new'")
        page.until("document.querySelector('h1').innerText === 'New route'")
        page.run("window.letGo()")
        page.until("document.querySelector('.result pre[aria-label=\"The route as YAML\"]') !== null")
        self.assertIn("name: new-route", page.run("return document.querySelector('.result').innerText"))

    def test_each_pair_of_encodings(self):
        page = self.tab("try")
        page.click("label", "A new route")
        controls = "[...document.querySelectorAll('.trying label')]"
        page.until(f"{controls}.find((label) => label.textContent === 'From').control.options.length > 3")
        page.expected = ["422"]
        inputs, outputs = page.run(f"""return ['From', 'To'].map((name) => (
            [...{controls}.find((label) => label.textContent === name).control.options].map((option) => option.value)))""")
        self.assertGreaterEqual(len(inputs) * len(outputs), 49, (inputs, outputs))
        tried = refused = 0
        for one in inputs:
            for other in outputs:
                page.run(f"""const find = (name) => {controls}.find((label) => label.textContent === name).control;
                    document.querySelector('.result').replaceChildren();
                    for (const [name, value] of [['From', values[0]], ['To', values[1]]]) {{
                        find(name).value = value; find(name).dispatchEvent(new Event('change'));
                    }}
                    const sample = find('Sample');
                    const wanted = [...sample.options].some((option) => option.value === values[0]) ? values[0] : values[0] === 'query' ? 'form' : 'json';
                    sample.value = wanted; sample.dispatchEvent(new Event('change'));
                    find('Query').value = values[0] === 'query' ? 'a=1&b[c]=2' : '';
                    document.querySelector('.result').replaceChildren();
                    document.querySelector('form.trying').requestSubmit();""", one, other)
                page.expected = ["422"]
                page.until("document.querySelector('.result .good, .result .problem') !== null", what=f"{one} -> {other}")
                text = page.run("return document.querySelector('.result').innerText")
                tried += 1
                if "It is refused" in text or "The definition has" in text:
                    # A pair that can't carry the sample says why, with a code or a place.
                    refused += 1
                    self.assertTrue(page.run("return document.querySelector('.result .problem code, .mistakes li') !== null"), f"{one} -> {other}: {text}")
                else:
                    self.assertIn("As a route", text, f"{one} -> {other}")
        self.assertEqual(tried, len(inputs) * len(outputs))
        self.assertLess(refused, tried * 0.6, "most pairs can carry a small sample")

    def test_a_response_is_tried_too(self):
        page = self.tab("try?route=to-form")
        page.until("document.querySelector('.result .good, .result .problem') !== null")
        page.click("label", "Of the upstream’s response")
        page.until("document.querySelector('.result .good') !== null")
        self.assertIn("application/x-www-form-urlencoded", page.run("return document.querySelector('.result .good').innerText"))

    def test_the_yaml_is_a_route_that_check_takes(self):
        page = self.tab("try")
        self.try_definition(page, "request:\n  decode: { as: form, dialect: php }\n  fields: { age: integer }\n  encode: { as: json }\n", FORM, "age=7&a[b]=1")
        page.until("document.querySelector('.result').innerText.includes('\"age\": 7')")
        yaml = page.run("return document.querySelector('pre[aria-label=\"The route as YAML\"]').textContent")
        self.check_file('version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: "127.0.0.1:3000" }\nroutes:\n' + yaml)
        self.keep_copies(page)
        self.assertEqual(self.copy(page, "Copy the route"), yaml)
        self.check_file(self.copy(page, "Copy a whole file"))
        self.assertIn("must be one of its upstreams", page.run("return document.querySelector('.copies').innerText"))

    def test_a_mistake_in_a_body_is_marked_and_gone_to(self):
        page = self.tab("try")
        page.expected = ["422"]
        body = '{"ü": "ä",\n "b" 1}'
        self.try_definition(page, "request: json -> form", JSON, body)
        page.until_text("It is refused")
        page.until_text("line 2, column 6")
        page.click("button", "Go there in the body")
        selected = "const one = document.activeElement; return one.value.slice(one.selectionStart, one.selectionEnd)"
        self.assertEqual(page.run(selected), "1")
        # The code stands there once, and the end of a body that is cut off can be seen.
        page.run("const one = document.activeElement; one.value = values[0]; one.dispatchEvent(new Event('input'))", '{"sku": "qt')
        page.until_text("end of the body")
        text = page.run("return document.querySelector('.result .problem').innerText")
        self.assertEqual(text.count("json_unexpected_end"), 1, text)
        page.click("button", "Go there in the body")
        self.assertEqual(page.run(selected), "t")

    def test_mistakes_of_a_definition_have_their_places(self):
        page = self.tab("try")
        page.expected = ["422"]
        self.try_definition(page, "request: form -> jsn", FORM, "a=1")
        page.until_found(".mistakes li")
        self.assertRegex(page.run("return document.querySelector('.mistakes').innerText"), r"Line 1, column \d+ ")
        page.click(".mistakes button")
        self.assertEqual(page.run("return document.activeElement.tagName"), "TEXTAREA")

    def test_options_are_chosen_from_lists(self):
        page = self.new_route()
        page.expected = ["422"]
        page.click("summary", "Options of From and To")
        page.choose(".trying [data-option=dialect]", "php")
        self.assertIn('request: "form(dialect: php) -> json"\n', self.definition(page))
        # What is written by hand is chosen in the lists, once it is read; what stands around it stays.
        self.write(page, "# mine\nlimits: { fields: 7 }\nrequest: \"json -> form(arrays: indices, dialect: qs)\"\n")
        self.assertTrue(page.run("return document.querySelector('.trying [data-option]').disabled"))
        page.until("[...document.querySelectorAll('.trying [data-option]')].some((one) => one.value === 'indices' && !one.disabled)")
        chosen = page.run("return [...document.querySelectorAll('.trying select, .trying [data-option]')].map((one) => one.value)")
        for word in ("json", "form", "indices", "qs"):
            self.assertIn(word, chosen)
        self.assertIn("# mine", self.definition(page))
        self.control(page, "From", "multipart")
        self.assertIn('request: "multipart -> form(arrays: indices, dialect: qs)"\n', self.definition(page))
        self.assertIn("limits: { fields: 7 }\n", self.definition(page))
        # And the other way: the long form stays one where it says more.
        self.write(page, "request:\n  decode: { as: form }\n  map: { remove: [a] }\n  encode: { as: json }\n")
        page.until("[...document.querySelectorAll('.trying label')].find((label) => label.textContent === 'From').control.value === 'form'")
        page.choose(".trying [data-option=dialect]", "php")
        self.assertIn("  decode: { as: form, dialect: php }\n  map:\n    remove: [a]\n", self.definition(page))

    def test_lists_wait_while_the_definition_has_a_mistake(self):
        page = self.new_route()
        page.expected = ["422"]
        self.control(page, "Name", "hooks")
        before = self.definition(page)
        self.write(page, "request: form -> jsn\nrename: { a: b }\n")
        page.until_text("Edited by hand, with a mistake")
        self.assertEqual(page.run("return [...document.querySelectorAll('.trying label')].filter((label) => ['Name', 'Upstream', 'From', 'To'].includes("
                                  "label.textContent) && !label.control.disabled).length"), 0)
        rows = page.run("return [...document.querySelectorAll('.mistakes li')].map((row) => row.innerText)")
        self.assertEqual(len(rows), 2, rows)
        self.assertIn('it stands in "request.map", in the long form of "request"', rows[1])
        self.assertNotIn("jsn", page.run("return document.querySelector('.result').innerText"), "mistakes stand once")
        page.click("button", "Start over from the lists")
        self.assertEqual(self.definition(page), before)
        page.until("document.querySelector('.mistakes').childElementCount === 0 && document.querySelector('.byhand').innerText === ''")

    def test_a_definition_is_proposed_by_bodies_and_tried(self):
        page = self.tab("try?route=photos")
        button = "document.querySelector('.propose button')"
        page.until_text("None yet whose body is kept whole")
        self.assertTrue(page.run(f"return {button}.disabled"))
        for age in range(3):
            self.send("POST", f"/orders/{age}", f"age={age}&name=Ada&internal=x", FORM)
        self.control(page, "Route", "orders")
        page.click("button", "Propose from 3 recorded requests of orders")
        page.until_text("Proposed by")
        rows = page.run("return [...document.querySelectorAll('.result tbody tr')].map((row) => row.cells[0].innerText)")
        self.assertIn("age", rows)
        self.assertIn("request", self.definition(page))
        page.click("button", "Convert")
        page.until_text("It becomes application/json")

    def test_the_path_of_one_sample_is_not_that_of_another_route(self):
        page = self.tab("try?route=orders")
        page.until_text("It becomes application/json")
        page.click("summary", "Path, query and header fields")
        self.control(page, "Path", "/orders/9")
        self.control(page, "Route", "photos")
        page.until("document.querySelector('.result').innerText.includes('POST /photos')")

    def test_a_file_s_lines_end_as_they_do_in_it(self):
        content = '--b\r\nContent-Disposition: form-data; name="x"; filename="x.txt"\r\n\r\none\ntwo\n\rthree\r\n--b--\r\n'
        page = self.tab("try?route=photos")
        page.until_text("It becomes application/json")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "body")
            with open(path, "wb") as file:
                file.write(content.encode())
            page.expected = ["422"]  # of the body that was there before, under the new type, where the file is slow to come
            self.control(page, "Content-Type", "multipart/form-data; boundary=b")
            root = page.send("DOM.getDocument")["root"]["nodeId"]
            node = page.send("DOM.querySelector", nodeId=root, selector="input[type=file]")["nodeId"]
            page.send("DOM.setFileInputFiles", nodeId=node, files=[path])
            page.until_text("Not all of its lines end alike")
            page.until_text(base64.b64encode(b"one\ntwo\n\rthree").decode())

    def test_a_file_that_is_no_text_is_shown_in_hex(self):
        page = self.tab("try")
        page.click("label", "A new route")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "picture.png")
            with open(path, "wb") as file:
                file.write(b"\x89PNG\r\n\x1a\n" + bytes(range(200)))
            root = page.send("DOM.getDocument")["root"]["nodeId"]
            node = page.send("DOM.querySelector", nodeId=root, selector="input[type=file]")["nodeId"]
            self.write(page, "request: 'raw -> json(files: base64)'")
            page.send("DOM.setFileInputFiles", nodeId=node, files=[path])
            page.until_text("is no text and goes as it is")
            page.until_found(".result .hex")
        self.assertIn("89 50 4e 47", page.run("return document.querySelector('.result .hex').innerText"))
        page.click("button", "Take it away")
        self.assertEqual(page.run("return document.activeElement.tagName"), "TEXTAREA")


class BuildingTests(TryTestCase):
    """A newcomer's route, built without writing YAML."""

    routes = ROUTES.replace("  - { name: rest", '''  - name: hook
    match: /hook
    upstream: app
    verify: { preset: github, secret: a-long-enough-secret }
    request: form -> json
  - { name: rest''')
    BODY = "order_no=A-1017&customer[name]=Ann+Lee&customer[mail]=ann%40example.com&items[0][sku]=X1&items[0][qty]=2&zip=01234&debug=1"
    WANTED = ('"customer": {', '"qty": 2', '"zip": "01234"', '"id": "A-1017"')

    def row(self, page, field):
        """Opens a field's row by the keyboard."""
        find = f"[...document.querySelectorAll('.result [data-from]:enabled')].find((one) => one.dataset.from === {field!r})"
        page.until(f"{find} !== undefined", what=f"the row of {field}")
        page.run(f"{find}.focus()")
        page.press("Enter")
        page.until_found(".changes")

    def done(self, page, field, what):
        """The row's change has been converted, and the focus is on it again."""
        page.until(f"document.querySelector('.changes') === null && document.activeElement.dataset.from === {field!r}"
                   " && document.querySelector('.result').innerText.includes(values[0])", what)

    def check_route(self, page):
        self.keep_copies(page)
        item = self.copy(page, "Copy the route")
        self.assertEqual([line.split(":")[0].strip(" -") for line in item.splitlines() if not line.startswith("     ")],
                         ["name", "match", "upstream", "request"], item)
        self.check_file('version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: "127.0.0.1:3000" }\nroutes:\n' + item
                        + '  - { name: rest, match: "/*", upstream: app }\n')
        self.check_file(self.copy(page, "Copy a whole file"))
        return item

    def test_a_route_is_built_by_fields_lists_and_rows(self):
        page = self.tab("routes")
        page.click("a.button", "New route")
        self.control(page, "Name", "webhook")
        self.control(page, "Path of its requests", "/hooks/orders")
        self.control(page, "Body", self.BODY)
        self.row(page, "order_no")
        self.assertEqual(page.focused(), "input New name of order_no")
        page.run("document.activeElement.select()")
        page.type("id")
        page.press("Enter")
        self.done(page, "order_no", '"id": "A-1017"')
        self.row(page, "debug")
        page.click(".changes button", "Leave out")
        self.done(page, "debug", "left out")
        self.row(page, "items[0][qty]")
        self.control(page, "Type", "integer")
        page.click(".changes button", "Apply")
        self.done(page, "items[0][qty]", '"qty": 2')
        self.row(page, "zip")
        self.control(page, "Type", "string")
        page.click(".changes button", "Apply")
        self.done(page, "zip", "fields zip: string")
        text = page.run("return document.querySelector('.result').innerText")
        for part in self.WANTED:
            self.assertIn(part, text)
        self.assertIn("goes behind the others", text)
        item = self.check_route(page)
        self.assertIn("match: { method: POST, path: /hooks/orders }", item)
        self.assertIn('"items[*].qty": integer', item)
        # A name and a type at once: rules of types follow the field.
        self.row(page, "items[0][sku]")
        page.run("document.activeElement.select()")
        page.type("items[*].article")
        self.control(page, "Type", "string")
        page.press("Tab")
        page.press("Enter")
        self.done(page, "items[0][sku]", '"article": "X1"')
        self.row(page, "items[0][sku]")
        page.run("document.activeElement.select()")
        page.type("items[*].sku")
        page.press("Enter")
        self.done(page, "items[0][sku]", '"sku": "X1"')
        self.assertIn('"items[*].sku": string', self.definition(page))
        self.assertNotIn("article", self.definition(page))
        # Each of it can be taken back.
        self.row(page, "debug")
        page.click(".changes button", "Put back")
        self.done(page, "debug", '"debug": "1"')
        page.click("button", "Undo the last change")
        page.until("!document.querySelector('.result').innerText.includes('\"debug\"')")
        self.row(page, "order_no")
        page.press("Escape")
        page.until("document.querySelector('.changes') === null && document.activeElement.dataset.from === 'order_no'")

    def test_a_change_that_cannot_be_is_taken_back(self):
        page = self.new_route()
        page.expected = ["422"]
        self.control(page, "Body", self.BODY)
        self.row(page, "zip")
        page.run("document.activeElement.select()")
        page.type("items[")
        page.press("Enter")
        page.until_text("The definition has 1 mistake")
        page.click(".result button", "Undo the last change")
        page.until_text("It becomes application/json")
        self.assertNotIn("items[", self.definition(page))
        self.row(page, "customer[name]")
        self.control(page, "Type", "integer")
        page.click(".changes button", "Apply")
        page.until_text("It is refused")
        page.click(".result button", "Undo the last change")
        page.until_text("It becomes application/json")

    def test_a_field_of_a_route_that_serves_begins_a_new_one(self):
        page = self.tab("try?route=orders")
        page.until_text("It becomes application/json")
        self.row(page, "tags[]")
        self.assertIn("a copy of orders", page.run("return document.querySelector('.changes').innerText"))
        page.click(".changes button", "Leave out")
        self.done(page, "tags[]", "map.remove tags")
        self.assertEqual(page.run("return document.querySelector('h1').innerText"), "New route")
        definition = self.definition(page)
        self.assertIn("remove: [internal, tags]", definition)
        self.assertIn("rename: { user_id: user.id }", definition)
        self.assertIn("match: { method: [POST, PUT], path:", definition.replace("\n  method", " { method").replace("\n  path", ", path"))

    def test_a_copy_says_what_it_lacks(self):
        page = self.new_route()
        self.begin_with(page, "route hook")
        page.until_text("Left out, because secrets may stand there: verify.")
        self.assertNotIn("verify", self.definition(page))
        self.assertNotIn("a-long-enough-secret", page.run("return document.body.innerText"))
        page.click("label", "A route that serves")
        self.control(page, "Route", "hook")
        page.until_text("# left out, because secrets may stand there: verify")
        self.row(page, "note")
        page.click(".changes button", "Leave out")
        self.done(page, "note", "Left out, because secrets may stand there: verify.")

    def test_an_example_shows_what_the_long_form_has(self):
        page = self.new_route()
        self.begin_with(page, "example")
        page.until_text('"year": 1815')
        self.assertIn("rename: { user.born: user.year }", self.definition(page))
        self.check_route(page)
        # The route is asked for by an empty body, which is no JSON.
        page.expected = ["422"]
        self.begin_with(page, "route to-form")
        page.until("document.querySelector('.result').innerText.includes('application/x-www-form-urlencoded')")
        self.assertIn("response: json -> form", self.definition(page))


if __name__ == "__main__":
    unittest.main()
