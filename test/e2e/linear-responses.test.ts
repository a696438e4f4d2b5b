/**
 * What a client of the Responses API requests is read and rendered for each protocol in time linear in its size: many items,
 * parts, calls, tools, reasoning, and fields. Runs on one database.
 * Runs in a process of its own.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../../src/domain/errors.ts'
import { warningsText } from '../../src/gateway/deliver.ts'
import { encodeContext } from '../../src/protocols/opaque-context.ts'
import { responsesApi } from '../../src/protocols/openai-responses/client/index.ts'
import { PROVIDERS } from '../../src/providers/index.ts'
import { items, linearityFault } from '../support/linearity.ts'

const SIZE = 128 * 1024
const TARGET = { model: 'claude-opus-4-6', maxOutputTokens: 4096 }
const repeat = <T>(size: number, value: T): T[] => items(size, () => value)
const said = (role: string, type: string) => ({ role, content: [{ type, text: 'a' }] })
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' })
const result = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'a' })
const custom = (id: string) => ({ type: 'custom_tool_call', call_id: id, name: 'g', input: 'a' })
const customResult = (id: string) => ({ type: 'custom_tool_call_output', call_id: id, output: 'a' })
const thought = (context: object) => ({
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: 'a' }],
  encrypted_content: encodeContext({ anthropic: { blocks: [context] } }) ?? '',
})
const signed = { type: 'thinking', thinking: 'a', signature: 's' }
const idsOf = (size: number, each: (id: string) => unknown) =>
  items(size, (at) => each(`c${at}`)).map((_, at) => `c${at}`)

/** Fields of requests of about so many characters, by name. */
const BODIES: Readonly<Record<string, (size: number) => object>> = {
  'messages of a user': (size) => ({ input: repeat(size, said('user', 'input_text')) }),
  'messages of an assistant': (size) => ({ input: repeat(size, said('assistant', 'output_text')) }),
  'parts of a message': (size) => ({
    input: [{ role: 'user', content: repeat(size, { type: 'input_text', text: 'a' }) }],
  }),
  'calls, then results': (size) => {
    const ids = idsOf(size / 2, call)
    return { input: [...ids.map(call), ...ids.map(result)] }
  },
  'results in reverse': (size) => {
    const ids = idsOf(size / 2, call)
    return { input: [...ids.map(call), ...ids.toReversed().map(result)] }
  },
  'calls and results in turn': (size) => ({ input: idsOf(size / 2, call).flatMap((id) => [call(id), result(id)]) }),
  'custom calls': (size) => ({
    input: idsOf(size / 2, custom).flatMap((id) => [custom(id), customResult(id)]),
    tools: [{ type: 'custom', name: 'g' }],
  }),
  'calls of a namespace': (size) => ({
    input: idsOf(size / 2, call).flatMap((id) => [{ ...call(id), namespace: 'n' }, result(id)]),
  }),
  'signed thinking between calls': (size) => {
    const ids = idsOf(size, (id) => [thought(signed), call(id)])
    return { input: [...ids.flatMap((id) => [thought(signed), call(id)]), ...ids.map(result)] }
  },
  'one thought of many blocks': (size) => ({
    input: [
      { ...thought({}), encrypted_content: encodeContext({ anthropic: { blocks: repeat(size / 2, signed) } }) },
      said('assistant', 'output_text'),
    ],
  }),
  'parts of a summary': (size) => ({
    input: [{ type: 'reasoning', summary: repeat(size, { type: 'summary_text', text: 'a' }) }],
  }),
  'spent items': (size) => ({ input: repeat(size, { type: 'web_search_call' }) }),
  'unpaired calls': (size) => ({ input: idsOf(size, call).map(call) }),
  'tools of a namespace': (size) => ({
    tools: [{ type: 'namespace', name: 'n', tools: repeat(size, { type: 'function', name: 'f' }) }],
  }),
  'tools of one long name': (size) => ({
    tools: Array.from({ length: 100 }, () => ({ type: 'custom', name: 'f'.repeat(size / 100) })),
  }),
  'additional tools': (size) => ({ input: repeat(size, { type: 'additional_tools', role: 'developer', tools: [] }) }),
  include: (size) => ({ include: repeat(size, 'a') }),
  'unknown fields': (size) => Object.fromEntries(items(size, (at) => [`k${at}`, at] as const)),
}

for (const id of ['openai', 'groq', 'anthropic', 'google', 'bedrock']) {
  test(`time is linear in a request of the Responses API: ${id}`, async () => {
    const { protocol } = PROVIDERS[id] ?? assert.fail(id)
    const faults: string[] = []
    for (const [name, make] of Object.entries(BODIES)) {
      const fault = await linearityFault((size) => {
        const body = { model: 'm', input: 'a', ...make(size) }
        return () => {
          try {
            warningsText(protocol.renderRequest(responsesApi.parse(body), TARGET).warnings)
          } catch (error) {
            if (!(error instanceof GatewayError)) throw error // a refusal is an answer, too
          }
        }
      }, SIZE)
      if (fault !== undefined) faults.push(`${name}: ${fault}`)
    }
    assert.deepEqual(faults, [])
  })
}
