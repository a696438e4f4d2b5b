"""The Anthropic SDK for Python against a gateway: prints one line of JSON with what each case gave."""

import json
import os

import anthropic

URL, KEY = os.environ["GATEWAY_URL"], os.environ["GATEWAY_KEY"]
LOOK = {
    "name": "look",
    "description": "Looks.",
    "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]},
}
client = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0)


def ask(model, **over):
    return {"model": model, "max_tokens": 2000, "messages": [{"role": "user", "content": "Go on."}], **over}


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def streamed(**request):
    with client.messages.stream(**request) as stream:
        return stream.get_final_message()


def tool_loop(create, model):
    request = ask(model, tools=[LOOK])
    message = create(**request)
    calls = [block for block in message.content if block.type == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": "seen"} for call in calls]
    request["messages"] += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
    return [message.stop_reason, [call.input for call in calls], text_of(create(**request))]


def fault_of(act):
    try:
        act()
    except anthropic.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.body["error"]["type"], error.request_id[:4]]
    except anthropic.APIError as error:
        return [type(error).__name__, None, error.body["error"]["type"], None]
    return ["answered"]


other = anthropic.Anthropic(base_url=URL, api_key="tp_wrong", max_retries=0)
report = {"loops": {}, "faults": {}}
for model in json.loads(os.environ["GATEWAY_MODELS"]):
    for way, create in (("whole", client.messages.create), ("streamed", streamed)):
        report["loops"][f"{model}, {way}"] = tool_loop(create, model)
report["faults"] = {
    "key": fault_of(lambda: other.messages.create(**ask("anthropic"))),
    "model": fault_of(lambda: client.messages.create(**ask("no-such-model"))),
    "body": fault_of(lambda: client.messages.create(**ask("anthropic", messages=[]))),
    "stream": fault_of(lambda: streamed(**ask("anthropic", messages=[]))),
}
report["models"] = [model.id for model in client.models.list().data]
report["tokens"] = client.messages.count_tokens(model="anthropic", messages=ask("anthropic")["messages"]).input_tokens
print(json.dumps(report))
