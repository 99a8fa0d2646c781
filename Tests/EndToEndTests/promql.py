"""What a query of PromQL names: metrics with their matchers, and labels by which it groups or joins. Whether it is a query at all is
promtool's to say."""

import re

TOKEN = re.compile(r"""(?P<space>\s+|\#[^\n]*)|(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<range>\[[^\]]*\])
    |(?P<number>\d[\w.]*)|(?P<name>[A-Za-z_:][\w:]*)|(?P<operator>=~|!~|!=|==|>=|<=|[-+*/%^(){},=<>@])""", re.X)
GROUPINGS = {"by", "without", "on", "ignoring", "group_left", "group_right"}
WORDS = GROUPINGS | {"and", "or", "unless", "bool", "offset", "inf", "nan"}


class Selector:
    """A metric with its matchers: (label, operator, text)."""

    def __init__(self, metric, matchers):
        self.metric, self.matchers = metric, matchers

    def takes(self, name, labels):
        tests = {"=": lambda value, text: value == text, "!=": lambda value, text: value != text,
                 "=~": lambda value, text: bool(re.fullmatch(text, value)), "!~": lambda value, text: not re.fullmatch(text, value)}
        return name == self.metric and all(tests[operator](labels.get(label, ""), text) for label, operator, text in self.matchers)

    def __repr__(self):
        return self.metric + "{" + ",".join(f'{label}{operator}"{text}"' for label, operator, text in self.matchers) + "}"


def tokens(query):
    found, at = [], 0
    while at < len(query):
        match = TOKEN.match(query, at)
        if not match:
            raise AssertionError(f"what is {query[at:at + 20]!r} in {query}?")
        if match.lastgroup != "space":
            found.append((match.lastgroup, match[0]))
        at = match.end()
    return [*found, ("end", "")]


def taken_apart(query):
    """(selectors, {grouping word: labels})."""
    words, at, selectors, groupings = tokens(query), 0, [], {}
    while words[at][0] != "end":
        kind, text = words[at]
        at += 1
        if kind != "name":
            continue
        if text in WORDS:
            if text in GROUPINGS and words[at][1] == "(":
                while words[at][1] != ")":
                    at += 1
                    if words[at][0] == "name":
                        groupings.setdefault(text, set()).add(words[at][1])
        elif words[at][1] == "{":
            matchers = []
            while words[at][1] != "}":
                at += 1
                if words[at][0] == "name":
                    matchers.append((words[at][1], words[at + 1][1], words[at + 2][1][1:-1]))
                    at += 2
            selectors.append(Selector(text, matchers))
        elif words[at][1] != "(" and words[at][1] not in GROUPINGS:  # else a function, or an aggregation
            selectors.append(Selector(text, []))
    return selectors, groupings
