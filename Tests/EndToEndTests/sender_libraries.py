"""Senders' own libraries, as signers and verifiers: a program that is asked in lines of JSON.

It runs by the Python of .build_test, where scripts/dependencies has put them: some are no Python alone. A question has `do`, the name
below, `body` in base64, `secret` and what else its function takes; the answer has `fields`, or `holds`, or what went wrong as `error`."""

import base64
import datetime
import json
import sys
import time

import http_message_signatures as messages
import slack_sdk.signature
import standardwebhooks
import stripe
import twilio.request_validator


def sign_stripe(body, secret, at, **_):
    return {"Stripe-Signature": stripe.WebhookSignature.generate_signature_header(body.decode(), secret, at)}


def sign_slack(body, secret, at, **_):
    signature = slack_sdk.signature.SignatureVerifier(secret).generate_signature(timestamp=str(at), body=body)
    return {"X-Slack-Signature": signature, "X-Slack-Request-Timestamp": str(at)}


class Values(dict):
    """The fields of a form as web frameworks have them."""

    def getlist(self, name):
        return self[name]


def sign_twilio(body, secret, url, fields=None, **_):
    """`fields`: of a form, lists of values by their names."""
    validator = twilio.request_validator.RequestValidator(secret)
    return {"X-Twilio-Signature": validator.compute_signature(url, Values(fields or {}))}


def sign_standard(body, secret, at, id="msg_1", **_):
    moment = datetime.datetime.fromtimestamp(at, datetime.timezone.utc)
    signature = standardwebhooks.Webhook(secret).sign(id, moment, body.decode())
    return {"webhook-id": id, "webhook-timestamp": str(at), "webhook-signature": signature}


class Keys(messages.HTTPSignatureKeyResolver):
    def __init__(self, private=None, public=None):
        self.private, self.public = private, public

    def resolve_private_key(self, key_id):
        return self.private

    def resolve_public_key(self, key_id):
        return self.public or self.private


class Request:
    def __init__(self, method, url, headers):
        self.method, self.url, self.headers = method, url, dict(headers)


ALGORITHMS = {
    "hmac-sha256": messages.algorithms.HMAC_SHA256, "ed25519": messages.algorithms.ED25519,
    "ecdsa-p256-sha256": messages.algorithms.ECDSA_P256_SHA256, "ecdsa-p384-sha384": messages.algorithms.ECDSA_P384_SHA384,
    "rsa-pss-sha512": messages.algorithms.RSA_PSS_SHA512, "rsa-v1_5-sha256": messages.algorithms.RSA_V1_5_SHA256,
}


def sign_message(body, secret, at, method, url, headers, algorithm, key_id, components, label=None, **_):
    request = Request(method, url, headers)
    signer = messages.HTTPMessageSigner(signature_algorithm=ALGORITHMS[algorithm], key_resolver=Keys(private=secret.encode()))
    more = {"label": label} if label else {}
    signer.sign(request, key_id=key_id, created=datetime.datetime.fromtimestamp(at, datetime.timezone.utc),
                covered_component_ids=components, body=body, **more)
    return {name: value for name, value in request.headers.items() if name not in headers}


def verify_message(body, secret, method, url, headers, algorithm, **_):
    verifier = messages.HTTPMessageVerifier(signature_algorithm=ALGORITHMS[algorithm], key_resolver=Keys(public=secret.encode()))
    return bool(verifier.verify(Request(method, url, headers), body=body, require_components=("@method", "@target-uri")))


def verify_standard(body, secret, headers, **_):
    standardwebhooks.Webhook(secret).verify(body, headers, json_parse=False)
    return True


def verify_stripe(body, secret, headers, **_):
    return stripe.WebhookSignature.verify_header(body.decode(), headers["stripe-signature"], secret, tolerance=300)


def verify_slack(body, secret, headers, **_):
    verifier = slack_sdk.signature.SignatureVerifier(secret)
    return verifier.is_valid(body, headers["x-slack-request-timestamp"], headers["x-slack-signature"])


def verify_twilio(body, secret, headers, url, fields=None, **_):
    return twilio.request_validator.RequestValidator(secret).validate(url, Values(fields or {}), headers["x-twilio-signature"])


def main():
    for line in sys.stdin:
        question = json.loads(line)
        action = question.pop("do")
        question["body"] = base64.b64decode(question["body"])
        question.setdefault("at", int(time.time()))
        try:
            answer = globals()[action](**question)
            answer = {"holds": answer} if isinstance(answer, bool) else {"fields": answer}
        except Exception as error:  # each library has its own
            answer = {"error": f"{type(error).__name__}: {error}", "holds": False}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
