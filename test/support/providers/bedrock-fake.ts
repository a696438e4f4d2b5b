/**
 * Refuses the Converse bodies that the real service refuses, for tests of conversations with tools and thinking. It
 * answers like a thinking model: signed thinking, then a call of the first tool, or text once `calls` have been made.
 */
import assert from 'node:assert/strict'

// biome-ignore lint/suspicious/noExplicitAny: a body is any JSON
type Anything = any

/** Throws with the service's complaint; says nothing of a body that it would take. */
export function judgeBody(body: Anything): void {
  const turns: Anything[] = body.messages
  assert.ok(turns.length > 0 && turns[0].role === 'user', 'A conversation must start with a user message.')
  turns.forEach((turn, place) => {
    assert.notEqual(turn.role, turns[place - 1]?.role, 'roles must alternate')
    assert.ok(turn.content.length > 0, 'The content field is empty.')
    for (const block of turn.content) judgeBlock(block, { turn, body })
    const asked = idsOf(turns[place - 1], 'toolUse')
    const told = idsOf(turn, 'toolResult')
    assert.deepEqual(
      [...told].sort(),
      [...asked].sort(),
      'The number of toolResult blocks does not match toolUse blocks.',
    )
    const lastResult = turn.content.findLastIndex((block: Anything) => block.toolResult)
    const firstOther = turn.content.findIndex((block: Anything) => !block.toolResult)
    if (lastResult >= 0 && firstOther >= 0) assert.ok(lastResult < firstOther, 'results come first')
  })
  assert.equal(idsOf(turns.at(-1), 'toolUse').length, 0, 'toolUse without toolResult')
  judgeThinking(body)
}

function judgeBlock(block: Anything, { turn, body }: { turn: Anything; body: Anything }): void {
  if ('text' in block) assert.notEqual(block.text.trim(), '', 'The text field in the ContentBlock object is blank.')
  if (block.toolUse ?? block.toolResult) assert.ok(body.toolConfig, 'The toolConfig field must be defined.')
  if (block.toolUse) {
    assert.match(block.toolUse.toolUseId, /^[a-zA-Z0-9_-]{1,64}$/)
    assert.equal(typeof block.toolUse.input, 'object')
  }
  if (!block.reasoningContent) return
  assert.equal(turn.role, 'assistant', 'User messages cannot contain reasoning content.')
  const { reasoningText, redactedContent } = block.reasoningContent
  if (redactedContent !== undefined) return
  assert.equal(reasoningText.signature, signatureOf(reasoningText.text), 'Invalid `signature` in `thinking` block')
}

/** With thinking on, every call of the running loop must stand behind the thinking that led to it. */
function judgeThinking({
  messages,
  additionalModelRequestFields: fields,
  inferenceConfig: settings,
  toolConfig,
}: Anything) {
  if (fields?.thinking?.type !== 'enabled') return
  const budget = fields.thinking.budget_tokens
  assert.ok(budget >= 1024, 'budget_tokens: Input should be greater than or equal to 1024')
  assert.ok(settings?.maxTokens === undefined || budget < settings.maxTokens, '`max_tokens` must be greater')
  assert.equal(settings?.temperature, undefined, '`temperature` may only be set to 1 when thinking is enabled')
  assert.ok(
    !toolConfig?.toolChoice?.any && !toolConfig?.toolChoice?.tool,
    'Thinking may not be enabled when tool_choice forces tool use.',
  )
  const isQuestion = (turn: Anything) => turn.role === 'user' && turn.content.some((block: Anything) => 'text' in block)
  const loop = messages.slice(messages.findLastIndex(isQuestion) + 1)
  for (const turn of loop) {
    if (turn.role !== 'assistant' || idsOf(turn, 'toolUse').length === 0) continue
    assert.ok(turn.content[0].reasoningContent, 'Expected `thinking` or `redacted_thinking`, but found `tool_use`.')
  }
}

function idsOf(turn: Anything, kind: string): string[] {
  return (turn?.content ?? []).flatMap((block: Anything) => block[kind]?.toolUseId ?? [])
}

function signatureOf(thinking: string): string {
  return `sig-${Buffer.from(thinking).toString('hex').slice(0, 24)}`
}

/** The events of an answer to an accepted body, one `{"<type>": {…}}` each. */
export function answerTo(body: Anything, calls: number): Anything[] {
  judgeBody(body)
  const made = body.messages.flatMap((turn: Anything) => idsOf(turn, 'toolUse')).length
  const thinks = body.additionalModelRequestFields?.thinking?.type === 'enabled'
  const thinking = `Step ${made + 1}: think.`
  const events: Anything[] = [{ messageStart: { role: 'assistant' } }]
  let index = 0
  if (thinks) {
    const delta = (reasoningContent: Anything) => ({
      contentBlockDelta: { contentBlockIndex: 0, delta: { reasoningContent } },
    })
    events.push(
      delta({ text: thinking.slice(0, 4) }),
      delta({ text: thinking.slice(4) }),
      delta({ signature: signatureOf(thinking) }),
    )
    events.push({ contentBlockStop: { contentBlockIndex: 0 } })
    index = 1
  }
  if (made < calls) {
    const { name } = body.toolConfig.tools[0].toolSpec
    events.push({
      contentBlockStart: { contentBlockIndex: index, start: { toolUse: { toolUseId: `tooluse_${made}`, name } } },
    })
    events.push({ contentBlockDelta: { contentBlockIndex: index, delta: { toolUse: { input: `{"step":${made}}` } } } })
  } else {
    events.push({ contentBlockDelta: { contentBlockIndex: index, delta: { text: 'Done.' } } })
  }
  events.push({ contentBlockStop: { contentBlockIndex: index } })
  events.push({ messageStop: { stopReason: made < calls ? 'tool_use' : 'end_turn' } })
  events.push({ metadata: { usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 } } })
  return events
}
