"""Uses the generated client as its README shows, and prints what it saw."""

import json
import os

from turnpike_client import AuthenticatedClient
from turnpike_client.api.usage import get_usage
from turnpike_client.streaming import TurnpikeError, stream

client = AuthenticatedClient(os.environ["GATEWAY_URL"], token=os.environ["GATEWAY_KEY"])
usage = get_usage.sync(client=client, group_by="model")
body = {"model": "m1", "messages": [{"role": "user", "content": "hi"}]}
chunks = [json.loads(event.data) for event in stream(client, "/v1/chat/completions", body)]
assert len(chunks) > 1 and all(chunk["object"] == "chat.completion.chunk" for chunk in chunks)
names = [event.event for event in stream(client, "/v1/messages", {**body, "max_tokens": 9})]
try:
    list(stream(client, "/v1/chat/completions", {**body, "model": "none"}))
    rejected = None
except TurnpikeError as error:
    rejected = [error.status, error.code, (error.request_id or "").startswith("req_")]
print(json.dumps({"requests": usage.total_requests, "types": [names[0], names[-1]], "rejected": rejected}))
