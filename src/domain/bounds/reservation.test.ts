import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateSync } from 'node:zlib'
import type { ChatRequest } from '../chat.ts'
import { mediaRulesOf } from './prompt-media.ts'
import { type PromptBound, promptBound } from './reservation.ts'

const BASE: ChatRequest = {
  model: 'm',
  messages: [{ role: 'user', content: 'Hi' }],
  stream: false,
  includeUsage: false,
  n: 1,
  extra: {},
}
const WINDOW = 200_000

function boundOf(over: Partial<ChatRequest>, model = 'gpt-4o'): PromptBound {
  return promptBound({ ...BASE, ...over }, { contextWindow: WINDOW, names: [model] })
}

function ofContent(content: unknown, model?: string): PromptBound {
  return boundOf({ messages: [{ role: 'user', content } as never] }, model)
}

const PLAIN = boundOf({}).tokens
const LONG = 'the quick brown fox '.repeat(100)
const call = (over: object) =>
  ({ id: 'c', type: 'function', function: { name: 'f', arguments: '{}', ...over } }) as never

test('every field that a provider may read counts', () => {
  const fields: Readonly<Record<string, Partial<ChatRequest>>> = {
    content: { messages: [{ role: 'user', content: LONG }] },
    'text part': { messages: [{ role: 'user', content: [{ type: 'text', text: LONG }] }] },
    'refusal part': { messages: [{ role: 'assistant', content: [{ type: 'refusal', refusal: LONG }] }] },
    refusal: { messages: [{ role: 'assistant', content: null, refusal: LONG }] },
    name: { messages: [{ role: 'user', content: 'Hi', name: LONG }] },
    reasoning: { messages: [{ role: 'assistant', content: 'Hi', reasoning_content: LONG }] },
    context: { messages: [{ role: 'assistant', content: 'Hi', provider_context: { anthropic: { blocks: [LONG] } } }] },
    'unknown field of a message': { messages: [{ role: 'user', content: 'Hi', unknown: { deep: [LONG] } } as never] },
    'unknown field of a part': {
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', more: LONG } as never] }],
    },
    'tool call': { messages: [{ role: 'assistant', tool_calls: [call({ arguments: LONG })] }] },
    'name of a call': { messages: [{ role: 'assistant', tool_calls: [call({ name: LONG })] }] },
    'tool result': { messages: [{ role: 'tool', tool_call_id: 'c', content: LONG }] },
    'id of a result': { messages: [{ role: 'tool', tool_call_id: LONG, content: 'Hi' }] },
    tools: { tools: [{ type: 'function', function: { name: 'f', description: LONG } }] },
    'schema of a tool': {
      tools: [{ type: 'function', function: { name: 'f', parameters: { properties: { [LONG]: {} } } } }],
    },
    'response format': { responseFormat: { type: 'json_schema', json_schema: { name: 'n', schema: { title: LONG } } } },
    prediction: { prediction: { type: 'content', content: LONG } },
    stop: { stop: [LONG] },
    user: { user: LONG },
    metadata: { metadata: { a: LONG } },
    'unknown field': { extra: { documents: [{ text: LONG }] } },
    'name of an unknown field': { extra: { [LONG]: true } },
    'file name': {
      messages: [
        { role: 'user', content: [{ type: 'file', file: { filename: LONG, file_data: 'data:text/plain,x' } }] },
      ],
    },
    'text file': {
      messages: [
        {
          role: 'user',
          content: [{ type: 'file', file: { file_data: `data:text/plain,${encodeURIComponent(LONG)}` } }],
        },
      ],
    },
    'text file in base64': {
      messages: [
        {
          role: 'user',
          content: [
            {
              type: 'file',
              file: { file_data: `data:application/json;base64,${Buffer.from(LONG).toString('base64')}` },
            },
          ],
        },
      ],
    },
  }
  for (const [name, over] of Object.entries(fields)) assert.ok(boundOf(over).tokens >= PLAIN + 390, name)
})

