"""Answers with what werkzeug and urllib make of the request, as JSON: {"fields": pairs, "files": …, "urllib": pairs}.

Prints `ready PORT`. For Debian's Python, which has werkzeug."""

import json
import logging
import urllib.parse

from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response


@Request.application
def application(request):
    body = request.get_data(cache=True, parse_form_data=False)
    answer = {
        "fields": list(request.form.items(multi=True)),
        "files": [[name, file.filename, file.mimetype, file.read().decode()] for name, file in request.files.items(multi=True)],
    }
    if request.mimetype == "application/x-www-form-urlencoded":
        answer["urllib"] = urllib.parse.parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body))
    return Response(json.dumps(answer), content_type="application/json")


logging.getLogger("werkzeug").disabled = True
server = make_server("127.0.0.1", 0, application)
print(f"ready {server.server_port}", flush=True)
server.serve_forever()
