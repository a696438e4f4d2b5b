import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { createCommand, quoted } from './curl.ts'

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
