/** Reads server-sent events (HTML Living Standard, 9.2) from the body of an answer. */
export interface StreamEvent {
  readonly id?: string
  /** Absent for the plain kind, `message`. */
  readonly event?: string
  readonly data: string
}

/** Yields each event as it arrives; what follows the last blank line was cut off and is dropped. Cancels the body at the end. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      text += decoder.decode(value, { stream: true })
      const blocks = text.split(/(?:\r\n|\n|\r(?!$|\n)){2}/)
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const event = parseEvent(block)
        if (event !== undefined) yield event
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** Undefined: a comment, or an event without data. */
function parseEvent(block: string): StreamEvent | undefined {
  const fields = new Map<string, string>()
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, name = '', value = ''] = /^([^:]*):? ?([\s\S]*)$/.exec(line) ?? []
    const before = fields.get(name)
    fields.set(name, name === 'data' && before !== undefined ? `${before}\n${value}` : value)
  }
  const [data, event, id] = ['data', 'event', 'id'].map((name) => fields.get(name))
  if (data === undefined) return undefined
  return { data, ...(event === undefined ? {} : { event }), ...(id === undefined ? {} : { id }) }
}
