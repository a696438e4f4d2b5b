import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { deriveKey, loadSecret } from './secret.ts'

/** HKDF-SHA-256 of 32 bytes of 7, no salt, info `turnpike cursors`: cursors given out must outlive an upgrade. */
const EXPECTED = '9fad831a7c49c550208f49425604ea6a69b01a39427280f7a071c6989039d4f4'

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-test-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'data')
}

test('a configured secret is taken as it is, and nothing is written', async (t) => {
  const data_dir = await folderOf(t)
  const secret = 'ä'.repeat(32)
  assert.deepEqual(await loadSecret({ secret, data_dir }), Buffer.from(secret, 'utf8'))
  await assert.rejects(stat(data_dir), { code: 'ENOENT' })
})

test('without one it is made once, of 32 bytes, readable by its owner alone', async (t) => {
  const data_dir = await folderOf(t)
  const made = await loadSecret({ data_dir })
  assert.equal(Buffer.from(made.toString(), 'base64').length, 32)
  assert.equal((await stat(join(data_dir, 'secret'))).mode & 0o777, 0o600)
  assert.equal((await stat(data_dir)).mode & 0o777, 0o700)
  assert.deepEqual(await loadSecret({ data_dir }), made)
  const secret = (await readFile(join(data_dir, 'secret'), 'utf8')).trim()
  assert.deepEqual(await loadSecret({ secret, data_dir: '' }), made, 'configured, it is the same')
  assert.deepEqual(await readdir(data_dir), ['secret'])
})

test('two installations have different secrets', async (t) => {
  const [one, other] = await Promise.all([
    loadSecret({ data_dir: await folderOf(t) }),
    loadSecret({ data_dir: await folderOf(t) }),
  ])
  assert.notDeepEqual(one, other)
})

test('starts at the same moment agree on one secret, and leave nothing else behind', async (t) => {
  const data_dir = await folderOf(t)
  const secrets = await Promise.all(Array.from({ length: 20 }, () => loadSecret({ data_dir })))
  assert.equal(new Set(secrets.map((secret) => secret.toString('hex'))).size, 1)
  assert.deepEqual(await readdir(data_dir), ['secret'])
})

test('a secret that was cut is refused, and not replaced', async (t) => {
  const data_dir = await folderOf(t)
  await loadSecret({ data_dir })
  const path = join(data_dir, 'secret')
  for (const damaged of ['', 'c2hvcnQ=\n']) {
    await writeFile(path, damaged)
    await assert.rejects(loadSecret({ data_dir }), /damaged/)
    assert.equal(await readFile(path, 'utf8'), damaged)
  }
})

test('keys of different purposes and secrets differ; the same ones are the same for ever', () => {
  const secret = Buffer.alloc(32, 7)
  const cursors = deriveKey(secret, 'cursors')
  assert.equal(cursors.length, 32)
  assert.deepEqual(deriveKey(secret, 'cursors'), cursors)
  assert.notDeepEqual(deriveKey(secret, 'sessions'), cursors)
  assert.notDeepEqual(deriveKey(Buffer.alloc(32, 8), 'cursors'), cursors)
  assert.equal(cursors.toString('hex'), EXPECTED)
})
