"""A Django project in one file, for `runserver`: multipart by Django, JSON by Python."""

import sys

from described import described_file, digest, document
from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import JsonResponse
from django.urls import re_path

settings.configure(
    DEBUG=False, SECRET_KEY="of a test", ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, DATA_UPLOAD_MAX_MEMORY_SIZE=None,
    LOGGING_CONFIG=None, USE_TZ=True)


def describe(request, _):
    answer = {"length": request.META.get("CONTENT_LENGTH") or None, "transfer": request.META.get("HTTP_TRANSFER_ENCODING")}
    if request.content_type == "multipart/form-data":
        answer["fields"] = {name: digest(text) for name, text in request.POST.items()}
        answer["files"] = {name: described_file(file.name, file.read()) for name, file in request.FILES.items()}
    else:
        answer.update(document(request.body))
    return JsonResponse(answer)


urlpatterns = [re_path("(.*)", describe)]

if __name__ == "__main__":
    execute_from_command_line(["django_app", "runserver", "--noreload", f"127.0.0.1:{sys.argv[1]}"])
