import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseUnifiedDiff, sideBySide } from './unified-diff.ts'

const only = (text: string) => {
  const { files } = parseUnifiedDiff(text)
  assert.equal(files.length, 1)
  return files[0] ?? assert.fail()
}

const MODIFIED = `diff --git a/add.sh b/add.sh
index 83db48f..bf269f4 100644
--- a/add.sh
+++ b/add.sh
@@ -1,3 +1,4 @@ function add
 # function add
-echo $(($1 - $2))
+echo $(($1 + $2))
+# more
 end
@@ -10 +11 @@
-old
\\ No newline at end of file
+new
`

test('a change is read with the numbers of its lines on both sides', () => {
  const file = only(MODIFIED)
  assert.deepEqual([file.path, file.change, file.insertions, file.deletions], ['add.sh', 'modified', 3, 2])
  const [first, second] = file.hunks
  assert.equal(first?.header, '@@ -1,3 +1,4 @@ function add')
  assert.deepEqual(
    first?.lines.map(({ kind, text, oldNumber, newNumber }) => [kind, text, oldNumber, newNumber]),
    [
      ['context', '# function add', 1, 1],
      ['removed', 'echo $(($1 - $2))', 2, undefined],
      ['added', 'echo $(($1 + $2))', undefined, 2],
      ['added', '# more', undefined, 3],
      ['context', 'end', 3, 4],
    ],
  )
  assert.deepEqual(
    second?.lines.map(({ text, oldNumber, newNumber, isUnended }) => [text, oldNumber, newNumber, isUnended]),
    [
      ['old', 10, undefined, true],
      ['new', undefined, 11, false],
    ],
  )
})

test('files that come, go, move, change their mode or are no text', () => {
  const { files } = parseUnifiedDiff(`diff --git a/new file.txt b/new file.txt
new file mode 100644
index 0000000..ce01362
--- /dev/null
+++ b/new file.txt\t
@@ -0,0 +1 @@
+hello
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
index ce01362..0000000
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-hello
diff --git a/before.txt b/after.txt
similarity index 90%
rename from before.txt
rename to after.txt
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/logo.png b/logo.png
index 83db48f..bf269f4 100644
Binary files a/logo.png and b/logo.png differ
diff --git a/one b/two
copy from one
copy to two
diff --git a/empty b/empty
new file mode 100644
index 0000000..e69de29
`)
  assert.deepEqual(
    files.map(({ path, oldPath, change, isBinary, insertions, deletions }) => [
      path,
      oldPath,
      change,
      isBinary,
      insertions,
      deletions,
    ]),
    [
      ['new file.txt', undefined, 'added', false, 1, 0],
      ['gone.txt', undefined, 'deleted', false, 0, 1],
      ['after.txt', 'before.txt', 'renamed', false, 0, 0],
      ['run.sh', undefined, 'modified', false, 0, 0],
      ['logo.png', undefined, 'modified', true, 0, 0],
      ['two', 'one', 'copied', false, 0, 0],
      ['empty', undefined, 'added', false, 0, 0],
    ],
  )
  assert.deepEqual(files[3]?.modes, { old: '100644', new: '100755' })
})

test('quoted paths are what they stand for, and nothing in them acts', () => {
  const header = 'diff --git "a/\\303\\244\\t\\".txt" "b/\\303\\244\\t\\".txt"\nold mode 100644\nnew mode 100755\n'
  assert.equal(only(header).path, 'ä ".txt')
  assert.equal(only('diff --git "a/x\\342\\200\\256y" "b/x\\342\\200\\256y"\nnew file mode 100644').path, 'x[U+202E]y')
  assert.equal(only('diff --git a/x "b/\\303\\244"\nrename from x\nrename to "\\303\\244"').path, 'ä')
})

test('lines of a file that look like headers stay lines of that file', () => {
  const file = only(`diff --git a/x b/x
--- a/x
+++ b/x
@@ -1,4 +1,5 @@
 diff --git a/evil b/evil
--- a/evil
-@@ -1 +1 @@
+++ b/evil
+++ b/other
+diff --git a/evil b/evil
 
`)
  assert.deepEqual([file.path, file.insertions, file.deletions], ['x', 3, 2])
  assert.deepEqual(
    file.hunks[0]?.lines.map(({ text }) => text),
    ['diff --git a/evil b/evil', '-- a/evil', '@@ -1 +1 @@', '++ b/evil', '++ b/other', 'diff --git a/evil b/evil', ''],
  )
})

test('terminal sequences and direction overrides in lines are seen', () => {
  const { hunks } = only('diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,2 @@\n+\u001b[2Jgone\r\n+a\u202eb\n')
  assert.deepEqual(
    hunks[0]?.lines.map(({ text }) => text),
    ['␛[2Jgone␍', 'a[U+202E]b'],
  )
})

test('a diff that was cut off is read as far as it goes, and rubbish is nothing', () => {
  const file = only(MODIFIED.slice(0, MODIFIED.indexOf('# more')))
  assert.deepEqual([file.insertions, file.deletions], [2, 1])
  for (const text of ['', '\n', 'rubbish', '@@ -1 +1 @@\n+x', '--- a/x\n+++ b/x']) {
    assert.deepEqual(parseUnifiedDiff(text).files, [], JSON.stringify(text))
  }
  assert.equal(only('diff --git ').path, '')
})

test('beyond the limit lines are counted and not kept, in their files', () => {
  const lines = Array.from({ length: 100 }, (_, at) => `+line ${at}\n`).join('')
  const file = (name: string) =>
    `diff --git a/${name} b/${name}\n--- a/${name}\n+++ b/${name}\n@@ -0,0 +1,100 @@\n${lines}`
  const diff = parseUnifiedDiff(file('a') + file('b') + file('c'), { maxLines: 150 })
  assert.deepEqual(
    diff.files.map(({ insertions, omitted, hunks }) => [insertions, omitted, hunks[0]?.lines.length]),
    [
      [100, 0, 100],
      [100, 50, 50],
      [100, 100, 0],
    ],
  )
  assert.deepEqual([diff.insertions, diff.omitted], [300, 150])
})

test('a hundred thousand lines are read within a second of CPU time', () => {
  const lines = Array.from({ length: 100_000 }, (_, at) => `+line ${at}`).join('\n')
  const from = process.cpuUsage().user
  const diff = parseUnifiedDiff(`diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,100000 @@\n${lines}`, {
    maxLines: 5_000,
  })
  assert.deepEqual([diff.insertions, diff.omitted], [100_000, 95_000])
  assert.ok(process.cpuUsage().user - from < 1_000_000)
})

test('side by side, removed lines stand beside what came in their place', () => {
  const pairs = sideBySide(only(MODIFIED).hunks[0]?.lines ?? [])
  assert.deepEqual(
    pairs.map(({ left, right }) => [left?.oldNumber, left?.kind, right?.newNumber, right?.kind]),
    [
      [1, 'context', 1, 'context'],
      [2, 'removed', 2, 'added'],
      [undefined, undefined, 3, 'added'],
      [3, 'context', 4, 'context'],
    ],
  )
})
