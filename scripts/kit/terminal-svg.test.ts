import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../source-files.ts'
import { terminalSvg } from './terminal-svg.ts'

test('what commands print is text, long lines wrap, and the last screen stays without motion', () => {
  const svg = terminalSvg([{ command: 'cat <file>', output: `a & b\n${'x'.repeat(100)}` }], 'Two "lines"')
  const lines = [...svg.matchAll(/<text.*<\/text>/g)].map(([line]) => line.replace(/<[^>]*>/g, ''))
  assert.deepEqual(lines, ['$ cat &lt;file>', 'a &amp; b', 'x'.repeat(96), 'xxxx'])
  assert.match(svg, /aria-label="Two &quot;lines&quot;"/)
  assert.match(svg, /prefers-reduced-motion:reduce\)\{\.a,\.s\{animation:none\}\}/)
})

test('the recording in the README is light, without scripts, references and whole keys', () => {
  const svg = readFileSync(join(ROOT, 'docs', 'pictures', 'terminal.svg'), 'utf8')
  assert.ok(svg.length < 150_000)
  assert.doesNotMatch(svg, /<script|href=|url\(|@import|tp_\w{5}/)
  for (const command of ['npm start', 'v1/chat/completions', 'usage --group-by model']) {
    assert.ok(svg.replace(/<[^>]*>/g, '').includes(command), command)
  }
})
