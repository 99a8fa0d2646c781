"""A client of the admin port, for the tests."""

import json
import http.client
import time

from harness import DEADLINE, free_port, select_nothing


class Admin:
    """Asks the admin port on `port`, one connection a question."""

    def __init__(self, port):
        self.port = port

    def ask(self, method, target, body=None, headers=None):
        """Status, fields and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        try:
            connection.request(method, target, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def until_ready(self):
        """Waits until all workers serve."""
        deadline = time.monotonic() + DEADLINE
        while self.ask("GET", "/ready")[0] != 200:
            assert time.monotonic() < deadline, "never ready"
            select_nothing()

    def get(self, target):
        status, _, body = self.ask("GET", target)
        assert status == 200, (status, body)
        return body

    def json(self, target):
        return json.loads(self.get(target))

    def metrics(self):
        """The samples by name and labels, as Prometheus' own parser reads them."""
        from prometheus_client.parser import text_string_to_metric_families

        status, fields, body = self.ask("GET", "/metrics")
        assert status == 200, body
        assert fields["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", fields
        return Metrics(list(text_string_to_metric_families(body.decode())), body.decode())

    def metrics_when(self, condition, seconds=DEADLINE):
        """The metrics once `condition` holds of them: an exchange is counted a moment after its answer."""
        deadline = time.monotonic() + seconds
        while True:
            metrics = self.metrics()
            if condition(metrics):
                return metrics
            assert time.monotonic() < deadline, f"never came true; at last:\n{metrics.text}"
            select_nothing()


class Metrics:
    def __init__(self, families, text):
        self.families, self.text = families, text

    def sum(self, sample_name, **labels):
        """All samples of that name that have these labels, added up."""
        return sum(sample.value for family in self.families for sample in family.samples
                   if sample.name == sample_name and labels.items() <= sample.labels.items())

    def counters(self):
        """What may only grow, by name and labels: counters and the parts of histograms."""
        return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value
                for family in self.families if family.type in ("counter", "histogram") for sample in family.samples}


def admin_port():
    """A free port and the line of the settings that puts the admin port there."""
    port = free_port()
    return port, f"admin: 127.0.0.1:{port}\n"
