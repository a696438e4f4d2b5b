import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type HistoryEntry, MAX_ENTRIES, MAX_HISTORY_LENGTH, parseHistory, withinLimits } from './history.ts'
import { imageProblem, MAX_IMAGE_BYTES } from './images.ts'
import { MAX_SHARED_BYTES, readModels, readPlaygroundSearch, shareAddress } from './search.ts'
import { DEFAULT_SETTINGS } from './settings.ts'
import { createFrameQueue } from './use-runs.ts'

const entry = (number: number, text = 'Hi'): HistoryEntry => ({
  at: new Date(1_800_000_000_000 - number * 1000).toISOString(),
  models: ['m'],
  system: '',
  messages: [{ role: 'user', text }],
  settings: DEFAULT_SETTINGS,
})

test('the history keeps the newest runs, limited in number and in size', () => {
  const many = Array.from({ length: 30 }, (_, number) => entry(number))
  assert.deepEqual(withinLimits(many), many.slice(0, MAX_ENTRIES))
  assert.deepEqual(parseHistory(JSON.stringify(many)), many.slice(0, MAX_ENTRIES))
  const long = 'x'.repeat(MAX_HISTORY_LENGTH / 2)
  assert.deepEqual(withinLimits([entry(0, long), entry(1, long)]), [entry(0, long)])
  assert.deepEqual(withinLimits([]), [])
})

test('a history of another version is read as far as possible', () => {
  for (const odd of [null, '{}', '[null, 1, {"at": 3}]', '[{"at": "never"}]']) {
    assert.deepEqual(parseHistory(odd), [], String(odd))
  }
  const text = '[{"at": "2026-11-22T00:00:00Z", "settings": {"format": "xml", "temperature": "hot"}}]'
  assert.deepEqual(parseHistory(text)[0]?.settings, { ...DEFAULT_SETTINGS, temperature: undefined })
})

test('an address says the models, the system and the prompt, unless they are too long for it', () => {
  const shared = { models: ['a/b', ''], system: 'S & T', prompt: 'Hi?\n#' }
  const address = shareAddress('https://gw.example/app/playground', shared) ?? ''
  const raw = Object.fromEntries(new URL(address).searchParams)
  const search = readPlaygroundSearch(raw)
  assert.deepEqual([readModels(search), search.system, search.prompt], [shared.models, shared.system, shared.prompt])
  assert.equal(shareAddress('x', { ...shared, prompt: 'ü'.repeat(MAX_SHARED_BYTES / 4) }), undefined)
})

test('an address may say anything', () => {
  assert.deepEqual(readPlaygroundSearch({ models: 3, prompt: ['x'], sheet: 'attic', tab: '' }), {})
  assert.deepEqual(readModels({ models: 'a,b,c,d' }), ['a', 'b', 'c'])
  assert.deepEqual(readModels({}), [''])
  assert.equal(readPlaygroundSearch({ prompt: 'x'.repeat(9999) }).prompt?.length, MAX_SHARED_BYTES)
})

test('an image has a known type and at most 5 MiB, and there are at most four', () => {
  const png = { name: 'a.png', type: 'image/png', size: MAX_IMAGE_BYTES }
  assert.equal(imageProblem(png, 3), undefined)
  assert.equal(imageProblem(png, 4), '4 images at most.')
  assert.equal(imageProblem({ ...png, size: 6 * 1024 * 1024 }, 0), 'a.png has 6 MiB; the limit is 5 MiB.')
  assert.match(imageProblem({ ...png, type: 'image/svg+xml' }, 0) ?? '', /not a PNG, JPEG, GIF or WebP image/)
})

test('what comes within a frame is handed on once, and what is left at the end at once', () => {
  let frame: (() => void) | undefined
  const batches: (readonly number[])[] = []
  const frames = {
    request: (callback: () => void) => {
      frame = callback
      return 1
    },
    cancel: () => {
      frame = undefined
    },
  }
  const queue = createFrameQueue<number>((items) => batches.push(items), frames)
  queue.push(1)
  queue.push(2)
  frame?.()
  queue.push(3)
  queue.drain()
  queue.drain()
  assert.deepEqual([batches, frame], [[[1, 2], [3]], undefined])
})
