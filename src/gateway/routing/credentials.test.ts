import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProviderFailure } from '../../protocols/protocol.ts'
import {
  cooldownOf,
  createCredentialHealth,
  endCooldowns,
  isAboutCredential,
  MAX_COOLDOWN_MS,
  mayTry,
  REFUSED_MS,
  startCooldown,
} from './credentials.ts'

function cooled(failure: Partial<ProviderFailure>, random = 0.5) {
  const credential = createCredentialHealth()
  const full = { kind: 'rate_limited', message: '', status: 429, ...failure } as const
  startCooldown(credential, { model: 'm', failure: full, now: 1_000, random: () => random })
  return (model: string, now: number) => cooldownOf(credential, model, now)
}

test('UP-3: a limited credential cools down for that model, as long as the provider says', () => {
  const at = cooled({ retryAfterMs: 7_000 })
  assert.deepEqual([at('m', 7_999)?.until, at('m', 7_999)?.cause], [8_000, 'limited'])
  assert.equal(at('m', 8_000), undefined)
  assert.equal(at('other', 1_001), undefined)
})

test('UP-3: without Retry-After the cooldown lasts about a second, and never more than an hour [limit: cooling]', () => {
  assert.equal(cooled({}, 0)('m', 1_000)?.until, 1_500)
  assert.equal(cooled({}, 1)('m', 1_000)?.until, 2_500)
  assert.equal(cooled({ retryAfterMs: 1e12 })('m', 1_000)?.until, 1_000 + MAX_COOLDOWN_MS)
})

test('a refused or exhausted credential cools down for all models, for a minute', () => {
  for (const failure of [
    { kind: 'credentials', status: 401 },
    { kind: 'quota', status: 402, retryAfterMs: 5 },
  ] as const) {
    const at = cooled(failure)
    assert.deepEqual([at('other', 1_000)?.until, at('other', 1_000)?.cause], [1_000 + REFUSED_MS, 'refused'])
    assert.equal(at('m', 1_000 + REFUSED_MS), undefined)
  }
})

test('a credential that is forbidden for one model cools down for that model only', () => {
  const at = cooled({ kind: 'credentials', status: 403 })
  assert.equal(at('m', 1_000)?.until, 1_000 + REFUSED_MS)
  assert.equal(at('other', 1_000), undefined)
})

test('a credential that is accepted is used again if the call began after the refusal', () => {
  for (const failure of [
    { kind: 'credentials', message: '', status: 401 },
    { kind: 'rate_limited', message: '', status: 429, retryAfterMs: 60_000 },
  ] as const) {
    const credential = createCredentialHealth()
    startCooldown(credential, { model: 'm', failure, now: 10, random: () => 0 })
    endCooldowns(credential, 'm', 9)
    assert.notEqual(cooldownOf(credential, 'm', 11), undefined)
    endCooldowns(credential, 'm', 10)
    assert.equal(cooldownOf(credential, 'm', 11), undefined)
  }
})

test('UP-3: a request without another candidate may try a limited credential once a second', () => {
  const credential = createCredentialHealth()
  const failure = { kind: 'rate_limited', message: '', status: 429, retryAfterMs: 60_000 } as const
  const limit = (now: number) => startCooldown(credential, { model: 'm', failure, now, random: () => 0 })
  const tryAt = (now: number): boolean => {
    const cooling = cooldownOf(credential, 'm', now)
    assert.ok(cooling)
    const may = mayTry(cooling, now)
    if (may) cooling.triedAt = now
    return may
  }
  limit(0)
  assert.deepEqual([tryAt(1), tryAt(2)], [true, false])
  limit(3) // the one that tried was limited, too
  assert.deepEqual([tryAt(1_000), tryAt(1_001)], [false, true])
})

test('failures about the request, the model or the provider are not about the credential', () => {
  const kinds = ['rejected', 'context_length', 'content_filter', 'not_found', 'overloaded', 'failed'] as const
  assert.deepEqual(kinds.filter(isAboutCredential), [])
})
