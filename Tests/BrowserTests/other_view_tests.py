"""Routes, uploads and what is tried, in a browser."""

import os
import subprocess
import tempfile
import threading
import unittest

from console_support import ConsoleTestCase
from harness import FORM, JSON, RECAST, Client


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


class TryTests(ConsoleTestCase):
    def try_definition(self, page, definition, media_type, body):
        page.click("label", "A definition")
        page.fill("form.trying textarea:not(.unused)", definition)
        page.run("""const labels = [...document.querySelectorAll('.trying label')];
            for (const [name, value] of [['Content-Type', values[0]], ['Body', values[1]]]) {
                const { control } = labels.find((label) => label.textContent === name);
                control.value = value; control.dispatchEvent(new Event('input'));
            }""", media_type, body)
        page.click("button", "Convert")

    def test_a_route_takes_a_sample_and_shows_what_becomes_of_it(self):
        page = self.tab("try?route=orders")
        page.until_text("It becomes application/json")
        self.assertIn('"name": "Ada"', page.run("return document.querySelector('.result').innerText"))
        rows = page.run("return [...document.querySelectorAll('.result .fields tbody tr')].map((row) => row.innerText)")
        self.assertTrue(rows)
        page.hover(".result .side .line[data-entry='0']")
        page.until("document.querySelectorAll('.result .lit').length === 3")

    def test_each_pair_of_encodings(self):
        page = self.tab("try")
        page.click("label", "A definition")
        controls = "[...document.querySelectorAll('.trying label')]"
        page.until(f"{controls}.find((label) => label.textContent === 'From').control.options.length > 3")
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
                if "It is refused" in text:
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
        page.until_text("It becomes application/json")
        self.assertIn('"age": 7', page.run("return document.querySelector('.result').innerText"))
        yaml = page.run("return document.querySelector('pre[aria-label=\"The route as YAML\"]').textContent")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write('version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: "127.0.0.1:3000" }\n' + yaml)
            file.flush()
            result = subprocess.run([RECAST, "check", file.name], capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stderr + yaml)

    def test_a_mistake_in_a_body_is_marked_and_gone_to(self):
        page = self.tab("try")
        page.expected = ["422"]
        body = '{"ü": "ä",\n "b" 1}'
        self.try_definition(page, "request: json -> form", JSON, body)
        page.until_text("It is refused")
        page.until_text("line 2, column 6")
        page.click("button", "Go there in the body")
        self.assertEqual(page.run("const one = document.activeElement; return one.value.slice(one.selectionStart, one.selectionEnd)"), "1")

    def test_mistakes_of_a_definition_have_their_places(self):
        page = self.tab("try")
        page.expected = ["422"]
        self.try_definition(page, "request: form -> jsn", FORM, "a=1")
        page.until_found(".mistakes li")
        self.assertRegex(page.run("return document.querySelector('.mistakes').innerText"), r"Line 1, column \d+ ")
        page.click(".mistakes button")
        self.assertEqual(page.run("return document.activeElement.tagName"), "TEXTAREA")

    def test_options_are_chosen_from_lists(self):
        page = self.tab("try")
        page.click("label", "A definition")
        page.click("summary", "Options")
        page.until("document.querySelector('.trying [data-option=dialect]') !== null")
        page.choose(".trying [data-option=dialect]", "php")
        self.assertRegex(page.run("return document.querySelector('.trying textarea').value"), r"^request: 'form\(dialect: php\) -> json'")
        # And what is written by hand is chosen in the lists.
        page.fill("form.trying textarea", "request: \"json -> form(arrays: indices, dialect: qs)\"\n")
        chosen = page.run("return [...document.querySelectorAll('.trying select, .trying [data-option]')].filter((one) => one.value !== '').map((one) => one.value)")
        for word in ("json", "form", "indices", "qs"):
            self.assertIn(word, chosen)
        # What the lists can't say isn't overwritten by them.
        long_form = "request:\n  decode: { as: form }\n  encode: { as: json }\n"
        page.fill("form.trying textarea", long_form)
        page.choose(".trying [data-option=dialect]", "php")
        page.until_text("The definition has the long form")
        self.assertEqual(page.run("return document.querySelector('.trying textarea').value"), long_form)

    def test_a_definition_is_proposed_by_bodies_and_tried(self):
        for age in range(3):
            self.send("POST", f"/orders/{age}", f"age={age}&name=Ada&internal=x", FORM)
        page = self.tab("try?route=orders")
        page.click("button", "Propose a definition by its bodies")
        page.until_text("Proposed by")
        rows = page.run("return [...document.querySelectorAll('.result tbody tr')].map((row) => row.cells[0].innerText)")
        self.assertIn("age", rows)
        self.assertIn("request", page.run("return document.querySelector('.trying textarea').value"))
        page.click("button", "Convert")
        page.until_text("It becomes application/json")

    def test_a_file_that_is_no_text_is_shown_in_hex(self):
        page = self.tab("try")
        page.click("label", "A definition")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "picture.png")
            with open(path, "wb") as file:
                file.write(b"\x89PNG\r\n\x1a\n" + bytes(range(200)))
            root = page.send("DOM.getDocument")["root"]["nodeId"]
            node = page.send("DOM.querySelector", nodeId=root, selector="input[type=file]")["nodeId"]
            page.fill("form.trying textarea", "request: 'raw -> json(files: base64)'")
            page.send("DOM.setFileInputFiles", nodeId=node, files=[path])
            page.until_text("is no text and goes as it is")
            page.until_text("It becomes application/json")
        self.assertIn("89 50 4e 47", page.run("return document.querySelector('.result .hex').innerText"))
        page.click("button", "Take it away")
        self.assertEqual(page.run("return document.activeElement.tagName"), "TEXTAREA")


if __name__ == "__main__":
    unittest.main()
