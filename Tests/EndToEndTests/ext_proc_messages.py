"""Protobuf for the messages of external_processor.proto: plain dictionaries to bytes and back, strictly.

A field that the file doesn't have is an error of whoever sent it: Recast sends nothing that an Envoy might not know. What is at its
standard value is left out of both, but inside of a message that is there.
"""

import functools
import os
import re

PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "external_processor.proto")
VARINT, LENGTH = 0, 2
STANDARD = {"bool": False, "int32": 0, "string": "", "bytes": b""}


@functools.cache
def fields_of(message):
    """{number: (name, type, whether it is repeated)} of a message, as the file has it."""
    with open(PROTO) as file:
        body = re.search(rf"^message {message} \{{\n(.*?)^\}}", file.read(), re.M | re.S)[1]
    found = re.findall(r"^ +(repeated )?(\w+) (\w+) = (\d+);$", body, re.M)
    if len(found) != len(body.splitlines()):
        raise AssertionError(f"{message} has lines that aren't fields")
    return {int(number): (name, kind, bool(repeated)) for repeated, kind, name, number in found}


def varint(value):
    value &= (1 << 64) - 1
    result = bytearray()
    while value > 127:
        result.append(value & 127 | 128)
        value >>= 7
    result.append(value)
    return bytes(result)


def tagged(number, wire, content):
    """One field by its number, of whatever type: for those that nobody knows, too."""
    return varint(number << 3 | wire) + (varint(len(content)) + content if wire == LENGTH else content)


def encode(message, values):
    """The bytes of a message, its fields in the order of their numbers."""
    fields = fields_of(message)
    unknown = set(values) - {name for name, _, _ in fields.values()}
    if unknown:
        raise AssertionError(f"{message} has no {unknown}")
    result = b""
    for number, (name, kind, is_repeated) in sorted(fields.items()):
        for value in values.get(name, []) if is_repeated else [values[name]] if name in values else []:
            if kind in ("bool", "int32"):
                result += tagged(number, VARINT, varint(int(value))) if value or is_repeated else b""
            elif kind in ("string", "bytes"):
                content = value.encode() if isinstance(value, str) else bytes(value)
                result += tagged(number, LENGTH, content) if content or is_repeated else b""
            else:
                result += tagged(number, LENGTH, encode(kind, value))
    return result


def read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise AssertionError(f"a bad number at {at} of {bytes(data[:60])!r}")
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def decode(message, data):
    """A message as a dictionary: strings as text, content as bytes, messages as dictionaries, repeated ones as lists."""
    fields, result, at = fields_of(message), {}, 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number not in fields:
            raise AssertionError(f"{message} has no field {number}")
        name, kind, is_repeated = fields[number]
        if wire != (VARINT if kind in ("bool", "int32") else LENGTH):
            raise AssertionError(f"{message}.{name} is of the wire type {wire}")
        value, at = read_varint(data, at)
        if wire == LENGTH:
            if at + value > len(data):
                raise AssertionError(f"{message}.{name} is cut: {value} bytes at {at} of {len(data)}")
            content, at = bytes(data[at:at + value]), at + value
            value = content.decode() if kind == "string" else content if kind == "bytes" else decode(kind, content)
        elif kind == "bool":
            value = bool(value)
        if is_repeated:
            result.setdefault(name, []).append(value)
        elif name in result:
            raise AssertionError(f"{message}.{name} is there twice")
        else:
            result[name] = value
    return result


def header_map(fields):
    """Fields as Envoy sends them: names in lower case, values as bytes."""
    return {"headers": [{"key": name.lower(), "raw_value": value.encode() if isinstance(value, str) else value}
                        for name, value in fields]}