test('a predicted answer may be charged as output', () => {
  assert.ok(boundOf({ prediction: { type: 'content', content: LONG } }).predictionTokens >= 400)
  assert.equal(boundOf({}).predictionTokens, 0)
})

test('files of unknown size are taken for the whole window', () => {
  const parts = [
    { type: 'file', file: { file_id: 'file-1' } },
    { type: 'file', file: { file_data: 'data:application/zip;base64,AAAA' } },
    { type: 'image_url', image_url: { url: 'https://youtu.be/abc' } },
    { type: 'image_url', image_url: { url: 'https://example.com/long.mp4?x=1' } },
    { type: 'image_url', image_url: { url: 'https://example.com/a.pdf' } },
  ]
  for (const part of parts) {
    const bound = ofContent([part])
    assert.ok(bound.isOpen && bound.tokens >= WINDOW, JSON.stringify(part))
  }
  const spoken = boundOf({ messages: [{ role: 'assistant', content: null, audio: { id: 'audio_1' } } as never] })
  assert.ok(spoken.isOpen && spoken.hasAudio && spoken.tokens >= WINDOW)
})

function png(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(64)
  bytes.write('89504e470d0a1a0a0000000d49484452', 0, 'hex')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}
function jpeg(width: number, height: number, before = 5_000): Buffer {
  const exif = Buffer.alloc(before)
  exif.writeUInt16BE(before, 0)
  const frame = Buffer.from([0xff, 0xc2, 0, 11, 8, height >> 8, height & 255, width >> 8, width & 255, 3, 1, 0x22, 0])
  return Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe1]), exif, frame])
}
const GIF = Buffer.from('47494638396140068403', 'hex') // 1600 × 900
function webp(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(40)
  bytes.write('RIFF0000WEBPVP8X', 0, 'latin1')
  bytes.writeUIntLE(width - 1, 24, 3)
  bytes.writeUIntLE(height - 1, 27, 3)
  return bytes
}

function imageTokens(model: string, bytes: Buffer | string, detail?: string): number {
  const url = typeof bytes === 'string' ? bytes : `data:image/png;base64,${bytes.toString('base64')}`
  const with_ = ofContent([{ type: 'image_url', image_url: { url, detail } }], model)
  assert.equal(with_.images, 1)
  return with_.otherTokens - ofContent([{ type: 'text', text: '' }], model).otherTokens
}

test('pictures count by the published examples, read from the header of each format', () => {
  // OpenAI's guide: 1024 × 1024 is 765 tokens, 2048 × 4096 is 1105, low detail is 85.
  assert.equal(imageTokens('gpt-4o', png(1024, 1024)), 765)
  assert.equal(imageTokens('gpt-4o', png(2048, 4096)), 1105)
  assert.equal(imageTokens('gpt-4o', png(4096, 8192), 'low'), 85)
  assert.equal(imageTokens('gpt-4o-mini', png(1024, 1024)), 2833 + 4 * 5667)
  // Anthropic's guide: 1000 × 1000 is about 1,334 tokens.
  for (const bytes of [png(1000, 1000), jpeg(1000, 1000), webp(1000, 1000)]) {
    assert.equal(imageTokens('claude-haiku-4-5', bytes), 1334 + 8)
  }
  assert.equal(imageTokens('claude-haiku-4-5', GIF), 1640)
  assert.equal(imageTokens('gemini-2.5-flash', png(300, 200)), 258)
  assert.equal(imageTokens('gemini-2.5-flash', png(960, 540)), 258 * 6)
  assert.equal(imageTokens('gemini-3.5-flash', png(960, 540)), 1120)
})

test('pictures of unknown size count as the largest that the maker makes of one', () => {
  for (const model of [
    'gpt-4o',
    'gpt-4o-mini',
    'gpt-6-sol',
    'claude-opus-5-5',
    'gemini-2.5-pro',
    'qwen3-vl',
    'grok-4.7',
    'other',
  ]) {
    const most = mediaRulesOf(model).image(undefined, 'auto')
    assert.equal(imageTokens(model, 'https://example.com/a.png'), most, model)
    assert.equal(imageTokens(model, 'data:image/png;base64,AAAA'), most, model)
    for (const [width, height] of [
      [1, 1],
      [10_000, 10_000],
      [20_000, 10],
      [769, 2049],
    ] as const) {
      assert.ok(imageTokens(model, png(width, height)) <= most, `${model} ${width} × ${height}`)
    }
  }
})

