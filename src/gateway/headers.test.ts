import assert from 'node:assert/strict'
import { validateHeaderValue } from 'node:http'
import { test } from 'node:test'
import { MAX_WARNINGS_BYTES, warningsText } from './deliver.ts'

test('names of parameters are unchanged and separated by commas', () => {
  assert.equal(
    warningsText(['seed', 'messages[0].content[1].image_url.detail']),
    'seed, messages[0].content[1].image_url.detail',
  )
  assert.equal(warningsText([]), '')
})

test('characters that a header cannot contain are percent-encoded', () => {
  const text = warningsText(['a\r\nx-evil: 1', 'имя', '😀', 'lone \ud800', 'a,b', 'nul\0'])
  assert.doesNotThrow(() => validateHeaderValue('x-turnpike-warnings', text))
  assert.ok(text.startsWith('a%0D%0Ax-evil:%201, %D0%B8%D0%BC%D1%8F, %F0%9F%98%80, lone%20%EF%BF%BD, a%2Cb'), text)
  assert.equal(text.split(', ').length, 6)
})

test('a list that is too long reports the number of omitted names [limit: warnings]', () => {
  const names = Array.from({ length: 5_000 }, (_, index) => `tools[0].function.parameters.properties.p${index}`)
  const text = warningsText(names)
  const shown = text.split(', ').length - 1
  assert.ok(text.length <= MAX_WARNINGS_BYTES + 20)
  assert.ok(shown > 10)
  assert.ok(text.endsWith(`, and ${names.length - shown} more`))
  assert.equal(warningsText(['x'.repeat(5_000)]), 'and 1 more')
})
