"""What the Python servers of this folder answer with; the others write the same.

{"length", "transfer": the framing's fields as they came; "fields": {name: digest}, "files": {name: {"filename", "size",
"digest"}}} for multipart, or {"json": the document with a digest for each text}. A digest is SHA-256 in hex.
"""

import hashlib
import json


def digest(data):
    return hashlib.sha256(data if isinstance(data, bytes) else data.encode()).hexdigest()


def summary(value):
    if isinstance(value, str):
        return digest(value)
    if isinstance(value, dict):
        return {key: summary(member) for key, member in value.items()}
    if isinstance(value, list):
        return [summary(element) for element in value]
    return value


def described_file(filename, content):
    return {"filename": filename, "size": len(content), "digest": digest(content)}


def document(body):
    """The summary of a JSON text, or what an application without a body would see."""
    return {"json": summary(json.loads(body))} if body else {"empty": True}
