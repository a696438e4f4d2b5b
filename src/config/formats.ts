/** Checks of single values, by the `format` that the schema gives them. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { parseMicroUsd } from '../domain/money.ts'
import { parseIsoTime } from '../lib/time.ts'

interface TextFormat {
  /** Description of allowed texts, for messages. */
  readonly allowed: string
  /** Returns the text in its normal form; undefined when it is not allowed. */
  readonly parse: (text: string) => string | undefined
}

const LONGEST_TEXT = 500
const SHORTEST_SECRET_BYTES = 32
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*\.?$/i

/** The formats of `Type.String`. */
const TEXT_FORMATS: ReadonlyMap<string, TextFormat> = new Map([
  ['text', { allowed: `a text of at most ${LONGEST_TEXT} printable characters`, parse: parsePrintable }],
  ['credential', { allowed: 'a text without line breaks and control characters', parse: parseCredential }],
  ['secret', { allowed: `a text of at least ${SHORTEST_SECRET_BYTES} bytes`, parse: parseSecret }],
  ['host', { allowed: 'a host name or an IP address', parse: parseHost }],
  [
    'domain',
    { allowed: 'a domain such as example.com, or *', parse: (text) => (text === '*' ? text : parseHost(text)) },
  ],
  ['cidr', { allowed: 'an IP address or a CIDR range such as 10.0.0.0/8', parse: parseRange }],
  ['date', { allowed: 'a date such as 2026-12-31', parse: parseDate }],
  [
    'moment',
    {
      allowed: 'a date such as 2026-12-31, or a time such as 2026-12-31T08:00:00Z',
      parse: (text) => (parseIsoTime(text) === undefined ? undefined : text),
    },
  ],
  [
    'time-of-day',
    {
      allowed: 'a time of day (UTC) such as 16:30',
      parse: (text) => (/^([01]\d|2[0-3]):[0-5]\d$/.test(text) ? text : undefined),
    },
  ],
  ['origin', { allowed: '* or an origin such as https://app.example.com', parse: parseOrigin }],
  [
    'http-url',
    { allowed: 'an http:// or https:// address without user name, query and fragment', parse: parseHttpUrl },
  ],
  // Unchanged, with or without a slash at its end: tokens name the issuer so.
  [
    'issuer',
    {
      allowed: 'an http:// or https:// address without user name, query and fragment',
      parse: (text) => parseHttpUrl(text) && text,
    },
  ],
  ['git-url', { allowed: 'an https:// (or http://, file://) address that contains {repository}', parse: parseGitUrl }],
  [
    'postgres-url',
    {
      allowed: 'an address such as postgres://user:password@host/database',
      parse: (text) => parseUrl(text, ['postgres:', 'postgresql:']) && text,
    },
  ],
  [
    'redis-url',
    {
      allowed: 'an address such as redis://host:6379',
      parse: (text) => parseUrl(text, ['redis:', 'rediss:']) && text,
    },
  ],
])

/** Throws for an unknown format. */
export function textFormat(name: string): TextFormat {
  const format = TEXT_FORMATS.get(name)
  if (format === undefined) throw new Error(`Unknown text format ${name}.`)
  return format
}

/** Whether the number of dollars has at most 6 decimals. */
export function isUsd(value: number): boolean {
  return parseMicroUsd(value) !== undefined
}

function parsePrintable(text: string): string | undefined {
  return text.length <= LONGEST_TEXT && parseCredential(text) !== undefined ? text : undefined
}

function parseCredential(text: string): string | undefined {
  return /[\u0000-\u001f\u007f]/.test(text) ? undefined : text
}

function parseSecret(text: string): string | undefined {
  return Buffer.byteLength(text) >= SHORTEST_SECRET_BYTES ? text : undefined
}

function parseHost(text: string): string | undefined {
  const bare = /^\[.*\]$/.test(text) ? text.slice(1, -1) : text
  if (isIP(bare) !== 0) return bare
  return HOST_NAME.test(text) && !/^[\d.]+$/.test(text) ? text : undefined
}

function parseRange(text: string): string | undefined {
  if (ipaddr.isValidCIDR(text)) return text
  return isIP(text) !== 0 ? text : undefined
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
  return /[?#]/.test(text) ? undefined : text.replace(/\/+$/, '')
}

function parseGitUrl(text: string): string | undefined {
  const url = parseUrl(text.replaceAll('{repository}', 'organisation/repository'), ['https:', 'http:', 'file:'])
  return url !== undefined && text.includes('{repository}') && url.password === '' ? text : undefined
}

function parseUrl(text: string, protocols: readonly string[]): URL | undefined {
  if (parseCredential(text) === undefined || /\s/.test(text)) return undefined
  const url = URL.parse(text)
  return url !== null && protocols.includes(url.protocol) && text.includes('://') ? url : undefined
}
