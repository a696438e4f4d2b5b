import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import fc from 'fast-check'
import { isAsStrictAs } from '../../domain/data-policy.ts'
import { GatewayError } from '../../domain/errors.ts'
import { type Caller, SCOPES, type Scope } from '../../domain/identity/caller.ts'
import { secretHash } from '../../domain/identity/credential.ts'
import { type AccountId, base62Source, type KeyId } from '../../domain/ids.ts'
import { isWithin, parseAddressRange } from '../../lib/ip-address.ts'
import { type KeyRights, keyForm, rightsOfScopes } from './key.ts'
import { FULL_ACCESS } from './queries.ts'
import { assertAddressList, assertConsistent, assertGrantable, type Granter, grantRights } from './rules.ts'

function granter(rights: Partial<KeyRights>): Granter {
  const key: KeyRights = { ...FULL_ACCESS, ...rights }
  const caller: Caller = {
    kind: 'key',
    accountId: 'acc_1' as AccountId,
    keyId: 'key_1' as KeyId,
    userId: undefined,
    role: undefined,
    plan: 'free',
    models: key.models.length === 0 ? undefined : new Set(key.models),
    requestsPerMinute: key.requestsPerMinute,
    monthlyBudgetNanoUsd: key.monthlyBudgetNanoUsd ?? undefined,
    scopes: rightsOfScopes(key.scopes),
  }
  return { caller, key }
}

function mint(asked: Partial<KeyRights>, from: Granter): KeyRights {
  const rights = grantRights(asked, from)
  assertGrantable(rights, from)
  return rights
}

test('an unrestricted key grants full access by default, never operator', () => {
  assert.deepEqual(mint({}, granter({})), FULL_ACCESS)
  assert.deepEqual(mint({}, granter({ scopes: SCOPES })).scopes, [])
})

test('a restricted key grants its own rights by default', () => {
  const own: KeyRights = {
    scopes: ['keys', 'chat'],
    ipAllowlist: ['10.0.0.0/8'],
    models: ['m1'],
    monthlyBudgetNanoUsd: 5n,
    requestsPerMinute: 7,
    dataPolicy: { zdr: true },
    expiresAt: 9,
  }
  assert.deepEqual(mint({}, granter(own)), { ...own, scopes: ['chat'] })
  assert.deepEqual(mint({}, granter({ scopes: ['keys', 'chat'] })).scopes, ['keys', 'chat'])
  assert.deepEqual(mint({}, granter({ scopes: ['keys', 'operator'] })).scopes, ['keys'])
})

test('a limited key cannot have the scopes keys and members', () => {
  const limits: readonly Partial<KeyRights>[] = [
    { monthlyBudgetNanoUsd: 0n },
    { requestsPerMinute: 1 },
    { models: ['m1'] },
    { expiresAt: 1 },
  ]
  for (const limit of limits) {
    for (const scope of ['keys', 'members'] as const) {
      const refused = { code: 'invalid_value', param: 'scopes' }
      assert.throws(() => assertConsistent({ ...FULL_ACCESS, ...limit, scopes: ['chat', scope] }), refused)
    }
    assertConsistent({ ...FULL_ACCESS, ...limit })
    assertConsistent({ ...FULL_ACCESS, ...limit, scopes: ['chat'] })
  }
  assertConsistent({ ...FULL_ACCESS, ipAllowlist: ['10.0.0.0/8'], scopes: ['keys', 'members'] })
})

test('KEY-3: a request for more rights is 403 with the field', () => {
  const cases: readonly [Partial<KeyRights>, Partial<KeyRights>, string][] = [
    [{ scopes: ['keys'] }, { scopes: ['chat'] }, 'scopes'],
    [{}, { scopes: ['operator'] }, 'scopes'],
    [{ models: ['m1'] }, { models: ['m1', 'm2'] }, 'models'],
    [{ ipAllowlist: ['10.0.0.0/8'] }, { ipAllowlist: ['10.1.0.0/16', '11.0.0.0/16'] }, 'ip_allowlist'],
    [{ ipAllowlist: ['10.0.0.0/8'] }, { ipAllowlist: ['0.0.0.0/0'] }, 'ip_allowlist'],
    [{ requestsPerMinute: 5 }, { requestsPerMinute: 6 }, 'requests_per_minute'],
    [{ monthlyBudgetNanoUsd: 5n }, { monthlyBudgetNanoUsd: 6n }, 'monthly_budget_usd'],
    [{ expiresAt: 5 }, { expiresAt: 6 }, 'expires_at'],
    [{ dataPolicy: { zdr: true } }, { dataPolicy: {} }, 'data_policy'],
    [{ dataPolicy: { dataCollection: 'deny' } }, { dataPolicy: { dataCollection: 'allow', zdr: true } }, 'data_policy'],
    [{ dataPolicy: { regions: ['EU'] } }, { dataPolicy: { regions: ['eu', 'us'] } }, 'data_policy'],
    [{ dataPolicy: { regions: ['eu'] } }, { dataPolicy: { zdr: true } }, 'data_policy'],
  ]
  for (const [own, asked, param] of cases) {
    const refused = (error: unknown) =>
      error instanceof GatewayError && error.status === 403 && error.param === param && error.message.length > 20
    assert.throws(() => mint(asked, granter(own)), refused, param)
  }
})

