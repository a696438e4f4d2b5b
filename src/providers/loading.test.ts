import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '..', '..')
/** Prints every package of the clouds that is loaded on the way. */
const SCRIPT = `
  import { registerHooks } from 'node:module'
  registerHooks({
    resolve(specifier, context, next) {
      if (/^@aws|^@smithy|^google-auth|^hyparquet/.test(specifier)) console.log(specifier)
      return next(specifier, context)
    },
  })
  const { resolveProvider } = await import('./src/providers/index.ts')
  const { createExports } = await import('./src/features/exports/jobs.ts')
  createExports({ exports: [{ name: 'lake', url: 's3://bucket', every_minutes: 15 }] })
  const settings = { timeout_ms: { connect: 1, idle: 1, total: 1 }, on_disconnect: 'cancel', region: 'us-east-1', project: 'p' }
  const { provider } = resolveProvider('bedrock', settings)
  resolveProvider('vertex', settings)
  console.log('resolved')
  await provider.authorize({ url: 'https://x.example/', headers: {}, body: '' }, 'a:b')
`

test('the libraries of the clouds and of exports are loaded when they are first needed, not at the start', () => {
  const args = ['--input-type=module', '--eval', SCRIPT]
  const [first, second = ''] = execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' }).trim().split('\n')
  assert.equal(first, 'resolved')
  assert.match(second, /^@(smithy|aws)/, 'the hook sees them')
})
