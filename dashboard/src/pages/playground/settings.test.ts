import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { linesOfItems, problemText, readJson } from './json-text.ts'
import { DEFAULT_SETTINGS, EXAMPLE_SCHEMA, EXAMPLE_TOOLS, problemsOf, schemaOf, toolsOf } from './settings.ts'

const problemOfTools = (tools: string) => {
  const problem = problemsOf({ ...DEFAULT_SETTINGS, tools }).tools
  return problem === undefined ? undefined : problemText(problem)
}
const NONE = { message: 'none' }
const tool = (name: string) => `{"type": "function", "function": {"name": ${JSON.stringify(name)}}}`

test('the examples can be sent', () => {
  assert.deepEqual(
    problemsOf({ ...DEFAULT_SETTINGS, tools: EXAMPLE_TOOLS, format: 'json_schema', schema: EXAMPLE_SCHEMA }),
    {},
  )
  assert.equal(toolsOf(EXAMPLE_TOOLS)?.length, 1)
  assert.deepEqual(problemsOf(DEFAULT_SETTINGS), {})
})

test('what is no JSON is told with the line it is on', () => {
  const faults: readonly (readonly [text: string, problem: string])[] = [
    ['[\n  {\n    "type": function\n  }\n]', 'Line 3: This is not JSON: unexpected function.'],
    ['[\n{\n', 'Line 2: This is not JSON: unexpected end of text.'],
    ['', 'Line 1: This is not JSON: unexpected end of text.'],
    ['[\n1,\n\n]', 'Line 4: This is not JSON: unexpected ].'],
    ['{"a": 1\n"b": 2}', 'Line 2: This is not JSON: unexpected "b".'],
    ['{"a": 1,\n}', 'Line 2: This is not JSON: unexpected }.'],
    ['[1]\n]', 'Line 2: This is not JSON: unexpected ].'],
    ['{\n"a": "b\nc"}', 'Line 2: This is not JSON: a string is not closed on its line.'],
    ["[\n'a']", "Line 2: This is not JSON: unexpected 'a'."],
    ['[01]', 'Line 1: This is not JSON: unexpected 01.'],
    ['{1: 2}', 'Line 1: This is not JSON: unexpected 1.'],
    ['[1}', 'Line 1: This is not JSON: unexpected }.'],
  ]
  for (const [text, expected] of faults) assert.equal(problemText(readJson(text).problem ?? NONE), expected, text)
})

test('whatever JSON.parse refuses has a problem on a line that is there', () => {
  const pieces = fc.array(fc.constantFrom('[', ']', '{', '}', ',', ':', '"a"', '1', 'true', 'x', '"', '\n', ' ', '\\'))
  fc.assert(
    fc.property(pieces, (given) => {
      const text = given.join('')
      const { line = 0 } = readJson(text).problem ?? { line: 1 }
      assert.ok(line >= 1 && line <= text.split('\n').length)
    }),
  )
})

test('what is no list of function tools is told with the tool and its line', () => {
  assert.equal(problemOfTools('{}'), 'Line 1: Tools are a list: enclose them in [ and ].')
  assert.equal(problemOfTools(`[\n${tool('f')},\n\n{"type": "web"}]`), 'Line 4: Tool 2 needs "type": "function".')
  assert.equal(problemOfTools('[{"type": "function"}]'), 'Line 1: Tool 1 needs a "function" with a "name".')
  assert.equal(problemOfTools(`[${tool('f')},\n${tool('f')}]`), 'Line 2: Tool 2 has a duplicate name: f.')
  assert.match(problemOfTools(`[${tool('a b')}]`) ?? '', /^Line 1: Tool 1 has an invalid name/)
  assert.match(
    problemOfTools('[{"type":"function","function":{"name":"f","parameters":[]}}]') ?? '',
    /not a JSON Schema object/,
  )
  assert.equal(toolsOf('[{}]'), undefined)
  assert.equal(toolsOf('[]'), undefined)
})

test('items are found whatever is in their texts', () => {
  assert.deepEqual(linesOfItems('["a,[\\"",\n{"b": [1,\n2]},\n3, 4]'), [1, 2, 4, 4])
  assert.deepEqual(linesOfItems('[]'), [])
})

test('a schema is an object, and is looked at only where it is sent', () => {
  assert.equal(problemsOf({ ...DEFAULT_SETTINGS, schema: 'no' }).schema, undefined)
  assert.match(
    problemsOf({ ...DEFAULT_SETTINGS, format: 'json_schema', schema: '[]' }).schema?.message ?? '',
    /is an object/,
  )
  assert.equal(schemaOf('[]'), undefined)
  assert.equal(problemsOf({ ...DEFAULT_SETTINGS, stop: 'a\nb\nc\nd\n\ne' }).stop?.message, '4 stop sequences at most.')
})