test('an invalid entry of an allowlist is rejected with its index', () => {
  assertAddressList(['203.0.113.7', '10.0.0.0/8', '::1', '2001:db8::/32', '::ffff:1.2.3.4'])
  for (const entry of [
    '',
    'example.com',
    '10.0.0.0/33',
    '1.2.3',
    '::/129',
    '10.0.0.0/8/8',
    '010.0.0.1',
    'fe80::1%eth0',
    '1.2.3.4/',
  ]) {
    const refused = { code: 'invalid_value', param: 'ip_allowlist[1]' }
    assert.throws(() => assertAddressList(['::1', entry]), refused, entry)
  }
})

const rightsArbitrary: fc.Arbitrary<Partial<KeyRights>> = fc.record(
  {
    scopes: fc.subarray<Scope>([...SCOPES]),
    ipAllowlist: fc.subarray(['10.0.0.0/8', '10.1.0.0/16', '10.1.2.3', '::/0', '2001:db8::/32', '::ffff:10.0.0.0/104']),
    models: fc.subarray(['m1', 'm2', 'm3']),
    monthlyBudgetNanoUsd: fc.option(fc.bigInt(0n, 5n), { nil: undefined }),
    requestsPerMinute: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
    expiresAt: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
    dataPolicy: fc.record(
      {
        dataCollection: fc.constantFrom('allow', 'deny'),
        zdr: fc.boolean(),
        regions: fc.subarray(['eu', 'us', 'ch'], { minLength: 1 }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
)

test('KEY-3: property: rights never grow along a chain of keys', () => {
  fc.assert(
    fc.property(rightsArbitrary, fc.array(rightsArbitrary, { maxLength: 6 }), (first, requests) => {
      const root: KeyRights = { ...FULL_ACCESS, ...first }
      let holder = root
      for (const asked of requests) {
        try {
          holder = mint(asked, granter(holder))
        } catch (error) {
          assert.ok(error instanceof GatewayError && error.status === 403)
        }
        assertNotStronger(holder, root)
      }
    }),
    { numRuns: 500 },
  )
})

/** Written without the rules under test. */
function assertNotStronger(key: KeyRights, root: KeyRights): void {
  assert.ok(isAsStrictAs(key.dataPolicy, root.dataPolicy))
  const everything = SCOPES.filter((scope) => scope !== 'operator')
  const all = (scopes: readonly Scope[]) => (scopes.length === 0 ? everything : scopes)
  for (const scope of all(key.scopes)) assert.ok(all(root.scopes).includes(scope), scope)
  if (root.models.length > 0)
    assert.ok(key.models.length > 0 && key.models.every((model) => root.models.includes(model)))
  const limits = [
    [key.requestsPerMinute, root.requestsPerMinute],
    [key.monthlyBudgetNanoUsd, root.monthlyBudgetNanoUsd],
    [key.expiresAt, root.expiresAt],
  ]
  for (const [own, limit] of limits) assert.ok(limit === undefined || (own !== undefined && own <= limit))
  if (root.ipAllowlist.length === 0) return
  assert.ok(key.ipAllowlist.length > 0)
  for (const entry of key.ipAllowlist) {
    const inner = parseAddressRange(entry)
    const covered = root.ipAllowlist.some((outerEntry) => {
      const outer = parseAddressRange(outerEntry)
      return inner !== undefined && outer !== undefined && isWithin(inner, outer)
    })
    assert.ok(covered, entry)
  }
}

const randomText = base62Source(randomBytes)

test('KEY-1: a secret matches the published pattern and carries its checksum', async () => {
  const documented = await readFile(new URL('../../../docs/keys.md', import.meta.url), 'utf8')
  assert.ok(documented.includes(keyForm.pattern.source))
  for (let count = 0; count < 1000; count++) {
    const secret = keyForm.mint(randomText)
    assert.match(secret, keyForm.pattern)
    assert.ok(keyForm.isWellFormed(secret))
  }
})

test("the documentation's example is a well-formed key", async () => {
  const documented = await readFile(new URL('../../../docs/keys.md', import.meta.url), 'utf8')
  const [example = ''] = /tp_[0-9A-Za-z]{46}/.exec(documented) ?? []
  assert.ok(keyForm.isWellFormed(example), example)
})

test('KEY-1: changing any one character makes it malformed', () => {
  const secret = keyForm.mint(randomText)
  fc.assert(
    fc.property(fc.nat(secret.length - 1), fc.constantFrom(...'09AZaz_ ~'), (at, character) => {
      fc.pre(secret[at] !== character)
      assert.ok(!keyForm.isWellFormed(secret.slice(0, at) + character + secret.slice(at + 1)))
    }),
  )
})

test('anything else is malformed, and nothing throws', () => {
  fc.assert(fc.property(fc.string(), (text) => assert.ok(!keyForm.isWellFormed(text))))
  const secret = keyForm.mint(randomText)
  for (const text of ['', 'tp_', `${secret}x`, ` ${secret}`, secret.slice(0, -1), secret.toUpperCase()]) {
    assert.ok(!keyForm.isWellFormed(text), text)
  }
})

test('KEY-2: only the SHA-256 of a secret is stored', () => {
  assert.equal(
    Buffer.from(secretHash('abc')).toString('hex'),
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  )
})
