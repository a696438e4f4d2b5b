import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import {
  createCommand,
  type Draft,
  EMPTY,
  missingOf,
  orderOf,
  quoted,
  repositoryIn,
  repositoryProblem,
} from './draft.ts'

const DRAFT: Draft = { ...EMPTY, name: ' Fix it ', repository: 'acme/website', prompt: ' Do. ' }

test('a repository is what the gateway takes for one', () => {
  for (const text of ['acme/website', 'a/b.c', '_a/b-c_d', '']) assert.equal(repositoryProblem(text), undefined, text)
  for (const text of ['acme', 'acme/', '/x', 'a/b/c', 'a/b.git', 'a/..', 'a/b..c', 'a b/c', '-a/b', 'a/b.', 'ä/b']) {
    assert.match(repositoryProblem(text) ?? '', /organisation\/repository/, text)
  }
})

test('an address that is pasted becomes a name', () => {
  for (const text of [
    'acme/website',
    ' acme/website ',
    'https://github.com/acme/website',
    'https://github.com/acme/website.git',
    'https://github.com/acme/website/tree/main?x#y',
    'git@github.com:acme/website.git',
    'ssh://git@github.com/acme/website.git',
  ]) {
    assert.equal(repositoryIn(text), 'acme/website', text)
  }
  assert.equal(repositoryIn('acme/website.git'), 'acme/website.git')
})

test('what is left empty is not sent', () => {
  assert.deepEqual(orderOf(DRAFT), { name: 'Fix it', repository: 'acme/website', prompt: 'Do.' })
  const whole = { ...DRAFT, branch: ' main ', model: 'm', maxCostUsd: 0.5, maxSteps: 7 }
  assert.deepEqual(orderOf(whole), {
    ...orderOf(DRAFT),
    model: 'm',
    branch: 'main',
    max_cost_usd: 0.5,
    max_steps: 7,
  })
})

test('it is ready when it has a name, a repository and a task', () => {
  assert.equal(missingOf(DRAFT), undefined)
  for (const change of [{ name: ' ' }, { prompt: '' }, { repository: '' }, { repository: 'acme' }]) {
    assert.notEqual(missingOf({ ...DRAFT, ...change }), undefined, JSON.stringify(change))
  }
})

test('a shell reads a quoted text as it is, whatever is in it', () => {
  for (const text of ["it's", '$(id) `id` "x" \\ !', "''", 'two\nlines', '-n', "'; rm -rf /; '"]) {
    assert.equal(execFileSync('sh', ['-c', `printf %s ${quoted(text)}`], { encoding: 'utf8' }), text)
  }
})

test('the command has the call, and the name of the variable instead of a key', () => {
  assert.equal(
    createCommand('https://gateway.example', { name: "Ada's", prompt: 'x' }),
    `curl https://gateway.example/v1/agents \\
  -H "Authorization: Bearer $TURNPIKE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"name":"Ada'\\''s","prompt":"x"}'`,
  )
})
