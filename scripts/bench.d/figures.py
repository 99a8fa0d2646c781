"""Medians of rounds, ratios within rounds, and bounds. Nothing here measures."""

import statistics
from dataclasses import dataclass

MOST = {"peak_mib", "asked_peak_mib", "slowest_start_ms"}  # of these the largest of all rounds counts


def summarise(rounds):
    """The median of each figure of a case, and its rounds."""
    summary = {}
    for key, first in rounds[0].items():
        values = [figures[key] for figures in rounds if key in figures]
        if isinstance(first, dict):
            summary[key] = {inner: statistics.median(value[inner] for value in values) for inner in first}
        elif isinstance(first, list):
            summary[key] = values[-1]
        else:
            summary[key] = max(values) if key in MOST else statistics.median(values)
    for figures in rounds[1:]:  # what only later rounds have
        summary.update({key: value for key, value in figures.items() if key not in summary})
    return {**summary, "rounds": rounds}


def in_rounds(cases, own, bases, figure, combine):
    """The median over the rounds of `combine` of a case's figure and the least of the bases'. In a round all are measured one
    after the other, so a machine that is slow for a while is slow for all of them."""
    rows = zip(cases[own]["rounds"], *(cases[base]["rounds"] for base in bases))
    return statistics.median(combine(row[0][figure], min(base[figure] for base in row[1:])) for row in rows)


def ratio(cases, own, bases, figure):
    return in_rounds(cases, own, bases, figure, lambda left, right: left / right)


def difference(cases, own, bases, figure):
    return in_rounds(cases, own, bases, figure, lambda left, right: left - right)


@dataclass(frozen=True)
class Bound:
    """`figure` of `case` in `load`, as it is or against the least of `bases`, is at most (or at least) `limit`."""

    load: str
    case: str
    figure: str
    limit: float
    bases: tuple = ()
    combine: str = "value"  # or ratio, difference
    is_least: bool = False

    def text(self):
        against = {"value": "", "ratio": " x ", "difference": " more than "}[self.combine] + " or ".join(self.bases)
        return f"{self.load}: {self.case}, {self.figure} {'at least' if self.is_least else 'at most'} {self.limit:g}{against}"

    def check(self, results):
        """None where the load wasn't run; else what was measured and whether it holds, or why it isn't known."""
        cases = results.get(self.load)
        if cases is None:
            return None
        entry = {"bound": self.text(), "load": self.load, "case": self.case, "figure": self.figure, "limit": self.limit}

        def why_not(name):
            known = cases.get(name)
            if known is None:
                return f"{name} was not run"
            reason = known.get("missing") or known.get("note") or known.get("failed")
            return f"{name}: {reason.splitlines()[0]}" if reason else None

        unusable = {name: why_not(name) for name in (self.case, *self.bases) if why_not(name)}
        bases = [base for base in self.bases if base not in unusable]
        if self.case in unusable or (self.bases and not bases):
            why = unusable.get(self.case) or "; ".join(unusable.values())
            return {**entry, "state": "not measured", "why": why, "failed": "failed" in cases.get(self.case, {})}
        if self.combine == "value":
            value = cases[self.case][self.figure]
        else:
            value = (ratio if self.combine == "ratio" else difference)(cases, self.case, bases, self.figure)
        holds = value >= self.limit if self.is_least else value <= self.limit
        why = {"why": "; ".join(unusable.values())} if unusable else {}
        return {**entry, "value": value, "state": "holds" if holds else "missed", **why}


def check_bounds(bounds, results):
    return [checked for checked in (bound.check(results) for bound in bounds) if checked]


def are_kept(checked):
    """Whether nothing was missed, and nothing failed that was to be measured; a peer that isn't installed is no failure."""
    return not any(entry["state"] == "missed" or entry.get("failed") for entry in checked)
