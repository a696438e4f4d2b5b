/**
 * Requests whose cost a gateway may not see: files, sound, pictures, tools and every field beside the messages. Each with
 * what its provider bills for it: text by a real tokenizer, media by the published formula.
 */
import assert from 'node:assert/strict'
import { deflateSync } from 'node:zlib'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { CHAT, hello, send } from '../client.ts'
import { type Gateway, model } from '../gateway.ts'
import { creditAtRest, reconcile } from '../ledger/money.ts'
import { bodyOf, completion, counts } from '../providers/answers.ts'
import type { BillRow, ProviderCall, Script } from '../providers/fake-provider.ts'

const DENSE = '1234567890 𓀀𓁐𓂀 ሰላም {"a":[1,2]} '.repeat(20)
/** Media by what they truly are: the gateway has to find out, or to take them for more. */
const WAV_SECONDS = 12
const TOKENS_A_SECOND = 10
const PICTURE_TOKENS = 1445 // eight tiles of a model that has them
const PAGES = 40
const TOKENS_A_PAGE = 4000
const FILE_TOKENS = 60_000
const VIDEO_SECONDS = 12
const TOKENS_A_VIDEO_SECOND = 50

/** By kind, so that the provider knows what to bill for what it cannot see. */
const HEAVY: Readonly<Record<string, object>> = {
  text: { messages: [{ role: 'user', content: DENSE }] },
  name: { messages: [{ role: 'user', content: 'Hi', name: DENSE }] },
  refusal: {
    messages: [
      { role: 'assistant', content: null, refusal: DENSE },
      { role: 'user', content: 'Go on' },
    ],
  },
  context: {
    messages: [
      { role: 'assistant', content: 'Hi', provider_context: { any: DENSE } },
      { role: 'user', content: 'Go on' },
    ],
  },
  tools: {
    tools: Array.from({ length: 20 }, (_, at) => ({
      type: 'function',
      function: { name: `f${at}`, description: DENSE },
    })),
  },
  format: {
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object', title: DENSE } } },
  },
  prediction: { prediction: { type: 'content', content: DENSE } },
  picture: {
    messages: [
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'high' } }],
      },
    ],
  },
  sound: {
    messages: [
      {
        role: 'user',
        content: [{ type: 'input_audio', input_audio: { data: wav().toString('base64'), format: 'wav' } }],
      },
    ],
  },
  pdf: {
    messages: [
      {
        role: 'user',
        content: [
          {
            type: 'file',
            file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf().toString('base64')}` },
          },
        ],
      },
    ],
  },
  file: { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }] },
  video: {
    messages: [
      {
        role: 'user',
        content: [
          {
            type: 'file',
            file: { filename: 'a.mp4', file_data: `data:video/mp4;base64,${Buffer.alloc(60_000).toString('base64')}` },
          },
        ],
      },
    ],
  },
  user: { user: DENSE },
  stop: { stop: [DENSE, `${DENSE}!`] },
  metadata: {
    metadata: Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`name ${at}`, DENSE.slice(0, 500)])),
  },
  unknown: { made_up: { any: DENSE } },
}

function wav(): Buffer {
  const bytes = Buffer.alloc(44 + WAV_SECONDS * 8000)
  bytes.write('RIFF0000WAVEfmt ', 0, 'latin1')
  bytes.writeUInt16LE(1, 20)
  bytes.writeUInt16LE(1, 22)
  bytes.writeUInt32LE(8000, 24)
  bytes.writeUInt32LE(8000, 28)
  bytes.writeUInt16LE(1, 32)
  return bytes
}

/** Its pages are packed. */
function pdf(): Buffer {
  const packed = deflateSync(Buffer.from('<< /Type /Page >>'.repeat(PAGES)))
  return Buffer.concat([Buffer.from('%PDF-1.7 << /Type /ObjStm >> stream '), packed])
}

/** What a provider bills for the prompt: its text by its tokenizer, its media by what they are. */
function promptOf({ body }: ProviderCall): number {
  const isPdf = body.includes('application/pdf')
  const isSound = body.includes('input_audio')
  const isVideo = body.includes('video/mp4')
  const media =
    (isPdf ? PAGES * TOKENS_A_PAGE : 0) +
    (isSound ? WAV_SECONDS * TOKENS_A_SECOND : 0) +
    (isVideo ? VIDEO_SECONDS * TOKENS_A_VIDEO_SECOND : 0) +
    (body.includes('example.com/a.png') ? PICTURE_TOKENS : 0) +
    (body.includes('file-1') ? FILE_TOKENS : 0)
  const text = isPdf || isSound || isVideo ? '' : textIn(JSON.parse(body))
  return media + countTokens(text, { disallowedSpecial: new Set() }) + 20
}

/** All text of a body: messages as they are, other fields as JSON, the predicted answer aside. */
function textIn({ messages, prediction: _, ...others }: Readonly<Record<string, unknown>>): string {
  const fields = Object.values(others).map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
  return [...stringsIn(messages), ...fields].join('\n')
}

function stringsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}

/** Answers to the limit, and bills everything. */
export const billsAll: Script = async (call, reply) => {
  const {
    max_completion_tokens: limit,
    max_tokens: older,
    prediction,
  } = bodyOf(call) as Readonly<Record<string, unknown>>
  const rejected =
    prediction === undefined ? 0 : countTokens(JSON.stringify(prediction), { disallowedSpecial: new Set() })
  const row: BillRow = { promptTokens: promptOf(call), completionTokens: Number(limit ?? older ?? 100_000) + rejected }
  await reply.wait(20)
  reply.bill(row)
  reply.head(200, { 'content-type': 'application/json' })
  const usage = counts(row.promptTokens, row.completionTokens)
  reply.end(JSON.stringify(completion({ content: 'w '.repeat(50) }, { usage })))
}

/** A model whose pictures are tiles, at $2 and $8. */
export const HEAVY_MODEL = {
  ...model('gpt-4o', 'up', 'gpt-4o'),
  context_window: 200_000,
  max_output_tokens: 2000,
  pricing: { input_per_million: 2, output_per_million: 8 },
}
export const HEAVY_PLAN = { requests_per_minute: 1_000_000, tokens_per_minute: 1_000_000_000, max_in_flight: 5_000 }

/** So many requests of every kind at once, each kind on an account of $1 with the plan `wide`: no balance ends below zero. */
export async function raceHeavy(gateways: readonly Gateway[], count: number): Promise<void> {
  const [first = assert.fail('no gateway')] = gateways
  const kinds = Object.entries(HEAVY)
  // One after another: changes of accounts wait for each other, and for at most 2 s.
  const accounts: { readonly account: string; readonly key: string }[] = []
  for (const [kind] of kinds) accounts.push(await dollarOf(first, kind))
  const answers = await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const [kind, body] = kinds[at % kinds.length] ?? assert.fail()
      const { key } = accounts[at % kinds.length] ?? assert.fail()
      const limit = at % 2 === 0 ? { max_tokens: 500 } : {}
      const gateway = gateways[at % gateways.length] ?? first
      const { status, text } = await send(gateway, CHAT, { key, body: hello({ model: 'gpt-4o', ...body, ...limit }) })
      return { kind, status, text }
    }),
  )
  for (const [at, owner] of accounts.entries()) {
    const [kind = ''] = kinds[at] ?? []
    const own = answers.filter((answer) => answer.kind === kind)
    assert.ok(
      own.some(({ status }) => status === 200),
      `${kind}: ${own[0]?.text}`,
    )
    // (503: a busy machine turned it away before it was looked at)
    for (const { status, text } of own) assert.ok([200, 402, 503].includes(status), `${kind}: ${text}`)
    const credit = await creditAtRest(first, owner)
    assert.ok(credit.balance_usd >= 0, `${kind}: ${credit.balance_usd}`)
    assert.equal((await reconcile(first, owner.key)).ok, true)
  }
}

async function dollarOf(gateway: Gateway, name: string): Promise<{ readonly account: string; readonly key: string }> {
  const account = await gateway.cli('accounts', 'create', '--name', name, '--plan', 'wide')
  await gateway.cli('credits', 'grant', '--account', account, '--usd', '1')
  return { account, key: await gateway.key('--account', account) }
}
