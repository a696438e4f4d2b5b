/**
 * Responses requests to a provider of the same API: items, tools and fields go as the client wrote them, and items come
 * back unaltered, also those of types that the gateway does not know. Runs on one database: it is about the wire.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { errorOf, send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { checkRows } from '../support/ledger/money.ts'
import { answerBytes, SSE_HEAD } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'
import { NATIVES } from '../support/providers/native-answers.ts'
import {
  functionItem,
  messageItem,
  reasoningItem,
  responseEvents,
  responseFrames,
  responseOf,
} from '../support/providers/responses-fake.ts'

// biome-ignore lint/suspicious/noExplicitAny: items are any JSON
type Body = any

const provider = await startFakeProvider(answerBytes({}, '', 500))
const { settings, model: deployment = '' } = NATIVES['azure'] ?? assert.fail()
const gateway = await startGateway({
  config: {
    providers: {
      openai: { api_key: 'sk-openai', base_url: `${provider.url}/openai` },
      azure: { ...settings, base_url: `${provider.url}/azure` },
    },
    models: [
      {
        ...model('openai', 'openai', 'gpt-5.4'),
        max_output_tokens: 4000,
        deployments: [{ provider: 'openai', model: 'gpt-5.4', protocol: 'openai-auto' }],
      },
      { ...model('azure', 'azure', deployment), max_output_tokens: 4000 },
    ],
    responses: { store: true },
    plans: { test: { billing: 'postpaid' } },
    accounts: { default_plan: 'test' },
    routing: { max_attempts: 1, breaker: { failures: 1000 } },
  },
})
const key = await gateway.key()
const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
after(async () => {
  await gateway.stop()
  await provider.close()
})

const LATER = { type: 'later_item', id: 'li_1', status: 'completed', deep: { a: [1, null] } }
const OUTPUT = [
  reasoningItem('rs_1', 'First.'),
  LATER,
  messageItem('msg_1', 'I look.', 'commentary'),
  { ...functionItem('fc_1', { id: 'call_1', name: 'read', arguments: '{"at":"left"}' }), namespace: 'files' },
]

function answerWith(output: readonly object[]): void {
  provider.answer(async ({ body }, reply) => {
    if (JSON.parse(body).stream !== true) {
      reply.head(200, { 'content-type': 'application/json' })
      return reply.end(JSON.stringify(responseOf(output)))
    }
    reply.head(200, SSE_HEAD)
    for (const piece of responseFrames(responseEvents(output))) await reply.write(piece)
    reply.end()
  })
}

function lastBody(): Body {
  return JSON.parse(provider.calls.at(-1)?.body ?? assert.fail('no provider was called'))
}

const WAYS: Readonly<Record<string, (body: Body) => Promise<Body>>> = {
  whole: (body) => client.responses.create(body),
  streamed: (body) => client.responses.stream(body).finalResponse(),
}

/** What does not concern the meaning of an item. */
function essence({ parsed: _, parsed_arguments: __, ...item }: Body): Body {
  const content = item.content?.map(({ parsed: ___, logprobs: ____, ...part }: Body) => part)
  return content === undefined ? item : { ...item, content }
}

for (const [way, create] of Object.entries(WAYS)) {
  test(`${way}: items arrive unaltered, and return to the provider unchanged`, async () => {
    answerWith(OUTPUT)
    const tools = [
      { type: 'namespace', name: 'files', description: 'Files.', tools: [{ type: 'function', name: 'read' }] },
    ]
    const request = {
      model: 'openai',
      input: [{ role: 'user', content: 'Go on.' }],
      tools,
      store: false,
      made_up: { later: true },
    }
    const { output } = await create(request)
    assert.deepEqual(output.map(essence), OUTPUT.map(essence))
    assert.equal(provider.calls.at(-1)?.path, '/openai/responses')
    assert.deepEqual([lastBody().tools, lastBody().made_up, lastBody().store], [tools, { later: true }, false])
    answerWith([messageItem('msg_2', 'Done.')])
    const input = [...request.input, ...OUTPUT, { type: 'function_call_output', call_id: 'call_1', output: 'seen' }]
    const done = await create({ ...request, input })
    assert.equal(done.output_text, 'Done.')
    assert.deepEqual(lastBody().input, input)
  })
}

for (const [part, field] of [
  [{ type: 'input_file', file_url: 'https://files.example.com/a.pdf' }, 'file_url'],
  [{ type: 'input_file', file_id: 'file-1' }, 'file_id'],
  [{ type: 'input_image', file_id: 'file-1', detail: 'low' }, 'file_id'],
] as const) {
  test(`${part.type} with ${field} goes to OpenAI as it is, and to no other protocol`, async () => {
    answerWith([messageItem('msg_1', 'Read.')])
    const input = [{ role: 'user', content: [{ type: 'input_text', text: 'Read it.' }, part] }]
    await client.responses.create({ model: 'openai', input, store: false } as Body)
    assert.deepEqual(lastBody().input, input)
    const refused = await send(gateway, '/v1/responses', { key, body: { model: 'turnpike-simulator', input } })
    const { code, param } = errorOf(refused)
    assert.deepEqual([refused.status, code, param], [422, 'unsupported_content', `input[0].content[1].${field}`])
  })
}

