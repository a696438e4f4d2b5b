/**
 * Reads the blocks of an earlier answer: text, calls, and its signed thinking as `provider_context`, which the provider
 * that signed it gets back. Thinking without a signature is what other providers call reasoning.
 */
import type { Json } from '../../../lib/json.ts'
import { decodeContext, isOpaqueContext } from '../../opaque-context.ts'
import { objectAt, stringAt } from '../../openai-chat/client/checks.ts'
import type { ContextEntry } from '../context.ts'
import { type Findings, noteDropped } from './findings.ts'

interface Draft {
  readonly texts: string[]
  readonly calls: object[]
  /** The entries in the order of the blocks. */
  readonly entries: ContextEntry[]
  /** The contexts of providers other than Anthropic, by protocol. */
  readonly contexts: Record<string, unknown>
  readonly reasoning: string[]
  readonly findings: Findings
}

/** @returns A message of a chat completion, which its own checks have not seen. */
export function readAssistant(blocks: readonly Json[], path: string, findings: Findings): object {
  const draft: Draft = { texts: [], calls: [], entries: [], contexts: {}, reasoning: [], findings }
  for (const [at, block] of blocks.entries()) readBlock(draft, block, `${path}[${at}]`)
  const { texts, calls, entries, contexts } = draft
  if (entries.some(({ type }) => type === 'thinking' || type === 'redacted_thinking')) {
    Object.assign(contexts, contextWith(entries))
  }
  const reasoning = draft.reasoning.join('')
  return {
    role: 'assistant',
    content: texts.length === 0 && calls.length > 0 ? null : texts.join(''),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(Object.keys(contexts).length > 0 && { provider_context: contexts }),
  }
}

function readBlock(draft: Draft, block: Json, path: string): void {
  const { texts, calls, entries } = draft
  const type = stringAt(block['type'], `${path}.type`)
  switch (type) {
    case 'thinking':
      readThinking(draft, block, path)
      break
    case 'redacted_thinking':
      readRedacted(draft, stringAt(block['data'], `${path}.data`))
      break
    case 'tool_use': {
      const id = stringAt(block['id'], `${path}.id`)
      const name = stringAt(block['name'], `${path}.name`)
      const input = JSON.stringify(objectAt(block['input'], `${path}.input`))
      calls.push({ id, type: 'function', function: { name, arguments: input } })
      entries.push({ type: 'tool_use', id })
      break
    }
    case 'text': {
      const text = stringAt(block['text'], `${path}.text`)
      texts.push(text)
      if (text !== '') entries.push({ type: 'text', length: text.length })
      break
    }
    default: // uses and results of tools that ran at the provider, and types that are added later
      noteDropped(draft.findings, `messages[].content[].${type}`, block)
  }
}

function readThinking({ entries, reasoning }: Draft, block: Json, path: string): void {
  const thinking = stringAt(block['thinking'], `${path}.thinking`)
  const signature = typeof block['signature'] === 'string' ? block['signature'] : ''
  reasoning.push(thinking)
  if (signature !== '') entries.push({ type: 'thinking', thinking, signature })
}

/** Anthropic's own, or the context of another provider in its form. */
function readRedacted({ entries, contexts }: Draft, data: string): void {
  if (isOpaqueContext(data)) Object.assign(contexts, decodeContext(data))
  else entries.push({ type: 'redacted_thinking', data })
}

function contextWith(entries: readonly ContextEntry[]): object {
  return {
    anthropic: {
      blocks: entries.map((entry, index) =>
        entry.type === 'text' ? { type: 'text', length: String(entry.length), index } : { ...entry, index },
      ),
    },
  }
}
