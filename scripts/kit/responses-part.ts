/** The section of `docs/providers.md` about OpenAI's Responses API. */
import { FORWARDS } from '../../src/protocols/openai-responses/request.ts'

const NAMES = FORWARDS.fields.map((name) => `\`${name}\``)
const FIELDS = `  ${NAMES.slice(0, 5).join(', ')},\n  ${NAMES.slice(5).join(', ')}`

export const RESPONSES = `
## Responses API

OpenAI's newest models have tools, or tools together with reasoning, in the Responses API alone. The gateway calls them
there, at the same address with the same key; clients use the API of the gateway that they always use. The catalogue
selects the protocol for OpenAI's own models. For models of your own, set it in the deployment:

\`\`\`yaml
models:
  - id: our-reasoner
    context_window: 400000
    capabilities: { function_calling: true }
    pricing: { input_per_million: 2.00, output_per_million: 10.00 }
    deployments:
      - { provider: openai, model: gpt-6-astra, protocol: openai-responses }
\`\`\`

| \`protocol\` of a deployment | what is called |
| --- | --- |
| not set | the provider's usual protocol |
| \`openai-responses\` | the Responses API, for every request |
| \`openai-auto\` | the Responses API for requests that clients send to \`/v1/responses\`, and for those with a web search, or with tools unless \`reasoning_effort\` is \`none\`; not if they have what only Chat Completions has (\`n\` above 1, \`stop\`, penalties, \`logit_bias\`, \`prediction\`, audio); Chat Completions for all others |

Deployments can choose at \`openai\`, and at \`azure\` where \`base_url\` ends in \`/openai/v1\`. A server of your own that has
the Responses API (vLLM, Ollama, a proxy) needs \`protocol: openai-responses\` in its provider:

\`\`\`yaml
providers:
  local: { protocol: openai-responses, base_url: "http://10.1.2.3:8000/v1" }
\`\`\`

A \`protocol\` of the provider is used for all of its models; the log names deployments that select another one. If
\`openai\` has a \`base_url\` that has Chat Completions only, set \`protocol: openai\` there; the gateway then calls no
Responses API for the models of the catalogue.

Nothing is stored at the provider (\`store: false\`). Reasoning comes back encrypted, with the IDs of its items, in
\`provider_context\` of the answer; a client that returns the message unchanged replays it. A client that drops it can go
on without earlier reasoning. A summary of the reasoning is given on request only: \`reasoning: {summary: "auto"}\`, or
\`thinking: {display: "summarized"}\`.

- **Sent beside the parameters of chat completions**:
${FIELDS},
  and to OpenAI \`web_search_options\`, which becomes the web search tool with \`max_tool_calls\`.
- **Adjusted**: \`seed\`, \`prediction\` and \`store: true\` are dropped, and named in \`x-turnpike-warnings\`.
- **Refused** with 422: \`stop\`, penalties, \`logit_bias\`, audio, \`background\`, and references to what the provider has
  stored (\`previous_response_id\`, \`conversation\`, \`prompt\`).
`
