/**
 * What models, repositories, providers and clients feed is read in time linear in its size: each entry point is given the
 * same hostile texts, of which those that are twice as long may take at most two and a half times as long. Runs on one database.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { promptContent } from '../../src/domain/bounds/reservation.ts'
import { GatewayError, renderErrorBody } from '../../src/domain/errors.ts'
import { parseJsonBody } from '../../src/domain/json-body.ts'
import { readSecret } from '../../src/features/keys/authenticator.ts'
import { acceptedFormat } from '../../src/http/request-headers.ts'
import { readDataUrl } from '../../src/lib/data-url.ts'
import { escapeHtml, slugOf } from '../../src/lib/escape.ts'
import { addressGroup, readTarget } from '../../src/lib/ip-address.ts'
import { didYouMean } from '../../src/lib/nearest.ts'
import { occurrencesOf } from '../../src/lib/sequence-search.ts'
import { harmlessText } from '../../src/lib/table.ts'
import { parseDurationMs, parseIsoTime, parseRetryAfter } from '../../src/lib/time.ts'
import { anthropicMessages } from '../../src/protocols/anthropic-messages/index.ts'
import { createAwsEventStreamDecoder } from '../../src/protocols/aws-event-stream.ts'
import { bedrockConverse } from '../../src/protocols/bedrock-converse/index.ts'
import { createSseDecoder } from '../../src/protocols/framing.ts'
import { gemini } from '../../src/protocols/gemini/index.ts'
import { createPartialArguments } from '../../src/protocols/gemini/response.ts'
import { parseChatRequest } from '../../src/protocols/openai-chat/client/request.ts'
import { openaiChat } from '../../src/protocols/openai-chat/index.ts'
import type { Frame, UpstreamProtocol } from '../../src/protocols/protocol.ts'
import { countTokens, played, tokensOf as simulatorTokens } from '../../src/providers/simulator/request.ts'
import { exampleOf } from '../../src/providers/simulator/schema-example.ts'
import { plainText as plainGitText, reasonOf } from '../../src/runner/git/error.ts'
import { parseAnswer } from '../../src/runner/loop/answer.ts'
import { fitMessages, withoutOldOutputs } from '../../src/runner/loop/compaction.ts'
import { replaceExact } from '../../src/runner/loop/replacement.ts'
import { repairConversation } from '../../src/runner/loop/run-loop.ts'
import { parseArguments } from '../../src/runner/loop/tool.ts'
import { fenced, numberedLines, tidy } from '../../src/runner/plain-text.ts'
import type { AgentMessage } from '../../src/runner/ports.ts'

const SIZE = 16 * 1024
/** Of the smaller text. The machine of a test may be busy, a quadratic one takes seconds. */
const MOST_MS = 50 * 5
/** What is faster has no growth that can be measured. */
const LEAST_MS = 20
const MOST_GROWTH = 2.5
const ROUNDS = 3
const ATTEMPTS = 4

/** Repeated, they are what parsers and regular expressions stumble over: beginnings without ends, and ends that do not come. */
const UNITS: readonly string[] = [
  ...[
    'a',
    ' ',
    '\n',
    '\t',
    '\r',
    '\\',
    '"',
    '\\"',
    '`',
    '```\n',
    '{',
    '[',
    '}',
    '{"a":',
    '["',
    ',',
    ', ',
    ':',
    ';',
    '; ',
  ],
  ...[
    '/',
    '?',
    '#',
    '*',
    '-',
    'a-',
    'sk-',
    'sk-a.',
    'org-',
    'a_',
    'Ab',
    '0',
    '1.',
    '1\t',
    '=',
    '%',
    '&',
    '<',
    '<a',
    '</',
    '@',
  ],
  ...['\u001b', '\u001b[', '\u001b]', '\u001b[0', '\u0007', '\u200b', 'é', '\u0301', '😀', '\ud800', '文'],
  ...[
    'data: ',
    'data:\n',
    'event: a\n',
    '\r\n',
    '\n\r',
    'base64;',
    'http://a@',
    '::',
    '1:',
    '\\u00',
    '<tool-output>',
    '</tool-output',
  ],
  ...[
    'simulate: then say x\n',
    'simulate: and say x\n',
    'simulate: error 500 ',
    'input token count ',
    'Remote branch ',
  ],
  ...["repository '", 'projects/', 'arn:aws:', 'bearer ', 'api key: ', 'eyJ', 'tp_', '  1\t', ' \n', 'a\r\n', '$.a[0]'],
]

const repeated = (unit: string, size: number): string => unit.repeat(Math.ceil(size / unit.length))

type Run = () => unknown

