"""Names in the documentation that several pages share. docs_tests has its blocks, links and settings."""

import re
import unittest

from pages import CLOSED_LABELS, documented_rows, pages, read_page


class PageTests(unittest.TestCase):
    """What pages say of metrics and flags is what the pages about them say."""

    def test_metrics_with_their_labels(self):
        rows = documented_rows()
        found = 0
        for page, text in pages().items():
            for name, labels in re.findall(r"\b(recast_[a-z0-9_]+)(?:\{([^}]*)\})?", text):
                name = re.sub("_(bucket|sum|count)$", "", name)
                self.assertIn(name, rows, page)
                found += 1
                for part in re.split(r",\s*", labels.replace("\n", "")) if labels else []:
                    label, _, values = part.partition("=")
                    self.assertIn(label.strip("`"), rows[name][0] | {"le"}, (page, name))
                    for value in re.findall(r"[a-z0-9_]+", values.replace("=~", "")):
                        if label in CLOSED_LABELS and rows[name][1]:
                            self.assertIn(value, rows[name][1], (page, name, label))
        self.assertGreater(found, 100)

    def test_flags(self):
        known = set(re.findall(r"^\| `([A-Z]{2})` \|", read_page("docs/access-log.md"), re.M))
        self.assertGreater(len(known), 25)
        for page, text in pages().items():
            # TE is a field, CR and LF are bytes.
            self.assertEqual(set(re.findall(r"`([A-Z]{2})`", text)) - known - {"TE", "CR", "LF"}, set(), page)


if __name__ == "__main__":
    unittest.main()
