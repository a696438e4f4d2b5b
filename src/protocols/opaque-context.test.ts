import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeContext, encodeContext, isOpaqueContext, MAX_OPAQUE_CONTEXT_BYTES } from './opaque-context.ts'

const contexts = fc.dictionary(
  fc.constantFrom('gemini', 'openai', 'bedrock', 'anthropic'),
  fc.dictionary(fc.stringMatching(/^[a-z]{1,9}$/), fc.oneof(fc.string(), fc.integer(), fc.array(fc.string()))),
)

test('a context comes back as it was', () => {
  fc.assert(
    fc.property(contexts, (context) => {
      const text = encodeContext(context) ?? assert.fail('not encoded')
      assert.ok(isOpaqueContext(text))
      assert.match(text, /^[\w-]+$/)
      assert.deepEqual(decodeContext(text), JSON.parse(JSON.stringify(context)))
    }),
  )
})

test('any other text is ignored', () => {
  const text = encodeContext({ gemini: { signatures: [] } }) ?? assert.fail()
  const prefix = text.slice(0, text.lastIndexOf('_') + 1)
  const encoded = (json: string) => prefix + Buffer.from(json).toString('base64url')
  const deep = `{"a":${'['.repeat(2000)}${']'.repeat(2000)}}`
  const others = [
    '',
    'c2lnbmVk',
    prefix,
    text.slice(0, -4),
    encoded('[]'),
    encoded('{"a":1}'),
    encoded('{'),
    encoded(deep),
  ]
  for (const other of [...others, encoded('{"a":{"__proto__":{}}}')])
    assert.equal(decodeContext(other), undefined, other)
})

test('a context beyond the limit is not encoded [limit: opaque-context]', () => {
  const of = (length: number) => ({ a: { b: 'x'.repeat(length) } })
  const frame = JSON.stringify(of(0)).length
  const largest = encodeContext(of(MAX_OPAQUE_CONTEXT_BYTES - frame)) ?? assert.fail('not encoded')
  assert.ok(decodeContext(largest))
  assert.equal(encodeContext(of(MAX_OPAQUE_CONTEXT_BYTES - frame + 1)), undefined)
})