/** Milliseconds of this thread's own time, the best of several. */
function timeOf(run: Run, rounds: number): number {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round += 1) {
    const before = process.threadCpuUsage()
    try {
      run()
    } catch {
      // That it cannot be read is an answer, too.
    }
    const { user, system } = process.threadCpuUsage(before)
    best = Math.min(best, (user + system) / 1_000)
  }
  return best
}

/** What is wrong with its times; undefined: nothing. */
function faultOf(make: (size: number) => Run): string | undefined {
  const [small, large] = [make(SIZE), make(2 * SIZE)]
  let told: string | undefined
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (timeOf(large, 1) < LEAST_MS) return undefined
    const once = timeOf(small, 1)
    if (once > 4 * MOST_MS) return `${once.toFixed(0)} ms`
    const [one, two] = [timeOf(small, ROUNDS), timeOf(large, ROUNDS)]
    if (one <= MOST_MS && (two < LEAST_MS || two <= MOST_GROWTH * one)) return undefined
    told = `${one.toFixed(1)} ms, twice as long ${two.toFixed(1)} ms`
  }
  return told
}

const failing = (protocol: UpstreamProtocol) => (text: string) => {
  protocol.parseError({ status: 400, headers: {}, body: text }, 0)
  protocol.parseError({ status: 400, headers: {}, body: JSON.stringify({ error: { message: text, code: text } }) }, 0)
  protocol.parseError({ status: 400, headers: {}, body: JSON.stringify({ message: text }) }, 0)
}

const decodedInPieces = (text: string) => {
  const bytes = Buffer.from(`data: ${text}\n\n`)
  const [decoder, frames] = [createSseDecoder(), [] as Frame[]]
  for (let at = 0; at < bytes.length; at += 100) decoder.push(bytes.subarray(at, at + 100), frames)
  decoder.end()
}

const replacedIn = (text: string, old: string) => replaceExact(text, { old, new: 'b', replacesAll: false })

const PUBLIC = { allowPrivateNetworks: false } as const

/** Each takes a text that somebody else wrote. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  'arguments of a tool': parseArguments,
  'replacement of a long text': (text) => replacedIn(text, `${text.slice(0, text.length / 2)}x`),
  'replacement of a line': (text) => replacedIn(text, 'an old line of words\n  1\tand numbers'),
  'replacement with CRLF': (text) => replacedIn(`${text}\r\n`, `${text.slice(0, text.length / 2)}\nx`),
  'sequence search': (text) => occurrencesOf(text, `${text.slice(0, text.length / 2)}x`),
  'plain text of tools': (text) => fenced(tidy(text, 16_384)),
  'plain text of git': plainGitText,
  'numbered lines': (text) => numberedLines(text.split('\n'), 1),
  'reason of git': (text) => reasonOf(text, 'repository_unavailable'),
  'failure of OpenAI’s protocol': failing(openaiChat()),
  'failure of Anthropic’s protocol': failing(anthropicMessages()),
  'failure of Gemini’s protocol': failing(gemini()),
  'failure of Bedrock’s protocol': failing(bedrockConverse()),
  'event stream': (text) => createSseDecoder().push(Buffer.from(text), []),
  'event stream in pieces': decodedInPieces,
  'AWS event stream': (text) => createAwsEventStreamDecoder({}).push(Buffer.from(text), []),
  'directives of the simulator': (text) => played([{ role: 'user', text }], true),
  'directives of many messages': (text) =>
    played(
      (text.match(/.{1,64}/gs) ?? []).map((piece) => ({ role: 'user', text: piece })),
      true,
    ),
  'tokens of the simulator': (text) => [simulatorTokens(text).length, countTokens(text)],
  'data URL': (text) => readDataUrl(`data:${text},${text}`)?.text(),
  'media of a prompt': (text) =>
    promptContent(parseChatRequest(chatOf({ type: 'image_url', image_url: { url: `data:${text},${text}` } }))),
  'message of a prompt': (text) => promptContent(parseChatRequest(chatOf({ type: 'text', text }))),
  'suggested name': (text) => didYouMean(text, ['gpt-5.4', 'claude-opus-4-6', text.slice(1)]),
  Accept: (text) =>
    acceptedFormat(text, [
      ['text/html', 'html'],
      ['text/csv', 'csv'],
    ]),
  Authorization: (text) => [readSecret(text), readSecret(`Bearer ${text}`), readSecret(`Basic ${text}`)],
  'Retry-After': (text) => parseRetryAfter(text, 0),
  time: parseIsoTime,
  duration: parseDurationMs,
  slug: slugOf,
  'CSV field': harmlessText,
  HTML: escapeHtml,
  address: addressGroup,
  'target of a webhook': (text) => [readTarget(text, PUBLIC), readTarget(`https://${text}/`, PUBLIC)],
  'JSON body': (text) => parseJsonBody(text),
  'error body': (text) => renderErrorBody(new GatewayError('not_found', text), 'req_1'),
  'answer of a model': (text) => parseAnswer(answerOf(text), new Set()),
  conversation: (text) => fitMessages(withoutOldOutputs(repairConversation(conversationOf(text))), 10),
  'partial arguments': (text) => {
    const pieces = createPartialArguments()
    for (const piece of text.match(/.{1,64}/gs) ?? []) {
      pieces.push([{ jsonPath: '$.a', stringValue: piece, willContinue: true }])
    }
    return pieces.text()
  },
  'partial arguments with hostile paths': (text) =>
    createPartialArguments().push([{ jsonPath: text, stringValue: 'a' }]),
}

function chatOf(part: object): object {
  return { model: 'a', messages: [{ role: 'user', content: [part] }] }
}

function answerOf(text: string): Parameters<typeof parseAnswer>[0] {
  const call = { id: text, type: 'function' as const, function: { name: text, arguments: text } }
  return {
    message: { role: 'assistant', content: text, tool_calls: [call, { ...call, id: 'a' }] },
    finishReason: 'stop',
    promptTokens: 1,
    completionTokens: 1,
    costNanoUsd: 0n,
    completionId: 'chatcmpl-1',
  }
}

/** Many short steps. */
function conversationOf(text: string): AgentMessage[] {
  return (text.match(/.{1,2048}/gs) ?? []).flatMap((piece, at): AgentMessage[] => [
    {
      role: 'assistant',
      content: piece,
      tool_calls: [
        { id: `${at}`, type: 'function', function: { name: 'shell', arguments: JSON.stringify({ piece }) } },
      ],
    },
    { role: 'tool', tool_call_id: `${at}`, content: piece },
  ])
}

