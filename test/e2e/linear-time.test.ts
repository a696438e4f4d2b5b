/**
 * What models, repositories, providers and clients feed is read in time linear in its size: each entry point is given the
 * same hostile texts, of which those that are twice as long may take at most two and a half times as long. Runs on one database.
 * Runs in a process of its own.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import ReactMarkdown from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { growingBlocks } from '../../dashboard/src/lib/growing-markdown.ts'
import { lineDiff } from '../../dashboard/src/lib/line-diff.ts'
import { isSimpleMarkdown } from '../../dashboard/src/lib/markdown-limits.ts'
import { parseUnifiedDiff, sideBySide } from '../../dashboard/src/lib/unified-diff.ts'
import { safeLink, visibleText } from '../../dashboard/src/lib/visible-text.ts'
import { readEvents } from '../../packages/client/src/events.ts'
import { textFormat } from '../../src/config/validate.ts'
import { interpolate, readYaml } from '../../src/config/yaml-source.ts'
import { parseTags, readAttributionHeaders } from '../../src/domain/attribution.ts'
import { promptContent } from '../../src/domain/bounds/reservation.ts'
import type { ChatMessage } from '../../src/domain/chat.ts'
import { GatewayError, renderErrorBody } from '../../src/domain/errors.ts'
import { replaceInJson, replaceTexts } from '../../src/domain/guardrails/body-texts.ts'
import { compileMatchers, createMasker, maskText } from '../../src/domain/guardrails/matcher.ts'
import { PII_TYPES } from '../../src/domain/guardrails/rule.ts'
import { checkJsonBytes, parseCheckedBody, parseJsonBody } from '../../src/domain/json-body.ts'
import { eventsAfter, numberedEvents } from '../../src/domain/kept-events.ts'
import { parseNanoUsd } from '../../src/domain/money.ts'
import { readSecret } from '../../src/features/keys/authenticator.ts'
import { applyPatch, parseFilter } from '../../src/features/members/scim/resource.ts'
import { parseUserCode } from '../../src/features/oauth/device-codes.ts'
import { parseScopes } from '../../src/features/oauth/scopes.ts'
import { readSessionCookie } from '../../src/features/sessions/sessions.ts'
import { invitationToken, localPath as pathAfterSignIn } from '../../src/features/sign-in/local-path.ts'
import { readEmail, readName } from '../../src/features/sign-in/provider.ts'
import { parseDimensions } from '../../src/features/usage/dimensions.ts'
import { warningsText } from '../../src/gateway/deliver.ts'
import { promptPrefixOf } from '../../src/gateway/routing/affinity.ts'
import { redactProviderMessage } from '../../src/gateway/upstream/failure.ts'
import { readPageRequest } from '../../src/http/page.ts'
import { readNextCookie } from '../../src/http/pages/sign-in-routes.ts'
import { parseTime } from '../../src/http/period.ts'
import { acceptedFormat, parseIdempotencyKey, parseLastEventId } from '../../src/http/request-headers.ts'
import { addressGroup, parseAddressRange, readTarget } from '../../src/lib/ip-address.ts'
import { canonicalJson } from '../../src/lib/json.ts'
import { harmlessText } from '../../src/lib/table.ts'
import { didYouMean, escapeHtml, slugOf } from '../../src/lib/text.ts'
import { parseDurationMs, parseIsoTime, parseRetryAfter } from '../../src/lib/time.ts'
import { parseBaggage, parseTraceparent } from '../../src/lib/trace-context.ts'
import { anthropicMessages } from '../../src/protocols/anthropic-messages/index.ts'
import { bedrockConverse } from '../../src/protocols/bedrock-converse/index.ts'
import { readDataUrl } from '../../src/protocols/conversation.ts'
import { createAwsEventStreamDecoder, createSseDecoder } from '../../src/protocols/framing.ts'
import { gemini } from '../../src/protocols/gemini/index.ts'
import { createPartialArguments } from '../../src/protocols/gemini/response.ts'
import { decodeContext } from '../../src/protocols/opaque-context.ts'
import { parseChatRequest } from '../../src/protocols/openai-chat/client/request.ts'
import { openaiChat } from '../../src/protocols/openai-chat/index.ts'
import type { Frame, UpstreamProtocol } from '../../src/protocols/protocol.ts'
import { readRoutingHeader } from '../../src/protocols/routing-fields.ts'
import { exampleOf } from '../../src/providers/simulator/answer.ts'
import { countTokens, played, tokensOf as simulatorTokens } from '../../src/providers/simulator/request.ts'
import { isRepositoryName } from '../../src/runner/git/address.ts'
import { isBranchName } from '../../src/runner/git/checkout.ts'
import { plainText as plainGitText, reasonOf, withoutSecrets } from '../../src/runner/git/error.ts'
import { credentialFor } from '../../src/runner/git/settings.ts'
import { parseAnswer } from '../../src/runner/loop/calls.ts'
import {
  compactedMessages,
  fitMessages,
  selectCut,
  summaryOf,
  summaryRequestOf,
  windowBudget,
  withoutOldOutputs,
} from '../../src/runner/loop/compaction.ts'
import { toolNamed } from '../../src/runner/loop/prompt.ts'
import { occurrencesOf, replaceExact } from '../../src/runner/loop/replacement.ts'
import { repairConversation } from '../../src/runner/loop/run-loop.ts'
import { localPath, parseArguments } from '../../src/runner/loop/tool.ts'
import { fenced, numberedLines, tidy } from '../../src/runner/plain-text.ts'
import type { AgentMessage } from '../../src/runner/ports.ts'
import { captureOutput } from '../../src/runner/sandbox/confined.ts'
import { linearityFault, repeated } from '../support/linearity.ts'

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
  'limits of a JSON body': (text) => checkJsonBytes(Buffer.from(text)),
  'checked JSON body': (text) => parseCheckedBody(Buffer.from(JSON.stringify({ [text]: text }))),
  'JSON in one spelling': (text) =>
    canonicalJson({ [text]: [...partOf(text)].map((character) => ({ [character]: character })) }),
  cookies: (text) => [readSessionCookie(text), readNextCookie(text)],
  'Last-Event-ID': parseLastEventId,
  'Idempotency-Key': parseIdempotencyKey,
  'cursor of a list': (cursor) => readPageRequest({ cursor }, { key: Buffer.alloc(32), account: 'a', list: 'b' }),
  'time in a query': (text) => parseTime('from', text),
  amount: (text) => [parseNanoUsd(`1.${text}`), parseNanoUsd(text)],
  'page after sign-in': (text) => [pathAfterSignIn(text), pathAfterSignIn(`/${text}`), invitationToken(text)],
  'claims of an identity': (text) => [readEmail(`${text}@a.test`), readName(text)],
  'scopes of a token': parseScopes,
  'events of a kept stream': (text) => [numberedEvents(text, 1).length, eventsAfter(`id: 1\n${text}`, 7)],
  'names of warnings': (text) => warningsText([text, text]),
  'prefix of a prompt': (text) =>
    promptPrefixOf({ accountId: 'a', request: { model: text, messages: [...prefixOf(text)] } }),
  'headers of images': (text) =>
    HEADS.map((head) =>
      promptContent(parseChatRequest(fileOf('image/png', Buffer.concat([head, Buffer.from(text, 'latin1')])))),
    ),
  'headers of media': (text) => DATA_TYPES.map((type) => promptContent(parseChatRequest(fileOf(type, text)))),
  'references of a configuration': (text) => interpolate(text, () => undefined),
  'addresses of a configuration': (text) =>
    CONFIGURED.map((format) => [text, `http://a${text}`].map(textFormat(format).parse)),
  configuration: (text) => readYaml({ ...CONFIGURATION, text: partOf(text) }),
  'value of a configuration': (text) => readYaml({ ...CONFIGURATION, text: `a: [${partOf(text)}]` }),
  'path of a tool': (text) => localPath(text),
  'name of a tool': toolNamed,
  'name of a repository': (text) => [isRepositoryName(text), isRepositoryName(`a/${text}`)],
  'credential of a repository': (text) => credentialFor([RULE], { accountId: 'a', repository: text }),
  'secrets in output of git': (text) => withoutSecrets(text, ['aaaaaaaaaaaa', text.slice(0, 100)]),
  'output of a command': (text) => {
    const output = captureOutput(1000)
    for (let at = 0; at < text.length; at += 7) output.push(Buffer.from(text.slice(at, at + 7)))
    return output.text()
  },
  'summary of a conversation': (text) => {
    const [window, conversation] = [windowBudget(8_000, 1_000, 500), conversationOf(text)]
    const cut = selectCut(conversation, window)
    summaryRequestOf(cut, window)
    return compactedMessages(summaryOf(cut, text, window), cut, window)
  },
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
  guardrails: (text) => maskText(MATCHERS, text, never),
  'guardrails of an answer in pieces': (text) => {
    const masker = createMasker(MATCHERS, never)
    return [...(partOf(text).match(/.{1,64}/gs) ?? []).map(masker.push), masker.flush()]
  },
  'texts of a body': (text) => [
    replaceTexts({ messages: [{ content: text }], [text]: [...partOf(text)] }, (each) => `${each}x`),
    replaceInJson(text, never),
  ],
  'message of a provider': redactProviderMessage,
  'tags of a request': (text) =>
    readAttributionHeaders({ 'x-turnpike-session': text, 'thread-id': text }) && parseTags(text),
  'header of routing': (text) => [text, JSON.stringify({ [text]: 1 })].map(readRoutingHeader),
  'headers of traces': (text) => [
    parseTraceparent(text, undefined),
    parseTraceparent(`01-${'a'.repeat(32)}-${'b'.repeat(16)}-01-${text}`, text),
    parseBaggage(text),
  ],
  'code of a device': parseUserCode,
  'dimensions of a report': parseDimensions,
  'range of addresses': (text) => [parseAddressRange(text), parseAddressRange(`10.0.0.0/${text}`)],
  'context of a provider': (text) => [
    decodeContext(`turnpike_context_1_${text}`),
    decodeContext(`turnpike_context_1_${Buffer.from(text).toString('base64url')}`),
  ],
  'name of a branch': isBranchName,
  'filter of SCIM': parseFilter,
  'path of SCIM': (path) => applyPatch({ emails: [] }, { Operations: [{ op: 'add', path, value: 'a' }] }),
  'value of a filter of SCIM': (text) =>
    applyPatch({ emails: [] }, { Operations: [{ op: 'add', path: `emails[type eq ${text}]`, value: 'a' }] }),
  'diff in the dashboard': (text) => {
    const head = 'diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,9999 +1,9999 @@\n'
    const { files } = parseUnifiedDiff(head + text)
    return [parseUnifiedDiff(text), files.map(({ hunks }) => hunks.map(({ lines }) => sideBySide(lines)))]
  },
  'comparison in the dashboard': (text) => lineDiff(text, `${text.slice(1)}x`),
  'Markdown in the dashboard, as it grows': (text) => [growingBlocks(text), isSimpleMarkdown(text)],
  'text in the dashboard': (text) => [visibleText(text), safeLink(text), safeLink(`https://${text}`)],
  'events for the client': async (text) => {
    const read = []
    for await (const event of readEvents(new Response(`data: ${text}\n\n`).body ?? new ReadableStream()))
      read.push(event)
    return read
  },
  'partial arguments with hostile paths': (text) =>
    createPartialArguments().push([{ jsonPath: text, stringValue: 'a' }]),
}

const never = (): void => undefined
const MATCHERS = await compileMatchers([
  { guardrail: 'g', rule: { kind: 'secrets', action: 'mask' } },
  { guardrail: 'g', rule: { kind: 'pii', action: 'mask', types: PII_TYPES } },
  {
    guardrail: 'g',
    rule: { kind: 'regex', action: 'mask', pattern: '(a+)+b|(\\w|\\d)*;', words: ['a', 'aab', 'Ab 0'] },
  },
])

/** Readers that take so long for each character that their growth shows in 32 KiB. */
const SLOW: ReadonlySet<string> = new Set([
  'replacement of a long text',
  'replacement with CRLF',
  'sequence search',
  'JSON in one spelling',
  'names of warnings',
  'configuration',
  'value of a configuration',
  'guardrails',
  'guardrails of an answer in pieces',
  'summary of a conversation',
  'conversation',
])

