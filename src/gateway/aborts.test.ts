/** What an answer that broke off is charged for. Runs on one database: none is here. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  HANGS,
  healthOf,
  type Script,
  type Step,
  testClient,
  upstreamOf,
} from '../../test/support/ledger/data-plane.ts'
import { fakeCredit } from '../../test/support/ledger/fake-credit.ts'
import { hello, only, type Plane, type PlaneInput, plane } from '../../test/support/ledger/plane.ts'
import { compareAborts } from '../../test/support/providers/abort-bills.ts'
import { FAMILIES } from '../../test/support/providers/abort-families.ts'
import { chunk, counts, frame, usageChunk } from '../../test/support/providers/answers.ts'
import { seeded } from '../../test/support/providers/recordings.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import type { Provider } from '../providers/provider.ts'

suite('INV-7: random aborts, against the bill of a provider that counts for itself', () => {
  for (const family of FAMILIES) {
    test(`${family.name}: within 20 % in total, never free, never all that is held`, async () => {
      const { billed, charged, free, all } = await compareAborts(family, 60, seeded(7))
      assert.ok(Math.abs(charged / billed - 1) <= 0.2, `billed $${billed}, charged $${charged}`)
      assert.deepEqual([free, all], [0, 0])
    })
  }
})

const TEXT = 'word '.repeat(40)
const TEXT_TOKENS = Math.ceil((('user\n'.length + TEXT.length) / 4) * 1.07)

function dataUrl(type: string, bytes: Buffer): string {
  return `data:${type};base64,${bytes.toString('base64')}`
}

/** 100 pixels square. */
function pngHead(): Buffer {
  const head = Buffer.alloc(33)
  head.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1')
  head.writeUInt32BE(100, 16)
  head.writeUInt32BE(100, 20)
  return head
}

/** Just under two seconds at 16,000 bytes a second. */
function wav(): Buffer {
  const sound = Buffer.alloc(31_000)
  sound.write('RIFF....WAVEfmt ', 'latin1')
  sound.writeUInt16LE(1, 20)
  sound.writeUInt16LE(1, 22)
  sound.writeUInt32LE(8000, 24)
  sound.writeUInt32LE(16_000, 28)
  sound.writeUInt16LE(2, 32)
  return sound
}

const PDF = dataUrl('application/pdf', Buffer.from('%PDF-1.4\n/Pages\n/Page\n/Page\n/Page\n'))
/** By the formulas that Google publishes for the model. */
const MEDIA: readonly (readonly [name: string, part: object, tokens: number])[] = [
  ['a picture', { type: 'image_url', image_url: { url: dataUrl('image/png', pngHead()) } }, 258],
  ['a PDF of three pages', { type: 'file', file: { filename: 'a.pdf', file_data: PDF } }, 3 * 258],
  ['two seconds of sound', { type: 'input_audio', input_audio: { data: wav().toString('base64'), format: 'wav' } }, 64],
]

const BEGUN = [frame(chunk({ role: 'assistant', content: '' })), frame(chunk({ content: 'Some words.' }))]
const ENDINGS: Readonly<Record<string, (leave: () => void) => readonly Step[]>> = {
  'the client left': (leave) => [leave, HANGS],
  'the stream broke': () => [new Error('reset')],
  'the provider told no usage': () => [frame(chunk({}, 'stop')), frame('[DONE]')],
}

for (const [name, part, tokens] of MEDIA) {
  for (const [ending, stepsOf] of Object.entries(ENDINGS)) {
    test(`${name} is part of the estimate if ${ending}`, async () => {
      const client = testClient()
      const body = [...BEGUN, ...stepsOf(() => client.leave())]
      const model = {
        inputModalities: ['text', 'image', 'audio', 'file'],
        deployments: [{ provider: 'up', model: 'gemini-2.5-flash', priority: 0, weight: 1 }],
      }
      const { ask, records } = plane(() => ({ body }), { model })
      const content = [{ type: 'text', text: TEXT }, part]
      await ask(hello({ stream: true, messages: [{ role: 'user', content }] }), client)
      const { usageSource, promptTokens } = only(records)
      assert.equal(usageSource, 'estimated')
      const media = promptTokens - TEXT_TOKENS
      assert.ok(media >= tokens && media <= tokens * 1.1 + 4, `${media} tokens of media, expected about ${tokens}`)
    })
  }
}