for (const [name, read] of Object.entries(READERS)) {
  test(`time is linear in what is read: ${name}`, () => {
    const faults: string[] = []
    for (const unit of UNITS) {
      // With an end that nothing expects, so that what has matched until there is given up.
      for (const end of ['', '\u0001x']) {
        const fault = faultOf((size) => {
          const text = `${repeated(unit, size)}${end}`
          return () => read(text)
        })
        if (fault !== undefined) faults.push(`${JSON.stringify(unit + end)}: ${fault}`)
      }
    }
    assert.deepEqual(faults, [])
  })
}

const list = <T>(size: number, make: (at: number) => T): T[] => Array.from({ length: size / 16 }, (_, at) => make(at))

/** Schemas, by their size. */
const SCHEMAS: Readonly<Record<string, (size: number) => object>> = {
  properties: (size) => ({ properties: Object.fromEntries(list(size, (at) => [`p${at}`, { type: 'string' }])) }),
  required: (size) => ({ required: list(size, (at) => `p${at}`) }),
  allOf: (size) => ({ allOf: list(size, (at) => ({ required: [`p${at}`], properties: { [`p${at}`]: {} } })) }),
  anyOf: (size) => ({ items: { anyOf: list(size, () => ({ type: 'object' })) }, minItems: 1_000 }),
  constants: (size) => ({ items: { const: 'a'.repeat(size) }, minItems: 10_000 }),
  enum: (size) => ({ items: { enum: [list(size, () => 'a')] }, minItems: 10_000 }),
  references: (size) => ({
    $defs: { a: { $ref: `#/${'a/'.repeat(size / 2)}` } },
    items: { $ref: '#/$defs/a' },
    minItems: 10_000,
  }),
  recursion: (size) => ({ allOf: list(size, () => ({ $ref: '#' })) }),
  nesting: (size) => list(size, () => 0).reduce<object>((inner) => ({ items: inner, minItems: 2 }), { type: 'string' }),
  texts: (size) => ({
    required: list(size, (at) => `p${at}`),
    properties: Object.fromEntries(list(size, (at) => [`p${at}`, { type: 'string', minLength: 10_000 }])),
  }),
}

test('time is linear in what is read: schemas', () => {
  const faults: string[] = []
  for (const [name, make] of Object.entries(SCHEMAS)) {
    const fault = faultOf((size) => {
      const schema = make(size)
      return () => exampleOf(schema)
    })
    if (fault !== undefined) faults.push(`${name}: ${fault}`)
  }
  assert.deepEqual(faults, [])
})

test('the measure finds what is not linear', () => {
  const quadratic = (size: number) => {
    const text = ' '.repeat(size / 4)
    return () => /\s+x/.test(text)
  }
  assert.match(faultOf(quadratic) ?? '', /ms$/)
})