/** For readers that take long for each character: their growth shows in less. */
const partOf = (text: string): string => text.slice(0, text.length / 8)

const CONFIGURATION = { fileName: 'a', variable: () => undefined }
const RULE = { accounts: ['a'], repositories: ['a*a*a*b', '*a/*'], token: 't' }
const CONFIGURED = [
  'http-url',
  'host',
  'git-url',
  'domain',
  'origin',
  'cidr',
  'postgres-url',
  'redis-url',
  'date',
  'moment',
]
const HEADS = ['ffd8', 'ffd8ffe00000', '89504e470d0a1a0a', '474946383961', '52494646000000005745425056503820'].map(
  (hex) => Buffer.from(hex, 'hex'),
)
const DATA_TYPES = ['application/pdf', 'audio/wav', 'video/mp4', 'text/plain', 'image/jpeg']

function fileOf(type: string, content: string | Buffer): object {
  const data = Buffer.from(content).toString('base64')
  return chatOf({ type: 'file', file: { filename: 'a', file_data: `data:${type};base64,${data}` } })
}

function* prefixOf(text: string): Generator<ChatMessage> {
  for (const piece of text.match(/.{1,64}/gs) ?? []) yield { role: 'system', content: piece }
  yield { role: 'user', content: (text.match(/.{1,8}/gs) ?? []).map((piece) => ({ type: 'text', text: piece })) }
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

/** An end that nothing expects, so that what has matched until there is given up. */
const UNEXPECTED = '\u0001x'

async function faultsOf(read: (text: string) => unknown, ends: readonly string[], smaller?: number): Promise<string[]> {
  const faults: string[] = []
  for (const text of UNITS.flatMap((unit) => ends.map((end) => ({ unit, end })))) {
    const fault = await linearityFault((size) => {
      const whole = repeated(text.unit, size) + text.end
      return () => read(whole)
    }, smaller)
    if (fault !== undefined) faults.push(`${JSON.stringify(text.unit + text.end)}: ${fault}`)
  }
  return faults
}

for (const [name, read] of Object.entries(READERS)) {
  test(`time is linear in the text that is read: ${name}`, async () => {
    if (SLOW.has(name)) return assert.deepEqual(await faultsOf(read, ['', UNEXPECTED]), [])
    assert.deepEqual(await faultsOf(read, ['']), [])
    // What is quadratic with a small constant shows in 256 KiB only.
    assert.deepEqual(await faultsOf(read, [UNEXPECTED], 128 * 1024), [])
  })
}

/** What nests and what pairs in Markdown, beside the other units. */
const MARKDOWN: readonly string[] = [
  ...['> ', '- ', '1. ', '2. a\n', '- a\n', '  - a\n', '> a\n', '> - a\n', '> **a\n', '# ', '===\n', 'a\n---\n'],
  ...['**a', '**a**a\r', '*a_', '__a', '~~', '![', '[a](', '[a][', '](', '[^a]', '[^a]: b\n', '[a]: <', '`a'],
  ...['| a |\n', '|-|\n', 'a@b.c ', 'www.', 'http://a', '&amp;', '<!--', 'a  \n', '- [ ] a\n', '```\n*a_\n\n'],
]
/** Rendering takes long for each character. */
const MARKDOWN_SIZE = 4 * 1024

/** As `dashboard/src/ui/markdown-body.tsx` renders it, whose syntax Node.js does not read. */
function renderMarkdown(text: string): unknown {
  if (!isSimpleMarkdown(text)) return text
  return renderToStaticMarkup(createElement(ReactMarkdown, { remarkPlugins: [remarkGfm], children: text }))
}

test('time is linear in the Markdown that is rendered, and no depth overflows the stack', async () => {
  const faults: string[] = []
  for (const unit of [...UNITS, ...MARKDOWN]) {
    const fault = await linearityFault((size) => {
      const text = repeated(unit, size) + UNEXPECTED
      return () => renderMarkdown(text)
    }, MARKDOWN_SIZE)
    if (fault !== undefined) faults.push(`${JSON.stringify(unit)}: ${fault}`)
  }
  assert.deepEqual(faults, [])
})

const list = <T>(size: number, make: (at: number) => T): T[] => Array.from({ length: size / 16 }, (_, at) => make(at))

/** Both sides have two of three lines, between lines of their own. */
const linesOf = (size: number, side: string, ends: string): string =>
  Array.from({ length: size }, (_, at) => (at % 3 === 0 ? side : `${at}${ends}`)).join('\n')

test('time is linear in the lines that are compared', async () => {
  const faults: string[] = []
  for (const ends of ['', '\r', '\u0301', '文']) {
    const fault = await linearityFault((size) => {
      const [before, after] = [linesOf(size, 'a', ends), linesOf(size, 'b', ends)]
      return () => lineDiff(before, after)
    })
    if (fault !== undefined) faults.push(`${JSON.stringify(ends)}: ${fault}`)
  }
  assert.deepEqual(faults, [])
})

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

test('time is linear in the schemas that are read', async () => {
  const faults: string[] = []
  for (const [name, make] of Object.entries(SCHEMAS)) {
    const fault = await linearityFault((size) => {
      const schema = make(size)
      return () => exampleOf(schema)
    })
    if (fault !== undefined) faults.push(`${name}: ${fault}`)
  }
  assert.deepEqual(faults, [])
})

test('the measure detects code that is not linear', async () => {
  const milliseconds = (): number => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  }
  const quadratic = (size: number) => () => {
    const until = milliseconds() + 6 * (size / 2 ** 14) ** 2 // as long on every machine
    while (milliseconds() < until);
  }
  assert.match((await linearityFault(quadratic)) ?? '', /ms$/)
})
