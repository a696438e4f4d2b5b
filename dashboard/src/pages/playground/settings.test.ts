import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { linesOfItems, problemText, readJson } from './json-text.ts'
import { EXAMPLE_SCHEMA, EXAMPLE_TOOLS, NOTHING_SET, problemsOf, schemaOf, toolsOf } from './settings.ts'

const problemOfTools = (tools: string) => {
  const problem = problemsOf({ ...NOTHING_SET, tools }).tools
  return problem === undefined ? undefined : problemText(problem)
}
const NONE = { message: 'none' }
const tool = (name: string) => `{"type": "function", "function": {"name": ${JSON.stringify(name)}}}`

test('the examples can be sent', () => {
  assert.deepEqual(
    problemsOf({ ...NOTHING_SET, tools: EXAMPLE_TOOLS, format: 'json_schema', schema: EXAMPLE_SCHEMA }),
    {},
  )
  assert.equal(toolsOf(EXAMPLE_TOOLS)?.length, 1)
  assert.deepEqual(problemsOf(NOTHING_SET), {})
})

test('what is no JSON is told with the line it is on', () => {
  const faults: readonly (readonly [text: string, problem: string])[] = [
    ['[\n  {\n    "type": function\n  }\n]', 'Line 3: This is not JSON: function is not expected here.'],
    ['[\n{\n', 'Line 2: This is not JSON: it ends too early.'],
    ['', 'Line 1: This is not JSON: it ends too early.'],
    ['[\n1,\n\n]', 'Line 4: This is not JSON: ] is not expected here.'],
    ['{"a": 1\n"b": 2}', 'Line 2: This is not JSON: "b" is not expected here.'],
    ['{"a": 1,\n}', 'Line 2: This is not JSON: } is not expected here.'],
    ['[1]\n]', 'Line 2: This is not JSON: ] is not expected here.'],
    ['{\n"a": "b\nc"}', 'Line 2: This is not JSON: a text has no end on its line.'],
    ["[\n'a']", "Line 2: This is not JSON: 'a' is not expected here."],
    ['[01]', 'Line 1: This is not JSON: 01 is not expected here.'],
    ['{1: 2}', 'Line 1: This is not JSON: 1 is not expected here.'],
    ['[1}', 'Line 1: This is not JSON: } is not expected here.'],
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
  assert.equal(problemOfTools('{}'), 'Line 1: Tools are a list: put [ and ] around them.')
  assert.equal(problemOfTools(`[\n${tool('f')},\n\n{"type": "web"}]`), 'Line 4: Tool 2 needs "type": "function".')
  assert.equal(problemOfTools('[{"type": "function"}]'), 'Line 1: Tool 1 needs a "function" with a "name".')
  assert.equal(problemOfTools(`[${tool('f')},\n${tool('f')}]`), 'Line 2: Tool 2 has the name of another: f.')
  assert.match(problemOfTools(`[${tool('a b')}]`) ?? '', /^Line 1: Tool 1 has a name with other characters/)
  assert.match(
    problemOfTools('[{"type":"function","function":{"name":"f","parameters":[]}}]') ?? '',
    /no JSON Schema object/,
  )
  assert.equal(toolsOf('[{}]'), undefined)
  assert.equal(toolsOf('[]'), undefined)
})

test('items are found whatever is in their texts', () => {
  assert.deepEqual(linesOfItems('["a,[\\"",\n{"b": [1,\n2]},\n3, 4]'), [1, 2, 4, 4])
  assert.deepEqual(linesOfItems('[]'), [])
})

test('a schema is an object, and is looked at only where it is sent', () => {
  assert.equal(problemsOf({ ...NOTHING_SET, schema: 'no' }).schema, undefined)
  assert.match(
    problemsOf({ ...NOTHING_SET, format: 'json_schema', schema: '[]' }).schema?.message ?? '',
    /is an object/,
  )
  assert.equal(schemaOf('[]'), undefined)
  assert.equal(problemsOf({ ...NOTHING_SET, stop: 'a\nb\nc\nd\n\ne' }).stop?.message, '4 stop sequences at most.')
})
