/** Secrets that must get out nowhere, and everything that was said and kept, to look for them in. */
import assert from 'node:assert/strict'
import { type Answer, type Call, send } from '../client.ts'
import type { Gateway } from '../gateway.ts'

interface Needle {
  readonly secret: string
  readonly what: string
  readonly text: string
}

/** What would be bad to find: the secret, the part that nobody could guess, its end, and the ways to write it. */
function needlesOf(name: string, secret: string): Needle[] {
  const bare = secret.replace(/^(tp[a-z]?_|sk-ant-|sk-|AIza)/, '')
  const isToken = /^[\w-]{43}$/.test(secret) // may have been decoded before it was kept
  const ways: Readonly<Record<string, string>> = {
    whole: secret,
    'without prefix': bare,
    'last 12': secret.slice(-12),
    ...(secret.startsWith('eyJ') ? {} : { 'first 16': bare.slice(0, 16) }), // all tokens of a kind begin alike
    'for an address': encodeURIComponent(secret),
    hex: Buffer.from(secret).toString('hex'),
    ...Object.fromEntries([0, 1, 2].map((offset) => [`base64 at ${offset}`, base64Within(secret, offset)])),
    ...(isToken && {
      bytes: Buffer.from(secret, 'base64url').toString('latin1'),
      'hex of bytes': Buffer.from(secret, 'base64url').toString('hex'),
    }),
  }
  return Object.entries(ways).map(([way, text]) => ({ secret, what: `${name} (${way})`, text }))
}

/** The characters that the secret has in the base64 of anything in which it stands after `offset` bytes, modulo three. */
function base64Within(secret: string, offset: number): string {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
  const end = Math.floor(bytes.length / 3) * 4
  return bytes.toString('base64').slice(offset === 0 ? 0 : offset + 1, end)
}

interface Heard {
  readonly where: string
  readonly text: string
  /** Secrets that are rightly here. */
  readonly shown: string[]
}

export interface Told extends Answer {
  /** Takes a secret out of the answer, whose one place it is. */
  readonly secret: (name: string, value: string | undefined) => string
  /** The body may quote what the request itself carried. */
  readonly mayRepeat: (sent: string) => void
}

export function createWatch() {
  const needles: Needle[] = []
  const heard: Heard[] = []
  const planted = new Map<string, string>()
  const plant = (name: string, secret: string): string => {
    assert.ok(secret.length >= 32, `${name} is no secret: '${secret}'`)
    if (!planted.has(secret)) needles.push(...needlesOf(name, secret))
    planted.set(secret, name)
    return secret
  }
  const hear = (where: string, text: string, shown: string[] = []): void => void heard.push({ where, text, shown })
  return {
    planted,
    plant,
    hear,
    heardCount: () => heard.length,
    /** Asks, and keeps the answer for the search. */
    async ask(gateway: Gateway, path: string, call: Call = {}): Promise<Told> {
      const shown: string[] = []
      const answer = await send(gateway, path, call)
      const repeated: string[] = []
      const where = `answer to ${call.method ?? ''} ${path}, ${answer.status}`
      hear(`headers of the ${where}`, JSON.stringify(answer.headers), shown)
      hear(`body of the ${where}`, answer.text, repeated)
      const secret = (name: string, value: string | undefined): string => {
        assert.ok(value !== undefined, `${name} is not in: ${answer.status} ${answer.text}`)
        shown.push(plant(name, value))
        repeated.push(value)
        return value
      }
      return { ...answer, secret, mayRepeat: (sent) => void repeated.push(sent) }
    },
    /** Where a secret is that should not be there. */
    search: (): string[] =>
      heard.flatMap(({ where, text, shown }) =>
        needles
          .filter((needle) => !shown.includes(needle.secret) && text.includes(needle.text))
          .map(({ what, text: found }) => {
            const at = text.indexOf(found)
            const around = text.slice(Math.max(0, at - 80), at + found.length + 20)
            return `${what} in ${where}: …${around.replaceAll(/[^ -~]/g, '.')}…`
          }),
      ),
  }
}
