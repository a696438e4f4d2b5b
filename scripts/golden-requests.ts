/**
 * What a host of the OpenAI dialect is sent for the standard requests of clients, in `test/contract/golden/fixtures/`:
 * `requests.json` has the requests, `HOST.json` the bodies or refusals.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GatewayError } from '../src/domain/errors.ts'
import { parseChatRequest } from '../src/protocols/openai-chat/client/request.ts'
import type { UpstreamProtocol } from '../src/protocols/protocol.ts'
import { ROOT } from './source-files.ts'

export interface Sent {
  readonly body: unknown
  readonly warnings?: readonly string[]
}
export interface Refused {
  /** The parameter that the error names. */
  readonly refused: string
  readonly code: string
}
export interface Golden {
  readonly severalChoices: boolean
  /** By the name of the request. */
  readonly requests: Readonly<Record<string, Sent | Refused>>
}

export const GOLDEN_FOLDER = join(ROOT, 'test', 'contract', 'golden', 'fixtures')
const TARGET = { model: 'theirs', maxOutputTokens: undefined }

export function readGolden<T>(file: string): T {
  return JSON.parse(readFileSync(join(GOLDEN_FOLDER, file), 'utf8')) as T
}

/** Requests of clients, by name. */
export function standardRequests(): Readonly<Record<string, unknown>> {
  return readGolden('requests.json')
}

export function sentBy(protocol: UpstreamProtocol, request: unknown): Sent | Refused {
  try {
    const { path, body, warnings } = protocol.renderRequest(parseChatRequest(request), TARGET)
    assert.match(path, /\/chat\/completions$/)
    return warnings.length === 0 ? { body: JSON.parse(body) } : { body: JSON.parse(body), warnings }
  } catch (error) {
    if (!(error instanceof GatewayError) || error.param === undefined) throw error
    assert.equal(error.status, 422)
    return { refused: error.param, code: error.code }
  }
}

/** Writes the file of a host as its codec is now, one request a line. */
export function writeGolden(id: string, protocol: UpstreamProtocol): void {
  const lines = Object.entries(standardRequests()).map(
    ([name, request]) => `    ${JSON.stringify(name)}: ${JSON.stringify(sentBy(protocol, request))}`,
  )
  const text = `{\n  "severalChoices": ${protocol.severalChoices},\n  "requests": {\n${lines.join(',\n')}\n  }\n}\n`
  writeFileSync(join(GOLDEN_FOLDER, `${id}.json`), text)
}
