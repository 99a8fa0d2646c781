"""What scripts/bench computes: medians, ratios within rounds, bounds. Nothing is measured here."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "scripts", "bench.d"))

import bodies  # noqa: E402
import figures  # noqa: E402
import report  # noqa: E402
from processes import BenchError, read_counter  # noqa: E402


def rounds(*values, **more):
    return figures.summarise([{"cpu": value, **more} for value in values])


class SummaryTests(unittest.TestCase):
    def test_median_counts_and_of_peaks_the_largest(self):
        summary = figures.summarise([{"cpu": 3, "peak_mib": 5}, {"cpu": 1, "peak_mib": 9}, {"cpu": 2, "peak_mib": 7}])
        self.assertEqual((summary["cpu"], summary["peak_mib"], len(summary["rounds"])), (2, 9, 3))

    def test_percentiles_have_a_median_each(self):
        summary = figures.summarise([{"percentiles": {"50": 1, "99": 9}}, {"percentiles": {"50": 3, "99": 5}}])
        self.assertEqual(summary["percentiles"], {"50": 2, "99": 7})

    def test_figure_of_the_last_round_alone_is_kept(self):
        self.assertEqual(figures.summarise([{"cpu": 1}, {"cpu": 1, "instructions_per_request": 7}])["instructions_per_request"], 7)

    def test_ratio_is_taken_within_rounds(self):
        # The machine was ten times slower in the second round: the medians' ratio would say 1.1, the rounds say 2.
        cases = {"own": rounds(2, 20, 22), "base": rounds(1, 10, 20)}
        self.assertEqual(figures.ratio(cases, "own", ("base",), "cpu"), 2)

    def test_ratio_is_to_the_least_of_the_bases_in_each_round(self):
        cases = {"own": rounds(4, 4), "a": rounds(1, 4), "b": rounds(4, 2)}
        self.assertEqual(figures.ratio(cases, "own", ("a", "b"), "cpu"), 3)


class BoundTests(unittest.TestCase):
    results = {"load": {"own": rounds(2, 2, 2), "base": rounds(1, 2, 4), "slow": {"note": "too slow"},
                        "broken": {"failed": "ended with 1\nits log"}, "absent": {"missing": "there is no absent"}}}

    def check(self, *arguments, **more):
        return figures.Bound("load", *arguments, **more).check(self.results)

    def test_holds_up_to_the_limit(self):
        self.assertEqual(self.check("own", "cpu", 2)["state"], "holds")
        self.assertEqual(self.check("own", "cpu", 1.99)["state"], "missed")
        self.assertEqual(self.check("own", "cpu", 2.01, is_least=True)["state"], "missed")
        self.assertEqual(self.check("own", "cpu", 1, ("base",), "ratio")["state"], "holds")
        self.assertEqual(self.check("own", "cpu", -0.5, ("base",), "difference")["state"], "missed")

    def test_load_that_was_not_run_has_no_bound(self):
        self.assertIsNone(figures.Bound("other", "own", "cpu", 1).check(self.results))

    def test_missing_base_is_named_and_is_no_failure(self):
        entry = self.check("own", "cpu", 1, ("absent",), "ratio")
        self.assertEqual((entry["state"], entry["why"]), ("not measured", "absent: there is no absent"))
        self.assertTrue(figures.are_kept([entry]))

    def test_one_of_two_bases_is_enough(self):
        entry = self.check("own", "cpu", 1, ("absent", "base"), "ratio")
        self.assertEqual((entry["state"], entry["why"]), ("holds", "absent: there is no absent"))

    def test_failed_case_is_not_kept(self):
        entry = self.check("broken", "cpu", 1)
        self.assertEqual((entry["state"], entry["why"]), ("not measured", "broken: ended with 1"))
        self.assertFalse(figures.are_kept([entry]))

    def test_note_says_why(self):
        self.assertEqual(self.check("slow", "cpu", 1)["why"], "slow: too slow")


class CounterTests(unittest.TestCase):
    def test_count_is_read_and_what_is_not_counted_is_none(self):
        self.assertEqual(read_counter("8145,,instructions:u,1,100.00,,\n"), 8145)
        self.assertIsNone(read_counter("<not supported>,,instructions:u,0,100.00,,\n"))
        self.assertIsNone(read_counter("<not counted>,,instructions:u,0,0.00,,\n"))


class ExchangeTests(unittest.TestCase):
    def test_peer_that_does_not_convert_is_refused(self):
        with self.assertRaisesRegex(BenchError, "and not application/json"):
            bodies.FORM_JSON.check(200, bodies.FORM_TYPE, bodies.FORM_JSON.sent)
        with self.assertRaisesRegex(BenchError, "what is no application/json"):
            bodies.FORM_JSON.check(200, bodies.JSON_TYPE, bodies.FORM_JSON.sent)
        with self.assertRaisesRegex(BenchError, "other fields"):
            bodies.FORM_JSON.check(200, bodies.JSON_TYPE, b"{}")
        with self.assertRaisesRegex(BenchError, "answered with 502"):
            bodies.FORM_JSON.check(502, bodies.JSON_TYPE, b"")

    def test_multipart_is_read_by_its_fields(self):
        exchange = bodies.MULTIPART_MULTIPART
        body = exchange.sent.replace(b'"title"', b'"headline"')
        first = b'--b7f3\r\nContent-Disposition: form-data; name="source"\r\n\r\nbench\r\n'
        exchange.check(200, exchange.content_type, first + body)
        with self.assertRaisesRegex(BenchError, "other fields"):
            exchange.check(200, exchange.content_type, body)

    def test_fields_have_brackets(self):
        self.assertEqual(bodies.pairs({"a": {"b": [1, True]}, "c": [{"d": "x"}]}),
                         [("a[b][]", "1"), ("a[b][]", "true"), ("c[0][d]", "x")])
        self.assertEqual(bodies.php_pairs({"a": {"b": [1, True]}, "c": [{"d": "x"}], "e": 0.5, "f": 2.0}),
                         [("a[b][0]", "1"), ("a[b][1]", "1"), ("c[0][d]", "x"), ("e", "0.5"), ("f", "2")])


class OverviewTests(unittest.TestCase):
    def test_table_of_documents_has_those_that_were_measured(self):
        results = {"medium": {"recast json -> form, dialect: php": rounds(2, cpu_us_per_request=3.0),
                              "haproxy plain": rounds(1, cpu_us_per_request=2.0), "caddy plain": rounds(1, cpu_us_per_request=9.0),
                              "recast plain": {"failed": "ended with 1"}}}
        report.add_ratios(results)
        self.assertEqual([cells for cells, _ in report.overview_of_documents(results)], [
            ["16 KiB of JSON", "CPU us/request", "x HAProxy"],
            ["recast json -> form, dialect: php", "3.0", "1.50"], ["haproxy plain", "2.0", "1.00"]])


if __name__ == "__main__":
    unittest.main()
