import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modelOf, requestOf } from '../../test/support/ledger/data-plane.ts'
import type { ChatRequest } from '../domain/chat.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Capability } from '../domain/model.ts'
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

test('images to a model without vision name the first one by message and part', () => {
  const messages = [
    { role: 'system', content: 'x' },
    { role: 'user', content: [TEXT] },
    { role: 'assistant', content: null },
    { role: 'user', content: [TEXT, TEXT, IMAGE, IMAGE] },
  ] as const
  assert.deepEqual(refusalOf({ messages }, ['vision']), ['unsupported_content', 'messages[3].content[2]'])
  assert.equal(refusalOf({ messages }, []), undefined)
})

test('tools to a model that cannot call functions, and JSON from one without JSON mode, are refused by name', () => {
  assert.deepEqual(refusalOf({ tools: [TOOL] }, ['function_calling']), ['unsupported_parameter', 'tools'])
  for (const type of ['json_object', 'json_schema'] as const) {
    const responseFormat = type === 'json_object' ? { type } : { type, json_schema: { name: 'a' } }
    assert.deepEqual(refusalOf({ responseFormat }, ['json_mode']), ['unsupported_parameter', 'response_format'])
  }
  assert.equal(refusalOf({ responseFormat: { type: 'text' } }, ALL), undefined)
})

test('plain text passes a model that can do nothing else, also as parts and as a stream', () => {
  assert.equal(refusalOf({ messages: [{ role: 'user', content: [TEXT, TEXT] }] }, ALL), undefined)
  assert.equal(refusalOf({ stream: true }, ALL), undefined)
})

test('each capability is asked for on its own', () => {
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