function fileTokens(mediaType: string, bytes: Buffer, model = 'claude-haiku-4-5'): number {
  const file = { file_data: `data:${mediaType};base64,${bytes.toString('base64')}` }
  return (
    ofContent([{ type: 'file', file }], model).otherTokens - ofContent([{ type: 'text', text: '' }], model).otherTokens
  )
}

test('documents count by their pages; where they are not to be seen, by the most that is read', () => {
  const { page } = mediaRulesOf('claude-haiku-4-5')
  const pdf = (pages: number, more = '') =>
    Buffer.from(`%PDF-1.4 /Type /Pages ${'<< /Type /Page >> '.repeat(pages)}${more}`)
  assert.equal(fileTokens('application/pdf', pdf(1)), page)
  assert.equal(fileTokens('application/pdf', pdf(7)), 7 * page)
  const hidden = deflateSync(Buffer.from('<< /Type /Page >>'.repeat(500))).toString('latin1')
  for (const more of [`/ObjStm ${hidden}`, '<< /Type /P#61ge >>', '/Encrypt', ' '.repeat(1024 * 1024)]) {
    assert.equal(fileTokens('application/pdf', pdf(1, more)), 1000 * page)
  }
  assert.equal(fileTokens('application/pdf', pdf(1), 'gemini-2.5-pro'), 258)
})

function wav(seconds: number, rate = 16_000): Buffer {
  const bytes = Buffer.alloc(44 + seconds * rate * 2)
  bytes.write('RIFF0000WAVEfmt ', 0, 'latin1')
  bytes.writeUInt16LE(1, 20)
  bytes.writeUInt16LE(1, 22)
  bytes.writeUInt32LE(rate, 24)
  bytes.writeUInt32LE(rate * 2, 28)
  bytes.writeUInt16LE(2, 32)
  bytes.writeUInt16LE(16, 34)
  return bytes
}

test('sound counts by its seconds, a header that claims more bytes a second than it plays included', () => {
  const audio = (bytes: Buffer, format: string, model: string) => {
    const bound = ofContent([{ type: 'input_audio', input_audio: { data: bytes.toString('base64'), format } }], model)
    assert.ok(bound.hasAudio)
    return bound.otherTokens - ofContent([{ type: 'text', text: '' }], model).otherTokens
  }
  assert.ok(audio(wav(10), 'wav', 'gemini-2.5-pro') >= 320 && audio(wav(10), 'wav', 'gemini-2.5-pro') <= 360)
  assert.ok(audio(wav(10), 'wav', 'gpt-4o-audio-preview') >= 100)
  const lying = wav(10)
  lying.writeUInt32LE(1_000_000, 28)
  assert.ok(audio(lying, 'wav', 'gemini-2.5-pro') >= 320)
  assert.ok(audio(Buffer.alloc(8_000), 'mp3', 'gemini-2.5-pro') >= 8 * 32)
  assert.ok(fileTokens('video/mp4', Buffer.alloc(10_000), 'gemini-2.5-pro') >= 263)
})

test('what is counted takes time that grows with its size alone', () => {
  const hostile = ['a', ' ', '"', '\\', '{', '\u1361', 'é', '/Page', 'data:', ';base64'].map((piece) =>
    piece.repeat(200_000 / piece.length),
  )
  for (const text of hostile) {
    assert.ok(ofContent(text).tokens > 0)
    assert.ok(
      ofContent([
        { type: 'file', file: { file_data: `data:application/pdf;base64,${Buffer.from(text).toString('base64')}` } },
      ]).tokens > 0,
    )
    ofContent([{ type: 'image_url', image_url: { url: `data:image/jpeg;base64,${text}` } }])
  }
})
