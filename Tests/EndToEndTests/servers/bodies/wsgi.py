"""The application that uWSGI runs: multipart by werkzeug, JSON by Python, read as the CONTENT_LENGTH of WSGI says."""

import json

from described import described_file, digest, document
from werkzeug.formparser import parse_form_data


def application(environ, start_response):
    answer = {"length": environ.get("CONTENT_LENGTH") or None, "transfer": environ.get("HTTP_TRANSFER_ENCODING")}
    if environ["CONTENT_TYPE"].startswith("multipart/"):
        _, fields, files = parse_form_data(environ, silent=False)
        answer["fields"] = {name: digest(text) for name, text in fields.items()}
        answer["files"] = {name: described_file(file.filename, file.read()) for name, file in files.items()}
    else:
        answer.update(document(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))))
    text = json.dumps(answer).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(text)))])
    return [text]
