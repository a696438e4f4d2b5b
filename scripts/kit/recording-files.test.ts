import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { PROVIDERS } from '../../src/providers/index.ts'
import { awsMessage } from '../../test/support/providers/aws-events.ts'
import { type RecordedCase, renderRecording, writeRecordings } from './recording-files.ts'

function recording(provider: string, body: string | Buffer, type: string, status = 200): RecordedCase {
  const { protocol } = PROVIDERS[provider] ?? assert.fail()
  const call = { url: 'https://host.example/v1/chat', headers: { authorization: 'Bearer k' }, body: '{"a":"é"}' }
  const head = { status, headers: { 'content-type': type, 'x-request-id': 'r1', 'retry-after': '3' } }
  const recorded = { call, head, body: Buffer.from(body) }
  return { name: 'case', provider, protocol, model: 'm', stream: type.includes('event'), day: '2026-01-02', recorded }
}

const FORMS: readonly (readonly [recording: RecordedCase, file: string, format: string, tags: readonly string[]])[] = [
  [
    recording('groq', '{"choices":[{"finish_reason":"stop"}],"usage":{}}', 'application/json'),
    'groq/case.json',
    'openai-chat',
    ['fr:stop', 'usage'],
  ],
  [recording('groq', 'bad gateway', 'text/plain', 502), 'groq/case.txt', 'openai-chat', []],
  [
    recording('anthropic', 'event: message_delta\ndata: {"delta":{"stop_reason":"end_turn"}}\n\n', 'text/event-stream'),
    'anthropic/case.sse',
    'anthropic-messages',
    ['fr:end_turn', 'stream'],
  ],
  [
    recording(
      'google',
      'data: {"candidates":[{"finishReason":"STOP"}],"usageMetadata":{}}\r\n\r\n',
      'text/event-stream',
    ),
    'google/case.sse',
    'gemini-generatecontent',
    ['fr:STOP', 'stream', 'usage'],
  ],
  [
    recording('bedrock', awsMessage('messageStop', { stopReason: 'tool_use' }), 'application/vnd.amazon.eventstream'),
    'bedrock/case.bin',
    'bedrock-converse',
    ['fr:tool_use', 'stream'],
  ],
]
for (const [input, file, format, tags] of FORMS) {
  test(`an answer is stored unchanged: ${file}`, () => {
    const { entry, files, texts } = renderRecording(input)
    assert.equal(entry.file, file)
    assert.deepEqual([entry['protocol'], entry['tags']], [format, tags])
    assert.deepEqual(entry['headers'], {
      'content-type': input.recorded.head.headers['content-type'],
      'retry-after': '3',
    })
    assert.deepEqual(
      files.map(({ path, content }) => [path, content.toString('latin1')]),
      [
        [file, input.recorded.body.toString('latin1')],
        [file.replace(/\.\w+$/, '.request.json'), Buffer.from('{"a":"é"}').toString('latin1')],
      ],
    )
    assert.ok(!JSON.stringify(entry).includes('Bearer'))
    assert.ok(texts.some(({ text }) => text === 'é'))
    for (const tag of tags.filter((word) => word.startsWith('fr:'))) {
      assert.ok(
        texts.some(({ text }) => text === tag.slice(3)),
        'what is said in events can be searched',
      )
    }
  })
}

test('recording a case again removes its earlier files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-recording-files-'))
  const [json, text] = FORMS.map(([input]) => renderRecording(input))
  assert.ok(json !== undefined && text !== undefined)
  writeRecordings(folder, [json])
  writeRecordings(folder, [text])
  assert.deepEqual(readdirSync(join(folder, 'groq')).sort(), ['case.request.json', 'case.txt'])
  const { set, entries } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
  assert.equal(set, 'own')
  assert.deepEqual(
    entries.map(({ file }: { file: string }) => file),
    ['groq/case.txt'],
  )
  rmSync(folder, { recursive: true })
})
