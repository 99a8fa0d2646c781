"""What the tests of the console's page stand on: Recast with a console, and a tab that may complain of nothing."""

import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "EndToEndTests"))

from chromium import Chromium  # noqa: E402
from harness import DEADLINE, ProxyTestCase, free_port, select_nothing  # noqa: E402

ROUTES = """
  - name: orders
    match: { method: [POST, PUT], path: "/orders/{id}" }
    upstream: app
    request:
      decode: { as: form }
      map:
        remove: [internal]
        rename: { user_id: user.id }
      fields: { user.id: string }
      encode: { as: json }
  - name: photos
    match: { method: POST, path: /photos }
    upstream: app
    request: "multipart -> json(files: base64)"
    limits: { tree: 4MiB }
  - name: to-form
    match: { method: POST, path: /to-form }
    upstream: app
    request: json -> form
    response: json -> form
  - { name: rest, match: "/*", upstream: app, limits: { body: 1GiB } }
"""

# WCAG 2.1 by what is computed: the contrast of each text that is shown with what is behind it, and of the edges of controls.
CONTRAST = """
    const numbers = (color) => { const found = color.match(/[\\d.]+/g).map(Number); return [...found.slice(0, 3), found[3] ?? 1]; };
    const light = ([red, green, blue]) => { const [r, g, b] = [red, green, blue].map((value) => {
        const part = value / 255; return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4; });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const ratio = (one, other) => { const [a, b] = [light(one), light(other)].sort((x, y) => y - x); return (a + 0.05) / (b + 0.05); };
    const behind = (element) => { for (let at = element; at; at = at.parentElement) {
        const color = numbers(getComputedStyle(at).backgroundColor); if (color[3] === 1) return color; }
        return numbers(getComputedStyle(document.documentElement).backgroundColor); };
    const wrong = []; let looked = 0;
    const shown = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0
        && !element.closest('.unseen, .skip, :disabled');
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (walker.currentNode.data.trim() === '' || !shown(element) || element.tagName === 'OPTION') continue;
        const style = getComputedStyle(element); looked += 1;
        const size = parseFloat(style.fontSize); const isLarge = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
        const found = ratio(numbers(style.color), behind(element));
        if (found < (isLarge ? 3 : 4.5)) wrong.push(`${found.toFixed(2)} ${walker.currentNode.data.trim().slice(0, 40)} (${element.className || element.tagName})`);
    }
    for (const element of document.querySelectorAll('input:not([type=radio], [type=file]), select, textarea, button:not(.plain)')) {
        if (!shown(element)) continue;
        looked += 1;
        const own = getComputedStyle(element);
        const edge = Math.max(ratio(numbers(own.borderTopColor), behind(element.parentElement)), ratio(behind(element), behind(element.parentElement)));
        if (edge < 3) wrong.push(`${edge.toFixed(2)} the edge of ${element.id || element.className || element.tagName}`);
        if (element.placeholder) {
            const hint = ratio(numbers(getComputedStyle(element, '::placeholder').color), behind(element));
            if (hint < 4.5) wrong.push(`${hint.toFixed(2)} the placeholder of ${element.id}`);
        }
    }
    return [looked, wrong];
"""


class ConsoleTestCase(ProxyTestCase):
    """A test has Recast with a console before a scripted upstream, and tabs that must not complain, nor ask anybody else."""

    routes = ROUTES
    console = "{ entries: 50, body: 16KiB, mask: [password, token, authorization] }"

    @classmethod
    def setUpClass(cls):
        cls.admin_port = free_port()
        cls.settings = f"admin: {{ address: 127.0.0.1:{cls.admin_port}, console: {cls.console} }}\n"
        super().setUpClass()
        cls.origin = f"http://127.0.0.1:{cls.admin_port}"
        cls.token = token_of(cls.recast)
        cls.browser = Chromium()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        super().setUp()
        self.tabs = []

    def tab(self, view="exchanges", signed_in=True, **options):
        """A tab with that view."""
        page = self.browser.page(**options)
        self.tabs.append(page)
        self.addCleanup(self.check, page)
        page.go(f"{self.origin}/console#" + (f"token={self.token}&/{view}" if signed_in else f"/{view}"))
        page.until("document.querySelector('main h1') !== null")
        return page

    def check(self, page):
        """Nothing was wrong in it, and it asked nobody else."""
        try:
            complaints = [text for text in page.complaints if not any(part in text for part in page.expected)]
            self.assertEqual(complaints, [])
            foreign = [url for url in page.requests if not url.startswith(self.origin + "/") and not url.startswith(("data:", "about:"))]
            self.assertEqual(foreign, [])
            policy = page.run("return [document.querySelectorAll('[style]:not(.line):not(.bar-of-time)').length, window.entered ?? null]")
            self.assertIsNone(policy[1], "a client's text has become a program")
        finally:
            page.close()

    def open_first(self, page, text):
        """Opens the newest exchange with that text in its row."""
        page.click(".list tbody tr td.target a", text)
        page.until_found(".exchange")


def token_of(recast):
    """The token, from the operational log, as its reader finds it; the log is written a moment later than what it tells of."""
    deadline = time.monotonic() + DEADLINE
    while not (found := re.search(r"console: http://[^\s\"]*#token=([A-Za-z0-9_-]+)", recast.error_text())):
        if time.monotonic() > deadline:
            raise AssertionError(f"no token in the log: {recast.error_text()}")
        select_nothing()
    return found[1]
