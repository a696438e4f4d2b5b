/**
 * Requests that were really sent to hosts of the OpenAI dialect: the client's request that means the same must be
 * rendered to the same body. Each field that may differ is named here with its reason, and so is each recording that is
 * not run.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { GatewayError } from '../../src/domain/errors.ts'
import { parseChatRequest } from '../../src/protocols/openai-chat/client/request.ts'
import { openaiChat } from '../../src/protocols/openai-chat/index.ts'
import type { RenderTarget } from '../../src/protocols/protocol.ts'
import { PROVIDERS } from '../../src/providers/index.ts'
import { clientRequestOf, type Difference, differences } from '../support/providers/openai-request-reader.ts'
import { RICH_PRICE } from '../support/providers/prices.ts'
import { skipRecordings } from '../support/providers/recordings.ts'
import { areRecordingsHere, RECORDINGS_FOLDER } from '../support/providers/recordings-folder.ts'

// biome-ignore lint/suspicious/noExplicitAny: a recording is any JSON
type Anything = any

interface Entry {
  readonly file: string
  readonly provider: string
  readonly protocol: string
  readonly request_file: string | null
}

const PLAIN = openaiChat()

function entries(): readonly Entry[] {
  if (!areRecordingsHere()) return skipRecordings('requests of openai-chat') ?? []
  const manifest = join(RECORDINGS_FOLDER, 'manifest.json')
  const all: readonly Entry[] = JSON.parse(readFileSync(manifest, 'utf8')).entries
  return all.filter(({ protocol }) => protocol === 'openai-chat')
}

const recorded = entries()
const withRequest = recorded.filter((entry) => entry.request_file !== null)

/** Requests that no client can send through us, with what is wrong with them. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'ollama/error-400.request.json': 'a bare string among the parts of its content',
}

interface Change extends Difference {
  readonly body: Anything
  readonly native: Anything
}

interface Allowed {
  readonly reason: string
  readonly covers: (change: Change) => boolean
}

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0)

function messageAt(body: Anything, path: string): Anything {
  return body.messages[Number(/^messages\[(\d+)\]/.exec(path)?.[1])] ?? {}
}

const ALLOWED: readonly Allowed[] = [
  {
    reason: 'null, an empty list and nothing say the same',
    covers: ({ recorded, rendered }) => isNothing(recorded) && isNothing(rendered),
  },
  {
    reason: 'what is the default anyway is not said',
    covers: ({ path, recorded, rendered }) =>
      rendered === undefined && ((path === 'stream' && recorded === false) || (path === 'n' && recorded === 1)),
  },
  {
    reason: 'a stream is always asked for its usage',
    covers: ({ path, recorded, body }) => path === 'stream_options' && recorded === undefined && body.stream === true,
  },
  {
    reason: 'both names of the length limit are known, and one is used',
    covers: ({ path, recorded, rendered, body, native }) =>
      (path === 'max_tokens' && recorded === body.max_completion_tokens) ||
      (path === 'max_completion_tokens' && rendered === native.max_tokens),
  },
  {
    reason: 'the older form of tools is sent in the newer one',
    covers: ({ path, native }) =>
      native.functions !== undefined && /^(functions|function_call|tools|tool_choice)\b/.test(path),
  },
  {
    reason: 'reasoning has two names in use, and the host is told one',
    covers: ({ path, recorded, rendered, body }) => {
      const { reasoning, reasoning_content: content } = messageAt(body, path)
      return /\.reasoning(_content)?$/.test(path) && rendered === undefined && recorded === (reasoning ?? content)
    },
  },
  {
    reason: 'thoughts in several pieces are one piece',
    covers: ({ path, body, native }) => {
      if (!/^messages\[\d+\]\.content\[0\]\.thinking\[\d+\]/.test(path)) return false
      const textOf = (source: Anything): string =>
        messageAt(source, path)
          .content[0].thinking.map((piece: Anything) => piece.text)
          .join('')
      return textOf(body) === textOf(native)
    },
  },
  {
    reason: 'in a loop of tool calls the host insists on a reasoning, and an empty one will do',
    covers: ({ path, recorded, rendered, body }) =>
      path.endsWith('.reasoning_content') &&
      recorded === undefined &&
      rendered === '' &&
      body.messages.some((message: Anything) => message.tool_calls !== undefined),
  },
  {
    reason: 'the host cannot think and be forced to call a tool at once',
    covers: ({ path, recorded, body }) =>
      path === 'thinking' && recorded === undefined && !['none', 'auto', undefined].includes(body.tool_choice),
  },
  {
    reason: 'the host knows no such effort, and takes the one that it makes of it itself',
    covers: ({ path, recorded, rendered }) =>
      path === 'reasoning_effort' && recorded === 'medium' && rendered === 'high',
  },
  {
    reason: 'the kind of a tool is always said',
    covers: ({ path, recorded, rendered }) =>
      /^tools\[\d+\]\.type$/.test(path) && recorded === undefined && rendered === 'function',
  },
  {
    reason: 'preferences of providers are the gateway’s to follow',
    covers: ({ path, rendered }) => /^provider\b/.test(path) && rendered === undefined,
  },
  {
    reason: 'an image’s bare address is sent in the form of all hosts',
    covers: ({ path, recorded, rendered }) =>
      path.endsWith('.image_url') && JSON.stringify({ url: recorded }) === JSON.stringify(rendered),
  },
]

/** Hosts on one's own machines get unknown fields as they are. */
const OWN_HOSTS: readonly string[] = ['ollama', 'vllm']

