"""Streamed answers as iterators of server-sent events."""

import json
from collections.abc import Iterator
from typing import Any

from httpx_sse import EventSource, ServerSentEvent

from .client import AuthenticatedClient


class TurnpikeError(Exception):
    """An error of the gateway, before or within a stream; docs/errors.md lists the codes."""

    def __init__(self, status: int, error: dict[str, Any]) -> None:
        super().__init__(error.get("message") or f"The gateway answered {status}.")
        self.status = status
        self.code: str | None = error.get("code")
        self.request_id: str | None = error.get("request_id")


def stream(client: AuthenticatedClient, path: str, body: dict[str, Any]) -> Iterator[ServerSentEvent]:
    """Sends the body with `stream: true` and yields each event until `[DONE]`.

    :param path: `/v1/chat/completions`, `/v1/completions`, `/v1/messages` or `/v1/responses`.
    :raises TurnpikeError: if the request is rejected, or the stream ends with an error.
    Closing the iterator aborts the request.
    """
    with client.get_httpx_client().stream("POST", path, json={**body, "stream": True}) as response:
        if response.status_code != 200:
            response.read()
            raise TurnpikeError(response.status_code, _error_of(response.text))
        for event in EventSource(response).iter_sse():
            if event.data == "[DONE]":
                return
            if event.event == "error" or event.data.startswith('{"error":'):
                raise TurnpikeError(response.status_code, _error_of(event.data))
            yield event


def _error_of(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
        # Of `/v1/messages`, the ID of the request stands beside the error.
        return {"request_id": body.get("request_id"), **body["error"]}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
