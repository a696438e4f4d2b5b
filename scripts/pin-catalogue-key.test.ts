import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { openCatalogue, signCatalogue } from '../src/features/stored-settings/published-catalogue.ts'
import { pinned } from './pin-catalogue-key.ts'

const SOURCE = readFileSync(join(import.meta.dirname, '..', 'catalogue', 'public-key.ts'), 'utf8')
const privateKey = () => generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

test('what is pinned accepts catalogues signed with the key, and no others; pinning another key replaces it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-pin-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const catalogue = { publishedAt: '2026-12-01T08:00:00.000Z', models: [] }
  const keys = [privateKey(), privateKey()] as const
  let source = SOURCE
  for (const [at, key] of keys.entries()) {
    source = pinned(source, key)
    const file = join(folder, `public-key-${at}.ts`)
    writeFileSync(file, source)
    const { PUBLIC_KEY } = (await import(pathToFileURL(file).href)) as { readonly PUBLIC_KEY: string }
    assert.deepEqual(openCatalogue(signCatalogue(catalogue, key), PUBLIC_KEY), catalogue)
    assert.throws(() => openCatalogue(signCatalogue(catalogue, keys[1 - at] ?? ''), PUBLIC_KEY), /sign/)
  }
})

test('a source without the declaration is refused, as is what is no key', () => {
  assert.throws(() => pinned('export const OTHER = 1', privateKey()), /PUBLIC_KEY/)
  assert.throws(() => pinned(SOURCE, 'no key'))
})
