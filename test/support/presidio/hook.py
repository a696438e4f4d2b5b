"""A guardrail hook that masks what Presidio finds, with the recognizers that need no model of a language."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import spacy
import tldextract
from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import SpacyNlpEngine
from presidio_analyzer.predefined_recognizers import (
    CreditCardRecognizer,
    EmailRecognizer,
    IbanRecognizer,
    IpRecognizer,
    UsSsnRecognizer,
)


class BlankEngine(SpacyNlpEngine):
    """Splits text into words; trained models cannot be installed as packages."""

    def __init__(self):
        super().__init__(models=[{"lang_code": "en", "model_name": "blank"}])
        self.nlp = {"en": spacy.blank("en")}

    def load(self):
        pass


# The list of public suffixes that comes with the package: none is downloaded.
tldextract.extract = tldextract.TLDExtract(suffix_list_urls=())

registry = RecognizerRegistry(
    recognizers=[
        CreditCardRecognizer(),
        EmailRecognizer(),
        IbanRecognizer(),
        IpRecognizer(),
        UsSsnRecognizer(),
    ]
)
analyzer = AnalyzerEngine(registry=registry, nlp_engine=BlankEngine(), supported_languages=["en"])


def masked(text):
    found = sorted(analyzer.analyze(text, language="en", score_threshold=0.4), key=lambda each: -each.start)
    end = len(text) + 1
    for each in found:
        if each.end > end:  # within what is masked already
            continue
        text = f"{text[:each.start]}<{each.entity_type}>{text[each.end:]}"
        end = each.start
    return text


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["content-length"])))
        texts = [masked(text) for text in question["texts"]]
        if any("<US_SSN>" in text for text in texts) and question["stage"] == "pre":
            verdict = {"action": "block", "reason": "Social security numbers are not allowed."}
        else:
            verdict = {"action": "mask", "texts": texts}
        body = json.dumps(verdict).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
print(server.server_address[1], flush=True)
server.serve_forever()
