/** Requests that were really sent, turned around into what an OpenAI client would have said, and rendered again. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openAiRequestOf, Untranslatable } from '../../../test/support/providers/anthropic-to-openai.ts'
import { loadRecordings, RECORDINGS_FOLDER } from '../../../test/support/providers/recordings.ts'
import { checkJsonBytes } from '../../domain/json-body.ts'
import { parseChatRequest } from '../openai-chat/client/request.ts'
import { anthropicMessages } from './index.ts'

const codec = anthropicMessages()

// biome-ignore lint/suspicious/noExplicitAny: a recording is any JSON
type Anything = any

/** What two requests that mean the same may say differently. */
function normalised(request: Anything): Anything {
  const { stream, system, messages, tools, output_format: outputFormat, ...rest } = request
  return JSON.parse(
    JSON.stringify({
      ...rest,
      output_config: rest.output_config ?? (outputFormat && { format: outputFormat }),
      stream: stream || undefined,
      system: typeof system === 'string' ? [{ type: 'text', text: system }] : system,
      messages: messages.map(({ role, content }: Anything) => ({ role, content: blocksOf(content) })),
      tools: tools?.map(({ description, ...tool }: Anything) => ({ ...tool, description: description || undefined })),
    }),
  )
}

function blocksOf(content: Anything): Anything {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return blocks.map(({ is_error: isError, ...block }: Anything) => ({
    ...block,
    content: block.type === 'tool_result' ? blocksOf(block.content) : block.content,
    is_error: isError || undefined,
  }))
}

/** A budget has no name of its own in an OpenAI request: that thinking is asked for is what can be kept. */
function withoutBudget({ thinking, ...request }: Anything): Anything {
  return { ...request, thinking: thinking && { type: thinking.type } }
}

/** Sent with an effort that this model does not know, to see the error: what we send instead is right. */
const MENDED_ON_PURPOSE: readonly string[] = ['anthropic/error-400-2.json']

const recordings = loadRecordings('anthropic-messages') ?? []
const sent = recordings
  .map(({ file }) => ({ file, path: join(RECORDINGS_FOLDER, file.replace(/\.(json|sse)$/, '.request.json')) }))
  .filter(({ path }) => existsSync(path))
const notRun: string[] = []

for (const { file, path } of sent) {
  const native: Anything = JSON.parse(readFileSync(path, 'utf8'))
  let asked: Anything
  try {
    asked = openAiRequestOf(native)
  } catch (error) {
    if (!(error instanceof Untranslatable)) throw error
    notRun.push(`${file}: ${error.message}`)
    continue
  }
  test(`sent: ${file} is what the same request of an OpenAI client is rendered as`, () => {
    checkJsonBytes(Buffer.from(JSON.stringify(asked)))
    const request = parseChatRequest(asked)
    const { body } = codec.renderRequest(request, { model: request.model, maxOutputTokens: undefined })
    const rendered = withoutBudget(normalised(JSON.parse(body)))
    if (MENDED_ON_PURPOSE.includes(file)) {
      assert.deepEqual(rendered.output_config, { effort: 'max' })
      return
    }
    assert.deepEqual(rendered, withoutBudget(normalised(native)))
  })
}

test('whatever request is not compared is named with its reason', () => {
  for (const line of notRun) assert.match(line, /^anthropic\/[\w-]+\.(json|sse): .+/)
})

console.log(`recorded requests: ${sent.length - notRun.length} of ${sent.length} run (anthropic-messages)`)
for (const line of notRun) console.log(`recorded request not run: ${line}`)