/** A deployment that hides its reasoning, on a clock of its own. */
function reasoner(input: PlaneInput & { hiddenReasoning?: Provider['hiddenReasoning'] } = {}) {
  let now = 0
  let steps: readonly Step[] = []
  const { hiddenReasoning = 'unasked', upstream, ...rest } = input
  const source = { url: 'https://example.com', read: '2026-11-23' }
  const provider = { id: 'up', name: 'up', protocol: openaiChat(), authorize: () => {}, source, hiddenReasoning }
  const running: Plane = plane(() => ({ body: steps }), {
    clock: () => now,
    model: { maxOutputTokens: 10_000, supportedParameters: ['reasoning_effort'] },
    upstream: { provider, ...upstream },
    ...rest,
  })
  return {
    ...running,
    after: (ms: number) => () => {
      now += ms
    },
    async play(script: readonly Step[], over: object = {}, client = testClient()) {
      steps = script
      const made = running.records.length
      const asked = await running.ask(hello({ stream: true, ...over }), client, { receivedAt: now })
      return { ...asked, record: running.records.slice(made).at(-1) }
    },
  }
}

/** Reasoning of so many tokens, 10 ms each after half a second, and then a hundred of text. */
const whole = (reasoning: number, after: (ms: number) => Step): readonly Step[] => [
  after(500 + 10 * reasoning),
  ...Array.from({ length: 100 }).flatMap((): Step[] => [after(10), frame(chunk({ content: 'abcd' }))]),
  frame(chunk({}, 'stop')),
  frame({
    ...usageChunk(counts(10, reasoning + 100)),
    usage: { ...counts(10, reasoning + 100), completion_tokens_details: { reasoning_tokens: reasoning } },
  }),
  frame('[DONE]'),
]

async function measured(input: Parameters<typeof reasoner>[0] = {}) {
  const running = reasoner(input)
  for (const reasoning of [200, 1000, 600, 1400]) await running.play(whole(reasoning, running.after))
  return running
}

test('hidden reasoning is charged by its duration and the measured speed, with or without visible text', async () => {
  const { play, after } = await measured()
  const early = testClient()
  const before = await play([after(3500), () => early.leave(), HANGS], {}, early)
  assert.deepEqual([before.record?.completionTokens, before.record?.usageSource], [300, 'estimated'])
  const late = testClient()
  const text = frame(chunk({ content: 'abcd'.repeat(50) }))
  const during = await play([after(6500), text, after(60_000), () => late.leave(), HANGS], {}, late)
  assert.deepEqual([during.record?.completionTokens, during.record?.reasoningTokens], [650, 600])
  const broken = await play([after(6500), text, after(60_000), new Error('reset')])
  assert.deepEqual([broken.record?.status, broken.record?.completionTokens], ['incomplete', 650])
})

test('the estimate never exceeds the longest recent answer and stays below the hold, whatever the duration', async () => {
  const { play, after } = await measured()
  const client = testClient()
  const { record } = await play([after(500_000), () => client.leave(), HANGS], {}, client)
  assert.equal(record?.completionTokens, 1500)
  const limited = testClient()
  const bounded = await play([after(500_000), () => limited.leave(), HANGS], { max_tokens: 1000 }, limited)
  assert.equal(bounded.record?.completionTokens, 900)
})

test('before the first measurement, reasoning is charged at the default speed', async () => {
  const { play, after } = reasoner()
  const client = testClient()
  const { record } = await play([after(3800), () => client.leave(), HANGS], {}, client)
  assert.equal(record?.completionTokens, 200)
})

test('intermediate figures of the provider take precedence over the duration, and later output is added', async () => {
  const { play, after } = await measured()
  const client = testClient()
  const running = { ...counts(10, 420), completion_tokens_details: { reasoning_tokens: 400 } }
  const script: Step[] = [
    after(9000),
    frame(chunk({ content: 'abcd'.repeat(20) }, null, { usage: running })),
    frame(chunk({ content: 'abcd'.repeat(30) })),
    () => client.leave(),
    HANGS,
  ]
  const { record } = await play(script, {}, client)
  assert.deepEqual([record?.promptTokens, record?.completionTokens, record?.reasoningTokens], [10, 450, 400])
})

