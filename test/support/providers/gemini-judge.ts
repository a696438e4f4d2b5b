/**
 * As strict with a generateContent body as the API itself, for tests: unknown fields, the order of turns, calls and
 * results in pairs, and the signatures that it has given out.
 */
// biome-ignore lint/suspicious/noExplicitAny: a body is any JSON until it has been judged
type Anything = any

export interface Judge {
  /** Remembers the signatures of an answer that was given. */
  gave(parts: readonly Anything[]): void
  /** @returns what is wrong with the body; undefined when it would be answered. */
  judge(body: string): string | undefined
}

const SENTINEL = 'skip_thought_signature_validator'
const FIELDS = [
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'serviceTier',
  'safetySettings',
]
const PART_FIELDS = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse']

/**
 * What a model says in a loop of the tools `list` and `read`: two calls at once, one, one after some text, and the
 * answer.
 */
export const THINKING_LOOP: readonly (readonly Anything[])[] = [
  [
    { text: 'What is there?', thought: true },
    { functionCall: { name: 'list', args: { at: '/' } }, thoughtSignature: 'c2lnLWxpc3Q=' },
    { functionCall: { name: 'list', args: { at: '/etc' } } },
  ],
  [
    { text: 'Read it.', thought: true },
    { functionCall: { name: 'read', args: { at: '/etc/hosts' } }, thoughtSignature: 'c2lnLXJlYWQ=' },
  ],
  [
    { text: 'One more. ' },
    { functionCall: { name: 'read', args: { at: '/b' }, id: 'fc-own' }, thoughtSignature: 'c2lnLW1vcmU=' },
  ],
  [{ text: 'There ' }, { text: 'you are.', thoughtSignature: 'c2lnLWVuZA==' }],
]

/** @param demandsSignatures As models of the third generation do. */
export function createJudge({ demandsSignatures }: { readonly demandsSignatures: boolean }): Judge {
  const given = new Map<string, string>()
  return {
    gave(parts) {
      for (const part of parts) if (part.thoughtSignature) given.set(part.thoughtSignature, bearerOf(part))
    },
    judge(text) {
      const body = JSON.parse(text)
      const strange = Object.keys(body).find((field) => !FIELDS.includes(field))
      if (strange !== undefined) return `Unknown name "${strange}"`
      if (body.contents.length === 0) return 'contents is not specified'
      return (
        shapeFault(body.contents) ??
        orderFault(body.contents) ??
        corruptedFault(body.contents, given) ??
        (demandsSignatures ? missingFault(body.contents) : undefined)
      )
    },
  }
}

/** What a signature stands on; text may have been split from its signature by the stream, so only its kind counts. */
function bearerOf(part: Anything): string {
  return part.functionCall ? `call ${part.functionCall.name}` : part.thought ? 'thought' : 'text'
}

function shapeFault(contents: readonly Anything[]): string | undefined {
  for (const { role, parts } of contents) {
    if (role !== 'user' && role !== 'model') return 'Please use a valid role: user, model.'
    if (!Array.isArray(parts) || parts.length === 0) return 'must include at least one parts field'
    for (const part of parts) {
      const data = Object.keys(part).filter((field) => PART_FIELDS.includes(field))
      if (data.length !== 1) return 'required oneof field "data" must have one initialized field'
      if (part.functionCall && typeof part.functionCall.args !== 'object') return 'args must be a struct'
      if (part.functionResponse && typeof part.functionResponse.response !== 'object')
        return 'response must be a struct'
    }
  }
  return undefined
}

function orderFault(contents: readonly Anything[]): string | undefined {
  for (const [at, { role, parts }] of contents.entries()) {
    const calls = parts.filter((part: Anything) => part.functionCall)
    const results = parts.filter((part: Anything) => part.functionResponse)
    if (calls.length > 0 && (role !== 'model' || contents[at - 1]?.role !== 'user')) {
      return 'function call turn comes immediately after a user turn or after a function response turn'
    }
    const asked = (contents[at - 1]?.parts ?? []).filter((part: Anything) => part.functionCall)
    if (results.length > 0 && (role !== 'user' || asked.length !== results.length)) {
      return 'number of function response parts is equal to the number of function call parts'
    }
    if (results.some((part: Anything, place: number) => !answers(part, asked[place])))
      return 'function response does not match'
    const answered = (contents[at + 1]?.parts ?? []).some((part: Anything) => part.functionResponse)
    if (calls.length > 0 && at < contents.length - 1 && !answered) return 'function call without function response'
  }
  return undefined
}

function answers({ functionResponse: result }: Anything, { functionCall: call }: Anything): boolean {
  return result.name === call.name && result.id === call.id
}

function corruptedFault(contents: readonly Anything[], given: ReadonlyMap<string, string>): string | undefined {
  for (const { parts } of contents) {
    for (const part of parts) {
      const { thoughtSignature: signature } = part
      if (signature === undefined || signature === SENTINEL) continue
      if (given.get(signature) !== bearerOf(part)) return 'Corrupted thought signature.'
    }
  }
  return undefined
}

/** The current turn begins with the last thing the user said; each of its steps carries a signature on its first call. */
function missingFault(contents: readonly Anything[]): string | undefined {
  const isSaid = ({ role, parts }: Anything): boolean => role === 'user' && parts.some((part: Anything) => part.text)
  for (const { parts } of contents.slice(contents.findLastIndex(isSaid) + 1)) {
    const first = parts.find((part: Anything) => part.functionCall)
    if (first && !first.thoughtSignature)
      return `Function call \`${first.functionCall.name}\` is missing a thought_signature`
  }
  return undefined
}
