"""OpenAI's SDK, its Agents SDK and LangChain for Python against a gateway: prints what each case gave as a line of JSON."""

import asyncio
import json
import os

import openai
from agents import Agent, Runner, function_tool, set_default_openai_client, set_tracing_disabled
from langchain_openai import OpenAIEmbeddings

URL, KEY = os.environ["GATEWAY_URL"] + "/v1", os.environ["GATEWAY_KEY"]
MODELS = json.loads(os.environ["GATEWAY_MODELS"])
LOOK = {
    "type": "function",
    "name": "look",
    "description": "Looks.",
    "strict": False,
    "parameters": {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]},
}
client = openai.OpenAI(base_url=URL, api_key=KEY, max_retries=0)
other = openai.OpenAI(base_url=URL, api_key="tp_wrong", max_retries=0)


def streamed(**request):
    with client.responses.stream(**request) as stream:
        for _ in stream:
            pass
        return stream.get_final_response()


def tool_loop(create, model):
    request = {"model": model, "max_output_tokens": 2000, "tools": [LOOK], "input": [{"role": "user", "content": "Go on."}]}
    response = create(**request)
    calls = [item for item in response.output if item.type == "function_call"]
    results = [{"type": "function_call_output", "call_id": call.call_id, "output": "seen"} for call in calls]
    request["input"] += [item.model_dump(exclude_none=True) for item in response.output] + results
    return [[json.loads(call.arguments) for call in calls], create(**request).output_text]


def fault_of(act):
    try:
        act()
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.code, (error.request_id or "")[:4]]
    return ["answered"]


@function_tool
def look(at: str) -> str:
    """Looks."""
    return f"nothing at {at}"


async def agent_loops(model):
    agent = Agent(name="Looker", instructions="Look first.", tools=[look], model=model)
    whole = await Runner.run(agent, "Go on.")
    stream = Runner.run_streamed(agent, "Go on.")
    async for _ in stream.stream_events():
        pass
    return [whole.final_output, stream.final_output]


async def agents():
    return {model: await agent_loops(model) for model in MODELS}


set_default_openai_client(openai.AsyncOpenAI(base_url=URL, api_key=KEY, max_retries=0))
set_tracing_disabled(True)
ask = {"model": MODELS[0], "input": "Go on."}
report = {"loops": {}, "agents": asyncio.run(agents())}
for model in MODELS:
    for way, create in (("whole", client.responses.create), ("streamed", streamed)):
        report["loops"][f"{model}, {way}"] = tool_loop(create, model)
report["faults"] = {
    "key": fault_of(lambda: other.responses.create(**ask)),
    "model": fault_of(lambda: client.responses.create(**{**ask, "model": "no-such-model"})),
    "body": fault_of(lambda: client.responses.create(**{**ask, "input": []})),
    "stream": fault_of(lambda: streamed(**{**ask, "input": []})),
    "embedding": fault_of(lambda: client.embeddings.create(model=MODELS[0], input="x")),
}
vectors = client.embeddings.create(model="vectors", input=["first", "second"])
report["vectors"] = [each.embedding for each in vectors.data]
embeddings = OpenAIEmbeddings(model="vectors", base_url=URL, api_key=KEY, check_embedding_ctx_length=False)
report["documents"] = embeddings.embed_documents(["first", "second"])
report["query"] = embeddings.embed_query("first")
print(json.dumps(report))
