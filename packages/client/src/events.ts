/** Reads server-sent events (HTML Living Standard, 9.2) from the body of an answer. */
export interface StreamEvent {
  readonly id?: string
  /** Absent for the plain kind, `message`. */
  readonly event?: string
  readonly data: string
}

/** Yields each event as it arrives; an event without its blank line at the end is dropped. Cancels the body at the end. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent, void, undefined> {
  const reader = body.getReader()
  const readLines = createLineReader()
  let fields = new Map<string, string>()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      for (const line of readLines(value)) {
        if (line !== '') {
          addField(fields, line)
          continue
        }
        const event = eventOf(fields)
        fields = new Map()
        if (event !== undefined) yield event
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** Returns a function that splits bytes into lines. It searches each piece once, however long a line gets. */
function createLineReader(): (bytes: Uint8Array) => readonly string[] {
  const decoder = new TextDecoder()
  /** Of the line that is not complete. */
  let pieces: string[] = []
  let endsInReturn = false
  return (bytes) => {
    let text = decoder.decode(bytes, { stream: true })
    if (text === '') return []
    if (endsInReturn && text.startsWith('\n')) text = text.slice(1) // the second half of a CRLF
    endsInReturn = text.endsWith('\r')
    const [first = '', ...others] = text.split(/\r\n|\n|\r/)
    pieces.push(first)
    const rest = others.pop()
    if (rest === undefined) return []
    const lines = [pieces.join(''), ...others]
    pieces = [rest]
    return lines
  }
}

function addField(fields: Map<string, string>, line: string): void {
  const [, name = '', value = ''] = /^([^:]*):? ?([\s\S]*)$/.exec(line) ?? []
  const before = fields.get(name)
  fields.set(name, name === 'data' && before !== undefined ? `${before}\n${value}` : value)
}

/** Undefined: a comment, or an event without data. */
function eventOf(fields: ReadonlyMap<string, string>): StreamEvent | undefined {
  const [data, event, id] = ['data', 'event', 'id'].map((name) => fields.get(name))
  if (data === undefined) return undefined
  return { data, ...(event === undefined ? {} : { event }), ...(id === undefined ? {} : { id }) }
}
