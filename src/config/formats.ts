/** Checks of single values, by the `format` that the schema gives them. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { parseMicroUsd } from '../domain/money.ts'
import { trimEndOf } from '../lib/text.ts'
import { parseIsoTime } from '../lib/time.ts'

/** The description of allowed texts, for messages, and a function that normalizes one; undefined: it is not allowed. */
type TextFormat = readonly [allowed: string, parse: (text: string) => string | undefined]

const LONGEST_TEXT = 500
const SHORTEST_SECRET_BYTES = 32
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*\.?$/i

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/

const HTTP_URL = 'an http:// or https:// address without user name, query and fragment'

/** The formats of `Type.String`. */
const TEXT_FORMATS: Readonly<Record<string, TextFormat>> = {
  text: [
    `a text of at most ${LONGEST_TEXT} printable characters`,
    (text) => (text.length <= LONGEST_TEXT ? parseCredential(text) : undefined),
  ],
  credential: ['a text without line breaks and control characters', parseCredential],
  secret: [
    `a text of at least ${SHORTEST_SECRET_BYTES} bytes`,
    (text) => (Buffer.byteLength(text) >= SHORTEST_SECRET_BYTES ? text : undefined),
  ],
  host: ['a host name or an IP address', parseHost],
  email: [
    'an e-mail address such as turnpike@example.com',
    (text) => (/^[\w.+-]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)*$/i.test(text) ? text : undefined),
  ],
  name: ['lower-case letters, digits, dots, hyphens and underscores', (text) => (NAME.test(text) ? text : undefined)],
  'export-url': ['an address such as s3://bucket/prefix or file:///folder', parseExportUrl],
  domain: ['a domain such as example.com, or *', (text) => (text === '*' ? text : parseHost(text))],
  cidr: [
    'an IP address or a CIDR range such as 10.0.0.0/8',
    (text) => (ipaddr.isValidCIDR(text) || isIP(text) !== 0 ? text : undefined),
  ],
  date: ['a date such as 2026-12-31', parseDate],
  moment: [
    'a date such as 2026-12-31, or a time such as 2026-12-31T08:00:00Z',
    (text) => (parseIsoTime(text) === undefined ? undefined : text),
  ],
  'time-of-day': [
    'a time of day (UTC) such as 16:30',
    (text) => (/^([01]\d|2[0-3]):[0-5]\d$/.test(text) ? text : undefined),
  ],
  origin: ['* or an origin such as https://app.example.com', parseOrigin],
  'http-url': [HTTP_URL, parseHttpUrl],
  // Unchanged, with or without a slash at its end: tokens name the issuer so.
  issuer: [HTTP_URL, (text) => parseHttpUrl(text) && text],
  'ed25519-key': ['32 bytes in base64', (text) => (/^[\w+/]{43}=$/.test(text) ? text : undefined)],
  'git-url': ['an https:// (or http://, file://) address that contains {repository}', parseGitUrl],
  'postgres-url': [
    'an address such as postgres://user:password@host/database',
    (text) => parseUrl(text, ['postgres:', 'postgresql:']) && text,
  ],
  'redis-url': ['an address such as redis://host:6379', (text) => parseUrl(text, ['redis:', 'rediss:']) && text],
}

/** Throws for an unknown format. */
export function textFormat(name: string) {
  const format = TEXT_FORMATS[name]
  if (format === undefined) throw new Error(`Unknown text format ${name}.`)
  const [allowed, parse] = format
  return { allowed, parse }
}

/** Whether the number of dollars has at most 6 decimals. */
export function isUsd(value: number): boolean {
  return parseMicroUsd(value) !== undefined
}

function parseCredential(text: string): string | undefined {
  return /[\u0000-\u001f\u007f]/.test(text) ? undefined : text
}

function parseHost(text: string): string | undefined {
  const bare = /^\[.*\]$/.test(text) ? text.slice(1, -1) : text
  if (isIP(bare) !== 0) return bare
  return HOST_NAME.test(text) && !/^[\d.]+$/.test(text) ? text : undefined
}

function parseDate(text: string): string | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return undefined
  const date = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text) ? text : undefined
}

function parseOrigin(text: string): string | undefined {
  if (text === '*') return text
  const url = parseUrl(text, ['http:', 'https:'])
  return url !== undefined && url.href === `${url.origin}/` ? url.origin : undefined
}

function parseHttpUrl(text: string): string | undefined {
  const url = parseUrl(text, ['http:', 'https:'])
  if (url === undefined || url.username !== '' || url.password !== '') return undefined
  return /[?#]/.test(text) ? undefined : trimEndOf(text, '/')
}

function parseGitUrl(text: string): string | undefined {
  const url = parseUrl(text.replaceAll('{repository}', 'organisation/repository'), ['https:', 'http:', 'file:'])
  return url !== undefined && text.includes('{repository}') && url.password === '' ? text : undefined
}

/** Without a slash at its end. Names of buckets: lower-case letters, digits, dots and hyphens. */
function parseExportUrl(text: string): string | undefined {
  const url = parseUrl(text, ['s3:', 'file:'])
  if (url === undefined || /[?#]/.test(text)) return undefined
  const isRight = url.protocol === 's3:' ? /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/|$)/.test(text) : url.host === ''
  return isRight ? trimEndOf(text, '/') : undefined
}

function parseUrl(text: string, protocols: readonly string[]): URL | undefined {
  if (parseCredential(text) === undefined || /\s/.test(text)) return undefined
  const url = URL.parse(text)
  return url !== null && protocols.includes(url.protocol) && text.includes('://') ? url : undefined
}
