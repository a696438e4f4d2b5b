import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { createChoiceStore, createStore } from './browser-store.ts'

const listStore = (version?: number) =>
  createStore<readonly string[]>({
    name: 'list',
    ...(version !== undefined && { version }),
    parse: (text) => (text === null ? [] : (JSON.parse(text) as string[])),
    render: (list) => (list.length === 0 ? null : JSON.stringify(list)),
  })

/** A storage in memory; a full one throws when it is written. */
function useStorage({ isFull = false } = {}): Map<string, string> {
  const values = new Map<string, string>()
  const storage = {
    getItem: (key: string) => values.get(key) ?? null,
    removeItem: (key: string) => void values.delete(key),
    setItem(key: string, value: string) {
      if (isFull) throw new Error('full')
      values.set(key, value)
    },
  }
  Object.defineProperty(globalThis, 'localStorage', { value: storage, configurable: true })
  return values
}

afterEach(() => Reflect.deleteProperty(globalThis, 'localStorage'))

test('a value is stored by name, version and id, and removed when there is nothing to store', () => {
  const values = useStorage()
  listStore().write(['a'])
  listStore().write(['b'], 'acc_1')
  listStore(2).write(['c'], 'acc_1')
  assert.deepEqual(
    [...values],
    [
      ['turnpike.list', '["a"]'],
      ['turnpike.list.acc_1', '["b"]'],
      ['turnpike.list.v2.acc_1', '["c"]'],
    ],
  )
  listStore().write([])
  assert.equal(values.has('turnpike.list'), false)
})

test('reading returns the same object until the text changes, whoever changes it', () => {
  const values = useStorage()
  const store = listStore()
  store.write(['a'])
  assert.equal(store.read(), store.read())
  values.set('turnpike.list', '["z"]')
  assert.deepEqual(store.read(), ['z'])
})

test('text that cannot be parsed counts as nothing stored', () => {
  const values = useStorage()
  values.set('turnpike.list', '{')
  assert.deepEqual(listStore().read(), [])
})

test('without storage, or when it is full, a value lasts as long as the page', () => {
  useStorage({ isFull: true })
  const full = listStore()
  full.write(['a'])
  assert.deepEqual(full.read(), ['a'])
  Object.defineProperty(globalThis, 'localStorage', {
    get: () => {
      throw new Error('denied')
    },
    configurable: true,
  })
  const denied = listStore()
  assert.deepEqual(denied.read(), [])
  denied.write(['b'])
  assert.deepEqual(denied.read(), ['b'])
  denied.write([])
  assert.deepEqual(denied.read(), [])
})

test('a choice is one of its words; the first one is the default and is not stored', () => {
  const values = useStorage()
  const store = createChoiceStore('zone', ['local', 'utc'])
  assert.equal(store.read(), 'local')
  store.write('utc')
  assert.deepEqual([store.read(), values.get('turnpike.zone')], ['utc', 'utc'])
  values.set('turnpike.zone', 'mars')
  assert.equal(store.read(), 'local')
  store.write('local')
  assert.equal(values.size, 0)
})
