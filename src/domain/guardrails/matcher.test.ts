import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { linearityFault } from '../../../test/support/linearity.ts'
import { compileMatchers, createMasker, type Matcher, maskText } from './matcher.ts'
import type { GuardrailRule } from './rule.ts'

const matchersOf = (...rules: readonly GuardrailRule[]): Promise<readonly Matcher[]> =>
  compileMatchers(rules.map((rule) => ({ guardrail: 'g', rule })))

const never = (): void => {}
const secrets = await matchersOf({ kind: 'secrets', action: 'mask' })
const pii = await matchersOf({
  kind: 'pii',
  action: 'mask',
  types: ['email', 'phone', 'credit_card', 'iban', 'us_ssn', 'ip_address'],
})
const PRIVATE_KEY = `-----BEGIN RSA PRIVATE KEY-----\n${'MIIEpAIBAAKCAQEA\n'.repeat(40)}-----END RSA PRIVATE KEY-----`
const JWT = `eyJhbGciOiJIUzI1NiJ9.eyJ${'c3ViIjoiMTIzNDU2Nzg5MCIs'.repeat(20)}.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c`

const MASKED: readonly (readonly [matchers: readonly Matcher[], text: string, masked: string])[] = [
  [secrets, 'key sk-proj-abcdefghijklmnopqrstuvwx done', 'key [SECRET] done'],
  [secrets, 'AKIAIOSFODNN7EXAMPLE', '[SECRET]'],
  [secrets, `a ${JWT} b`, 'a [SECRET] b'],
  [secrets, `before\n${PRIVATE_KEY}\nafter`, 'before\n[SECRET]\nafter'],
  [secrets, 'TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345;', 'TOKEN=[SECRET];'],
  [secrets, 'the skill of sk-iing, AKIA, eyJ', 'the skill of sk-iing, AKIA, eyJ'],
  [pii, 'write to ada.lovelace@example.co.uk, please', 'write to [EMAIL], please'],
  [pii, 'card 4111 1111 1111 1111, not 4111 1111 1111 1112', 'card [CREDIT_CARD], not 4111 1111 1111 1112'],
  [pii, 'IBAN DE89 3704 0044 0532 0130 00.', 'IBAN [IBAN].'],
  [pii, 'call +44 20 7946 0958 or (212) 555-0143', 'call [PHONE] or [PHONE]'],
  [pii, 'SSN 078-05-1120, from 192.168.10.4', 'SSN [SSN], from [IP_ADDRESS]'],
  [pii, 'in 2026 we sold 1 234 567 of v1.2.3', 'in 2026 we sold 1 234 567 of v1.2.3'],
]

test('secrets and personal data are masked, and what only resembles them is not', () => {
  for (const [matchers, text, masked] of MASKED) assert.equal(maskText(matchers, text, never), masked)
})

test('a value that arrives in two pieces is masked wherever the cut is', () => {
  for (const [matchers, text, masked] of MASKED) {
    for (let cut = 0; cut <= text.length; cut++) {
      const masker = createMasker(matchers, never)
      const streamed = masker.push(text.slice(0, cut)) + masker.push(text.slice(cut)) + masker.flush()
      assert.equal(streamed, masked, `${text} cut at ${cut}`)
    }
  }
})

test('any pieces give what the whole text gives', async () => {
  const words = await matchersOf({
    kind: 'regex',
    action: 'mask',
    words: ['Project Titan', 'acme'],
    pattern: 'T-\\d{2,6}',
  })
  const parts = fc.constantFrom(...MASKED.map(([, text]) => text), ' project titan ', 'acme', 'acmes', 'T-12345', ' x ')
  const all = [...secrets, ...pii, ...words]
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 6 }), fc.array(fc.nat({ max: 40 }), { maxLength: 60 }), (texts, sizes) => {
      const text = texts.join(' ')
      const masker = createMasker(all, never)
      let streamed = ''
      let at = 0
      for (const size of sizes) {
        streamed += masker.push(text.slice(at, at + size))
        at += size
      }
      streamed += masker.push(text.slice(at)) + masker.flush()
      assert.equal(streamed, maskText(all, text, never))
    }),
    { numRuns: 500 },
  )
})

test('plain prose is passed on but for its last word', () => {
  const masker = createMasker([...secrets, ...pii], never)
  assert.equal(masker.push('The quick brown fox '), 'The quick brown fox ')
  assert.equal(masker.push('jumps over'), 'jumps ')
  assert.equal(masker.flush(), 'over')
})

test('a match of a rule that blocks is reported, also where one that masks overlaps it', async () => {
  const both = await matchersOf({ kind: 'pii', action: 'mask' }, { kind: 'regex', action: 'block', words: ['example'] })
  assert.throws(
    () =>
      maskText(both, 'ada@example.com', ({ action }) => {
        if (action === 'block') throw new Error('blocked')
      }),
    /blocked/,
  )
})

test('a pattern that is not RE2 is rejected with its reason', async () => {
  await assert.rejects(matchersOf({ kind: 'regex', action: 'mask', pattern: '(?<=a)b' }), {
    name: 'GatewayError',
    code: 'invalid_value',
  })
})

test('hostile texts take linear time', async () => {
  const regex = await matchersOf({ kind: 'regex', action: 'mask', pattern: '(a+)+$', words: ['aaaa'] })
  for (const piece of [
    'a',
    '1',
    '1-',
    'eyJ',
    'eyJaaaaaaaa.',
    '-----BEGIN ',
    '-----BEGIN PRIVATE KEY-----',
    'a@',
    'a.',
    'DE89 ',
    '+1 (2) ',
  ]) {
    const make = (size: number) => {
      const text = piece.repeat(Math.ceil(size / piece.length))
      return () => maskText([...secrets, ...pii, ...regex], text, never)
    }
    assert.equal(await linearityFault(make), undefined, piece)
  }
})
