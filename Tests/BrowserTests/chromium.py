"""Chromium without a window, driven by its DevTools protocol over two pipes: nothing but Python and the browser is needed.

Nothing here sleeps: what a page becomes is awaited in the page itself, by its own frames, with a deadline.
"""

import base64
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading

DEADLINE = 20
KEYS = {
    "Tab": (9, ""), "Enter": (13, "\r"), "Escape": (27, ""), " ": (32, " "), "Home": (36, ""), "End": (35, ""),
    "ArrowLeft": (37, ""), "ArrowUp": (38, ""), "ArrowRight": (39, ""), "ArrowDown": (40, ""), "Backspace": (8, ""),
}


def find_chromium():
    """Debian's own, since its command is a script that reads settings of the desktop; else what is in the path."""
    for path in ("/usr/lib/chromium/chromium", shutil.which("chromium"), shutil.which("google-chrome")):
        if path and os.path.exists(path):
            return path
    return None


class Failed(AssertionError):
    """What the browser said of a command or a script."""


class Chromium:
    """One browser with a profile of its own, gone with it."""

    def __init__(self):
        path = find_chromium()
        if path is None:
            raise RuntimeError("there is no Chromium; run: scripts/dependencies browser")
        self.folder = tempfile.mkdtemp(prefix="recast-chromium-")
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()

        # The protocol's descriptors are 3 and 4. Both are moved up first: one of them may have the number of the other.
        def wire():
            read, write = os.dup(theirs_in), os.dup(theirs_out)
            high_read, high_write = max(read, 10), max(write, 11)
            os.dup2(read, high_read)
            os.dup2(write, high_write)
            os.dup2(high_read, 3)
            os.dup2(high_write, 4)

        self.process = subprocess.Popen([
            path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
            f"--user-data-dir={self.folder}", "--no-first-run", "--no-default-browser-check", "--disable-extensions",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
            "--disable-features=Translate,MediaRouter,OptimizationHints", "--metrics-recording-only", "--mute-audio",
            "--force-color-profile=srgb", "--hide-scrollbars", "--lang=en-GB", "about:blank",
        ], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=wire,
            start_new_session=True)
        os.close(theirs_in)
        os.close(theirs_out)
        self.input, self.output = ours_in, ours_out
        self.numbers = 0
        self.answers = {}
        self.pages = {}
        self.lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        rest = b""
        while True:
            try:
                data = os.read(self.input, 1 << 20)
            except OSError:
                data = b""
            if not data:
                with self.lock:
                    waiting = list(self.answers.values())
                for answer in waiting:
                    answer.put({"error": {"message": "the browser is gone"}})
                return
            *messages, rest = (rest + data).split(b"\0")
            for text in messages:
                message = json.loads(text)
                if "id" in message:
                    with self.lock:
                        answer = self.answers.pop(message["id"], None)
                    if answer:
                        answer.put(message)
                elif message.get("sessionId") in self.pages:
                    self.pages[message["sessionId"]].hear(message["method"], message["params"])

    def send(self, method, session=None, **params):
        """Sends a command and gives what it answers."""
        answer = queue.Queue()
        with self.lock:
            self.numbers += 1
            number = self.numbers
            self.answers[number] = answer
            message = {"id": number, "method": method, "params": params}
            if session:
                message["sessionId"] = session
            data = json.dumps(message).encode() + b"\0"
            while data:
                data = data[os.write(self.output, data):]
        try:
            result = answer.get(timeout=DEADLINE * 3)
        except queue.Empty:
            raise Failed(f"{method} was not answered") from None
        if "error" in result:
            raise Failed(f"{method}: {result['error']['message']}")
        return result["result"]

    def page(self, **view):
        """A new tab in a profile that has seen nothing."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, context)
        self.pages[session] = page
        for domain in ("Page", "Runtime", "Network", "Log", "DOM", "Accessibility"):
            page.send(f"{domain}.enable")
        page.send("Performance.enable", timeDomain="threadTicks")
        page.view(**view)
        return page

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.output)
        shutil.rmtree(self.folder, ignore_errors=True)


class Page:
    """One tab: what it asked for, what it complained of, and hands for it."""

    def __init__(self, browser, session, context):
        self.browser, self.session, self.context = browser, session, context
        self.requests = []  # URLs
        self.complaints = []  # errors of the console, of scripts, of the policy
        self.received = {}  # bytes by request
        self.addresses = {}
        self.expected = []  # parts of complaints that a test has caused itself

    def send(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def hear(self, method, params):
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
            self.addresses[params["requestId"]] = params["request"]["url"]
        elif method == "Network.dataReceived":
            self.received[params["requestId"]] = self.received.get(params["requestId"], 0) + params["dataLength"]
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{params['entry']['source']}: {params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append("exception: " + details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append("console: " + " ".join(str(one.get("value", one.get("description"))) for one in params["args"]))
        elif method == "Page.javascriptDialogOpening":
            self.complaints.append("dialog: " + params["message"])

    def view(self, width=1280, height=900, dark=False, reduced=False, touch=False):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)
        self.send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if reduced else "no-preference"}])

    def go(self, url):
        self.send("Page.navigate", url=url)

    def run(self, script, *values):
        """What the body of a function, which may await, returns for JSON values."""
        expression = f"(async (...values) => {{ {script} }})(...{json.dumps(values)})"
        result = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise Failed(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def until(self, condition, *values, what=None):
        """Waits until an expression of the page, in which `values` are known, is truthy, and returns it. What it asks for needn't be
        there yet: on a slow machine a view is looked at before it is drawn."""
        script = f"""
            const end = performance.now() + {DEADLINE * 1000};
            for (;;) {{
                let found = null, missing = null;
                try {{
                    found = document.body && await (async () => ({condition}))();
                }} catch (error) {{
                    if (!(error instanceof TypeError)) throw error;
                    missing = error;
                }}
                if (found) return found;
                if (performance.now() > end) {{
                    if (missing) throw missing;
                    return null;
                }}
                await new Promise((resolve) => setTimeout(resolve, 10));
            }}"""
        while True:
            try:
                found = self.run(script, *values)
                break
            except Failed as error:
                # Another document has come meanwhile, in which to look anew.
                if "context" not in str(error) and "navigated" not in str(error):
                    raise
        if not found:
            raise Failed(f"this did not come: {what or condition} {values}\n{self.text()[:3000]}\ncomplaints: {self.complaints}")
        return found

    def text(self):
        return self.run("return document.body.innerText")

    def until_text(self, text):
        self.until("document.body.innerText.includes(values[0])", text, what=f"the text {text!r}")

    def until_found(self, selector):
        self.until("document.querySelector(values[0]) !== null", selector, what=f"the element {selector}")

    def click(self, selector, text=None):
        """A real click of the mouse on the first element that is shown, with a text in it, once it stands still and nothing is over it."""
        x, y = self.until("""(async () => {
            const one = [...document.querySelectorAll(values[0])].find((element) => element.getClientRects().length > 0
                && !element.disabled && (values[1] === null || element.innerText.includes(values[1])));
            if (!one) return null;
            one.scrollIntoView({ block: 'center' });
            const middle = () => { const box = one.getClientRects()[0]; return box && [box.x + box.width / 2, box.y + box.height / 2]; };
            const before = middle();
            await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
            const after = middle();
            if (!after || before.join() !== after.join()) return null;
            const hit = document.elementFromPoint(...after);
            return hit !== null && (one.contains(hit) || hit.contains(one)) ? after : null;
        })()""", selector, text, what=f"{selector} {text or ''}, to be clicked")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" else "left", clickCount=1)

    def hover(self, selector):
        x, y = self.run("const one = document.querySelector(values[0]); one.scrollIntoView({ block: 'center' });"
                        " const box = one.getClientRects()[0]; return [box.x + Math.min(box.width, 40) / 2, box.y + box.height / 2]", selector)
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key, control=False, shift=False):
        code, text = KEYS.get(key, (ord(key.upper()[0]), key))
        members = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": (2 if control else 0) | (8 if shift else 0)}
        if text and not control:
            members["text"] = text
        self.send("Input.dispatchKeyEvent", type="keyDown" if "text" in members else "rawKeyDown", **members)
        members.pop("text", None)
        self.send("Input.dispatchKeyEvent", type="keyUp", **members)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def fill(self, selector, text):
        """Focuses a field, takes away what is in it, and types."""
        self.until_found(selector)
        self.run("const one = document.querySelector(values[0]); one.focus(); one.select()", selector)
        if text:
            self.type(text)
        else:
            self.press("Backspace")

    def choose(self, selector, value):
        self.until("[...(document.querySelector(values[0])?.options ?? [])].some((option) => option.value === values[1])", selector, value,
                   what=f"the choice {value} of {selector}")
        self.run("const one = document.querySelector(values[0]); one.value = values[1];"
                 " one.dispatchEvent(new Event('change', { bubbles: true }))", selector, value)

    def focused(self):
        """What has the focus, as a tag with what it is called."""
        return self.run("const one = document.activeElement; return [one.tagName.toLowerCase(), one.getAttribute('aria-label')"
                        " ?? one.labels?.[0]?.innerText ?? one.innerText ?? ''].join(' ').trim()")

    def processor_seconds(self):
        """What the page's thread has used so far, of the processor's time."""
        return next(one["value"] for one in self.send("Performance.getMetrics")["metrics"] if one["name"] == "TaskDuration")

    def processor_share(self, seconds):
        """How much of its thread's time the page has used, from now on for that long; the page itself measures it."""
        before = self.processor_seconds()
        took = self.run("const begin = performance.now(); await new Promise((resolve) => setTimeout(resolve, values[0] * 1000));"
                        " return (performance.now() - begin) / 1000", seconds)
        return (self.processor_seconds() - before) / took

    def picture(self, path, width=None, height=None):
        members = {"clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}} if width else {}
        data = self.send("Page.captureScreenshot", format="png", **members)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        self.browser.pages.pop(self.session, None)
        self.browser.send("Target.disposeBrowserContext", browserContextId=self.context)