test('openai-beta reaches the provider, and other headers of the client do not', async () => {
  answerWith([messageItem('msg_1', 'Hi')])
  const headers = { 'openai-beta': 'responses=v2', 'openai-organization': 'org_1' }
  await send(gateway, '/v1/responses', { key, body: { model: 'openai', input: 'Hi', store: false }, headers })
  const { headers: sent } = provider.calls.at(-1) ?? assert.fail()
  assert.deepEqual([sent['openai-beta'], sent['openai-organization']], ['responses=v2', undefined])
  await send(gateway, '/v1/responses', {
    key,
    body: { model: 'openai', input: 'Hi', store: false },
    headers: { 'openai-beta': 'é' },
  })
  assert.equal(provider.calls.at(-1)?.headers['openai-beta'], undefined)
})

test('a tool of the provider without a price is left out, wherever it is offered', async () => {
  answerWith([messageItem('msg_1', 'Hi')])
  const search = { type: 'web_search' }
  const look = { type: 'function', name: 'look' }
  const body = {
    model: 'openai',
    store: false,
    tools: [search, look],
    input: [
      { type: 'additional_tools', tools: [search, { ...look, name: 'see' }] },
      { role: 'user', content: 'Hi' },
    ],
  }
  const { status, headers, text } = await send(gateway, '/v1/responses', { key, body })
  assert.equal(status, 200, text)
  assert.match(headers['x-turnpike-warnings'] ?? '', /tools\[/)
  assert.deepEqual(lastBody().tools, [look])
  assert.deepEqual(lastBody().input[0].tools, [{ ...look, name: 'see' }])
})

test('a provider of another protocol receives no item or part of a type without translation', async () => {
  const before = provider.calls.length
  const user = { role: 'user', content: 'Hi' }
  const cases: readonly [readonly object[], string][] = [
    [[user, LATER], 'input[1].type'],
    [[{ role: 'user', content: [{ type: 'input_later' }] }], 'input[0].content[0].type'],
  ]
  for (const [input, param] of cases) {
    const answer = await send(gateway, '/v1/responses', { key, body: { model: 'azure', input } })
    const { code, param: named } = errorOf(answer)
    assert.deepEqual([answer.status, code, named], [422, 'unsupported_content', param])
  }
  assert.equal(provider.calls.length, before)
})

for (const [way, create] of Object.entries(WAYS)) {
  test(`${way}: a stored response has items with IDs of the gateway, which the provider receives as its own`, async () => {
    const cited = { type: 'file_citation', file_id: 'file-1', filename: 'a.pdf', index: 3 }
    const said = {
      ...messageItem('msg_1', 'I look.', 'commentary'),
      content: [{ type: 'output_text', text: 'I look.', annotations: [cited, { type: 'later', page: 1 }] }],
    }
    const output = [OUTPUT[0], LATER, said, OUTPUT[3]]
    answerWith(output)
    const tools: Body = [{ type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'read' }] }]
    const request = { model: 'openai', input: 'Go on.', tools, made_up: { later: true } }
    const made = await create(request)
    assert.deepEqual([lastBody().store, lastBody().made_up, lastBody().tools], [false, { later: true }, tools])
    const tail = made.id.slice('resp_'.length)
    const stored = output.map((item, at) => ({ ...item, id: `${item.id}_${tail}_${at}` }))
    assert.deepEqual(made.output.map(essence), stored.map(essence))
    assert.deepEqual((await client.responses.retrieve(made.id)).output.map(essence), stored.map(essence))
    const result = { type: 'function_call_output', call_id: 'call_1', output: 'seen' }
    const asked = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go on.' }] }
    const references = stored.map(({ id }) => ({ type: 'item_reference', id }))
    const ways: Body = [
      { previous_response_id: made.id, input: [result] },
      { input: [asked, ...references, result] },
      { input: [asked, ...made.output, result] },
    ]
    for (const continued of ways) {
      answerWith([messageItem('msg_2', 'Done.')])
      assert.equal((await create({ ...request, ...continued })).output_text, 'Done.')
      assert.deepEqual(lastBody().input.map(essence), [asked, ...output, result].map(essence))
    }
  })
}

test('reasoning of another provider that OpenAI cannot read is omitted, and no other item is', async () => {
  answerWith([messageItem('msg_2', 'Done.')])
  const reasoning = {
    type: 'reasoning',
    id: `rs_${'a'.repeat(22)}_0`,
    summary: [{ type: 'summary_text', text: 'So.' }],
  }
  const message = { type: 'message', id: `msg_${'a'.repeat(22)}_1`, role: 'assistant', content: 'Hi' }
  const input = [{ role: 'user', content: 'Hi' }, reasoning, message, { role: 'user', content: 'Go on.' }]
  await client.responses.create({ model: 'openai', input, store: false } as Body)
  assert.deepEqual(lastBody().input, [input[0], message, input[3]])
})

test('every call of the provider is one row of the API, at its exact cost', async () => {
  const rows = await checkRows(gateway, key, provider.calls.length)
  assert.deepEqual([...new Set(rows.map(({ api }) => api))], ['responses'])
})
