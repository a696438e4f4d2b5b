import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ModelTraits, traitsOf } from './models.ts'

function column<Name extends keyof ModelTraits>(name: Name, models: readonly string[]): ModelTraits[Name][] {
  return models.map((model) => traitsOf(model)[name])
}

test('a model is known by family and version, dated or not, under any prefix', () => {
  const names = [
    'claude-sonnet-4-5',
    'claude-sonnet-4-5-20250929',
    'claude-sonnet-4.5',
    'anthropic.claude-sonnet-4-5-20250929-v1:0',
    'claude-sonnet-4-5@20250929',
  ]
  for (const name of names) assert.equal(traitsOf(name), traitsOf('claude-sonnet-4-5'), name)
  assert.notEqual(traitsOf('claude-sonnet-4-20250514'), traitsOf('claude-sonnet-4-5'))
  assert.equal(traitsOf('claude-3-5-haiku-latest').maxOutputTokens, 8192)
  assert.equal(traitsOf('claude-3-haiku-20240307').maxOutputTokens, 4096)
})

test('thinking is by budget from 3.7, adaptive from 4.6, and unasked from 5', () => {
  const models = [
    'claude-3-5-sonnet-20241022',
    'claude-3-7-sonnet-20250219',
    'claude-opus-4-5',
    'claude-sonnet-4-6',
    'claude-opus-4-8',
    'claude-haiku-4-5',
    'claude-sonnet-5',
  ]
  assert.deepEqual(column('thinking', models), [
    'none',
    'budget',
    'budget',
    'adaptive',
    'adaptive',
    'budget',
    'adaptive',
  ])
  assert.deepEqual(column('thinksByDefault', models), [false, false, false, false, false, false, true])
  assert.deepEqual(
    column('thinkingOff', [
      'claude-opus-5',
      'claude-opus-5-5',
      'claude-sonnet-5-5',
      'claude-haiku-5-5',
      'claude-fable-5',
    ]),
    ['disabled', undefined, 'between_tools', 'disabled', undefined],
  )
})

test('sampling, forced tools and prefill end where the API ended them', () => {
  const models = [
    'claude-sonnet-4-0',
    'claude-sonnet-4-5',
    'claude-opus-4-6',
    'claude-opus-4-7',
    'claude-sonnet-5',
    'claude-sonnet-5-5',
  ]
  assert.deepEqual(column('sampling', models), ['both', 'one', 'one', 'none', 'none', 'none'])
  assert.deepEqual(column('forcedTools', models), [true, true, true, true, true, false])
  assert.deepEqual(column('prefill', models), [true, true, false, false, false, false])
  assert.deepEqual(column('structuredOutput', models), [false, true, true, true, true, true])
})

test('what is not known yet is taken for the newest, which takes least', () => {
  assert.equal(traitsOf('claude-opus-9'), traitsOf('claude-opus-5-5'))
  assert.equal(traitsOf('claude-saga-1').forcedTools, false)
  assert.equal(traitsOf('claude-next').sampling, 'none')
})

test("another maker's model gets what every server of this format can do", () => {
  const traits = traitsOf('glm-5')
  assert.equal(traits.structuredOutput, false)
  assert.equal(traits.sampling, 'both')
})
