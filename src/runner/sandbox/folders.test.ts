import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ACCOUNT_UIDS, makePrivateFolder, removeTree, sandboxUser, treeUse } from './folders.ts'

test('a folder is made private, whatever its mode was', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-private-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'agents')
  for (const mode of [undefined, 0o755, 0o777]) {
    if (mode !== undefined) chmodSync(path, mode)
    makePrivateFolder(path)
    assert.equal(statSync(path).mode & 0o777, 0o700)
  }
})

test('SBX-3: a service that is root has a user of its own for each account, always the same; another has none', () => {
  const ids = ['acc_1', 'acc_2', 'acc_3'].map((account) => sandboxUser(account)?.uid)
  if (process.getuid?.() !== 0) return assert.deepEqual(ids, [undefined, undefined, undefined])
  assert.equal(new Set(ids).size, 3, 'root has all numbers here')
  for (const uid of ids) {
    assert.ok(uid !== undefined && uid >= ACCOUNT_UIDS.first && uid < ACCOUNT_UIDS.first + ACCOUNT_UIDS.count)
  }
  assert.deepEqual(sandboxUser('acc_1'), { uid: ids[0], gid: ids[0] })
})

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-tree-'))
  t.after(() => removeTree(folder))
  return folder
}

/** Far beyond the 4,096 bytes of a path. */
const DIG = 'name=$(printf %0200d 0); for i in $(seq 40); do mkdir $name && cd $name || exit 1; done; : > bottom'

test('F28: a folder is removed however deep it is, and what closed folders hold; nothing behind a link is', async (t) => {
  const folder = folderOf(t)
  const tree = join(folder, 'tree')
  const other = join(folder, 'other')
  for (const path of [tree, other, join(tree, 'closed'), join(tree, 'closed', 'inner')]) mkdirSync(path)
  for (const path of [join(other, 'kept'), join(tree, 'closed', 'file')]) writeFileSync(path, '')
  symlinkSync(other, join(tree, 'link'))
  execFileSync('bash', ['-c', DIG], { cwd: tree })
  for (const path of [join(tree, 'closed', 'inner'), join(tree, 'closed')]) chmodSync(path, 0)
  await removeTree(tree)
  assert.equal(existsSync(tree), false)
  assert.deepEqual(readdirSync(other), ['kept'])
  await removeTree(tree)
})

test('F28: what a closed folder holds is counted', async (t) => {
  const tree = folderOf(t)
  mkdirSync(join(tree, 'closed'))
  writeFileSync(join(tree, 'closed', 'file'), Buffer.alloc(1_000_000, 'x'))
  chmodSync(join(tree, 'closed'), 0)
  assert.ok((await treeUse(tree, '-B1')) >= 1_000_000)
  assert.equal(await treeUse(tree, '--inodes'), 3)
  assert.equal(await treeUse(join(tree, 'nowhere'), '-B1'), Number.POSITIVE_INFINITY)
})