function targetOf(host: string, native: Anything): RenderTarget {
  return {
    model: native.model,
    maxOutputTokens: undefined,
    price: RICH_PRICE,
    forwardUnknown: OWN_HOSTS.includes(host) || PROVIDERS[host] === undefined,
  }
}

/** Requests whose prompt the host would change, at a cost that is not priced. */
const REFUSED: Readonly<Record<string, string>> = {
  'openrouter/stream-cached.request.json': 'transforms',
}

function assertRefused(host: string, native: Anything, param: string): void {
  const codec = PROVIDERS[host]?.protocol ?? PLAIN
  assert.throws(
    () => codec.renderRequest(parseChatRequest(clientRequestOf(native)), targetOf(host, native)),
    (error) => error instanceof GatewayError && error.status === 422 && error.param === param,
  )
  run++
}

const used = new Map<string, number>()
let run = 0

function compare(host: string, native: Anything): void {
  const codec = PROVIDERS[host]?.protocol ?? PLAIN
  const request = parseChatRequest(clientRequestOf(native))
  const body = JSON.parse(codec.renderRequest(request, targetOf(host, native)).body)
  const unexplained = differences(native, body).filter((difference) => {
    const rule = ALLOWED.find(({ covers }) => covers({ ...difference, body, native }))
    if (rule !== undefined) used.set(rule.reason, (used.get(rule.reason) ?? 0) + 1)
    return rule === undefined
  })
  assert.deepEqual(unexplained, [])
  run++
}

for (const { provider, request_file: file } of withRequest) {
  if (file === null) continue
  test(`recorded request: ${file} is rendered as it was sent`, () => {
    const native = JSON.parse(readFileSync(join(RECORDINGS_FOLDER, file), 'utf8'))
    if (file in NOT_RUN) assert.throws(() => parseChatRequest(clientRequestOf(native)), GatewayError)
    else if (REFUSED[file] !== undefined) assertRefused(provider, native, REFUSED[file])
    else compare(provider, native)
  })
}

test('every difference that is allowed has been seen, or it would not have to be', () => {
  if (run === 0) return
  assert.deepEqual(
    ALLOWED.map(({ reason }) => reason).filter((reason) => !used.has(reason)),
    [],
  )
})

test('the number of replayed requests is reported', () => {
  const notRun = Object.keys(NOT_RUN).filter((file) => withRequest.some((entry) => entry.request_file === file))
  if (recorded.length === 0) console.log('recorded requests: not found, 0 of N run')
  else console.log(`recorded requests: ${run} of ${withRequest.length} run (openai-chat)`)
  for (const file of notRun) console.log(`recorded requests: ${file} not run: ${NOT_RUN[file]}`)
  console.log(`recorded requests: ${recorded.length - withRequest.length} recordings have none`)
  for (const [reason, count] of used) console.log(`recorded requests: differ ${count} times: ${reason}`)
  assert.equal(run + notRun.length, withRequest.length)
})
