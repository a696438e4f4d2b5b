import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modelOf, requestOf } from '../../test/support/ledger/data-plane.ts'
import type { ChatRequest } from '../domain/chat.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Capability, Model } from '../domain/model.ts'
import { checkCapabilities } from './routing/requested-models.ts'

const IMAGE = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } } as const
const TEXT = { type: 'text', text: 'hi' } as const
const TOOL = { type: 'function', function: { name: 'f' } } as const

/** @returns code and parameter of the refusal by a model that cannot do `lacking`; undefined when it is let through. */
function refusalOf(
  over: Partial<ChatRequest>,
  lacking: readonly Capability[],
): [string, string | undefined] | undefined {
  const capabilities = { streaming: true, function_calling: true, vision: true, json_mode: true }
  for (const name of lacking) capabilities[name] = false
  try {
    checkCapabilities(requestOf(over), modelOf({ capabilities }))
    return undefined
  } catch (error) {
    assert.ok(error instanceof GatewayError)
    assert.equal(error.status, 422)
    return [error.code, error.param]
  }
}

const ALL: readonly Capability[] = ['streaming', 'function_calling', 'vision', 'json_mode']

test('images to a model without vision are rejected with the path of the first one', () => {
  const messages = [
    { role: 'system', content: 'x' },
    { role: 'user', content: [TEXT] },
    { role: 'assistant', content: null },
    { role: 'user', content: [TEXT, TEXT, IMAGE, IMAGE] },
  ] as const
  assert.deepEqual(refusalOf({ messages }, ['vision']), ['unsupported_content', 'messages[3].content[2]'])
  assert.equal(refusalOf({ messages }, []), undefined)
})

test('tools and JSON mode are rejected by name for models without them', () => {
  assert.deepEqual(refusalOf({ tools: [TOOL] }, ['function_calling']), ['unsupported_parameter', 'tools'])
  for (const type of ['json_object', 'json_schema'] as const) {
    const responseFormat = type === 'json_object' ? { type } : { type, json_schema: { name: 'a' } }
    assert.deepEqual(refusalOf({ responseFormat }, ['json_mode']), ['unsupported_parameter', 'response_format'])
  }
  assert.equal(refusalOf({ responseFormat: { type: 'text' } }, ALL), undefined)
})

test('a PDF file and a JSON schema are rejected only for models known not to support them', () => {
  const file = { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERg==' } } as const
  const elsewhere = { type: 'file', file: { file_id: 'file-1' } } as const
  const text = { type: 'file', file: { file_data: 'data:text/plain;base64,aGk=' } } as const
  const schema = { type: 'json_schema', json_schema: { name: 'a' } } as const
  const refusal = (over: Partial<ChatRequest>, model: Partial<Model>) => {
    try {
      checkCapabilities(requestOf(over), modelOf(model))
      return undefined
    } catch (error) {
      return error instanceof GatewayError ? [error.code, error.param] : assert.fail(String(error))
    }
  }
  const reading = (...content: ChatRequest['messages'][number]['content'] & object) =>
    ({ messages: [{ role: 'user', content }] }) as const
  assert.deepEqual(refusal(reading(TEXT, file), { pdf: false }), ['unsupported_content', 'messages[0].content[1]'])
  for (const model of [{ pdf: true }, {}]) assert.equal(refusal(reading(file), model), undefined)
  assert.equal(refusal(reading(text, elsewhere, IMAGE), { pdf: false }), undefined)
  assert.deepEqual(refusal({ responseFormat: schema }, { jsonSchema: false }), [
    'unsupported_parameter',
    'response_format',
  ])
  for (const model of [{ jsonSchema: true }, {}]) assert.equal(refusal({ responseFormat: schema }, model), undefined)
  assert.equal(refusal({ responseFormat: { type: 'json_object' } }, { jsonSchema: false }), undefined)
})

test('plain text is accepted by a model without capabilities, also as parts and as a stream', () => {
  assert.equal(refusalOf({ messages: [{ role: 'user', content: [TEXT, TEXT] }] }, ALL), undefined)
  assert.equal(refusalOf({ stream: true }, ALL), undefined)
})

test('each capability is checked separately', () => {
  const asked: Partial<ChatRequest> = {
    tools: [TOOL],
    responseFormat: { type: 'json_object' },
    messages: [{ role: 'user', content: [IMAGE] }],
  }
  assert.equal(refusalOf(asked, ['streaming']), undefined)
  assert.equal(refusalOf(asked, ['function_calling'])?.[1], 'tools')
  assert.equal(refusalOf(asked, ['json_mode'])?.[1], 'response_format')
  assert.equal(refusalOf(asked, ['vision'])?.[1], 'messages[0].content[0]')
})
