import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { VERIFICATION_CODE } from './verification-code.ts'

const FENCES = { typescript: 'js', python: 'python', go: 'go', ruby: 'ruby' } as const
const HEADINGS: Readonly<Record<string, string>> = { TypeScript: 'JavaScript and TypeScript' }
const DOCS = readFileSync(new URL('../../../../docs/webhooks.md', import.meta.url), 'utf8')

test('the verification code is that of docs/webhooks.md, to the letter', () => {
  for (const { id, label, code } of VERIFICATION_CODE) {
    const section = DOCS.slice(DOCS.indexOf(`\n### ${HEADINGS[label] ?? label}\n`))
    const [, documented] = new RegExp(`\`\`\`${FENCES[id]}\n([\\s\\S]*?)\`\`\`\n`).exec(section) ?? []
    assert.equal(code, documented, label)
  }
  assert.equal(VERIFICATION_CODE.length, 4)
})
