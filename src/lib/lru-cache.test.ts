import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createLruCache } from './lru-cache.ts'

test('it holds the entries that were used last, and never more than its capacity', () => {
  const command = fc.tuple(fc.constantFrom('get', 'set', 'delete'), fc.constantFrom(...'abcdef'))
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(command), (capacity, commands) => {
      const cache = createLruCache<number>(capacity)
      let model: [string, number][] = [] // the oldest first
      for (const [index, [name, key]] of commands.entries()) {
        const entry = model.find(([other]) => other === key)
        const rest = model.filter(([other]) => other !== key)
        if (name === 'get') {
          assert.equal(cache.get(key), entry?.[1])
          model = entry === undefined ? rest : [...rest, entry]
        } else if (name === 'set') {
          cache.set(key, index)
          model = [...rest, [key, index] as [string, number]].slice(-capacity)
        } else {
          cache.delete(key)
          model = rest
        }
        assert.deepEqual([...cache.entries()], model)
        assert.equal(cache.size, model.length)
      }
      cache.clear()
      assert.equal(cache.size, 0)
    }),
  )
})