test('visible reasoning counts as it is, a summary by the measured ratio', async () => {
  const shownBy = async (tokens: number): Promise<number | undefined> => {
    const { play, after } = reasoner()
    const summary = frame(chunk({ reasoning_content: 'abcd'.repeat(100) }))
    for (let answer = 0; answer < 3; answer++) await play([summary, ...whole(tokens, after)])
    const client = testClient()
    const half = frame(chunk({ reasoning_content: 'abcd'.repeat(50) }))
    return (await play([half, after(99_000), () => client.leave(), HANGS], {}, client)).record?.completionTokens
  }
  assert.equal(await shownBy(100), 50)
  assert.equal(await shownBy(400), 200)
})

test('a request without reasoning, and a model that shows all of it, are charged for the visible text only', async () => {
  const { play, after } = await measured()
  for (const over of [{ reasoning_effort: 'none' }, { thinking: { type: 'disabled' } }]) {
    const client = testClient()
    const { record } = await play([...BEGUN, after(9000), () => client.leave(), HANGS], over, client)
    assert.equal(record?.completionTokens, 3, JSON.stringify(over))
  }
  const shown = reasoner({ model: {} })
  const client = testClient()
  const { record } = await shown.play([shown.after(9000), () => client.leave(), HANGS], {}, client)
  assert.equal(record?.completionTokens, 0)
})

suite('on_disconnect that is not set', () => {
  const cases: readonly (readonly [name: string, input: PlaneInput, over: object, drains: boolean])[] = [
    ['drains where reasoning may be hidden', {}, {}, true],
    ['cancels where the request has none', {}, { reasoning_effort: 'none' }, false],
    ['cancels where the model has none', { model: {} }, {}, false],
    [
      'cancels where the credit pays for a part of the answer only',
      { credit: fakeCredit({ nanoUsd: 5_000_000n }) },
      {},
      false,
    ],
    ['does not count where it is set', { upstream: { onDisconnect: 'cancel' } }, {}, false],
  ]
  for (const [name, { upstream, ...input }, over, drains] of cases) {
    test(name, async () => {
      const { play, after, network } = reasoner({ ...input, upstream: { onDisconnect: undefined, ...upstream } })
      const client = testClient()
      const { record } = await play([() => client.leave(), ...whole(300, after)], over, client)
      assert.equal(network.exchanges[0]?.aborted, !drains)
      assert.equal(record?.status, 'client_left')
      if (drains) assert.deepEqual([record?.usageSource, record?.completionTokens], ['provider', 400])
      else assert.equal(record?.usageSource, 'estimated')
    })
  }
})

suite('attempts that end before their first event', () => {
  async function unbilledOf(scripts: readonly Script[], input: PlaneInput = {}): Promise<readonly [bigint, bigint]> {
    const health = healthOf()
    const { ask, records } = plane((at) => scripts[at] ?? {}, { health, ...input })
    await ask(hello({ stream: true }))
    const { unbilledNanoUsd } = health.providerOf(upstreamOf({ transport: () => assert.fail() }))
    return [unbilledNanoUsd, only(records).costNanoUsd]
  }
  const answered: Script = {
    body: [frame(chunk({ content: 'Hi' }, 'stop')), frame(usageChunk(counts(10, 1))), frame('[DONE]')],
  }

  test('are charged to the operator: each is counted at its provider, and no client pays', async () => {
    const cut: Script = { body: [new Error('reset')] }
    const [once, charged] = await unbilledOf([cut, answered])
    assert.ok(once > 0n && once < 100_000n, String(once))
    assert.equal(charged, 12_000n)
    assert.deepEqual(await unbilledOf([cut, cut, cut]), [3n * once, 0n])
  })

  test('cost nothing if the provider refused', async () => {
    const refused: Script = { status: 500, headers: { 'content-type': 'application/json' }, body: ['{"error":{}}'] }
    assert.deepEqual(await unbilledOf([refused, answered]), [0n, 12_000n])
  })

  test('count with the prompt tokens that the provider reported', async () => {
    const told: Script = { body: [frame(usageChunk(counts(5000, 0))), new Error('reset')] }
    const [unbilled] = await unbilledOf([told, answered])
    assert.ok(unbilled >= 100_000n, String(unbilled))
  })
})
