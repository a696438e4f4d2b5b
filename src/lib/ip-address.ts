/**
 * Matches IP addresses with lists of addresses and CIDR blocks. An IPv4-mapped IPv6 address (`::ffff:a.b.c.d`, RFC 4291,
 * 2.5.5.2) equals the IPv4 address, in lists as well as on the wire.
 */
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6

const MAPPED_PREFIX_BITS = 96
/** Four decimal parts; a leading zero would mean octal to some readers. */
const IPV4 = /^(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}$/
const IPV6 = /^[\da-f]*:[\da-f:]*(?:(?:(?:0|[1-9]\d{0,2})\.){3}(?:0|[1-9]\d{0,2}))?$/i

/** A block of addresses of one family. */
export interface AddressRange {
  readonly network: Address
  /** Leading bits that must agree: 0 to 32, or 0 to 128. */
  readonly bits: number
}

/**
 * Reads `203.0.113.7`, `203.0.113.0/24`, `2001:db8::/32` and so on; bits behind the prefix may be set.
 * @returns undefined for anything else: names, zones, shortened or octal IPv4.
 */
export function parseAddressRange(text: string): AddressRange | undefined {
  const [addressText = '', bitsText, ...rest] = text.split('/')
  const address = parseAddress(addressText)
  if (address === undefined || rest.length > 0) return undefined
  const size = address.kind() === 'ipv4' ? 32 : 128
  if (bitsText !== undefined && !/^(0|[1-9]\d{0,2})$/.test(bitsText)) return undefined
  const bits = bitsText === undefined ? size : Number(bitsText)
  if (bits > size) return undefined
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= MAPPED_PREFIX_BITS) {
    return { network: address.toIPv4Address(), bits: bits - MAPPED_PREFIX_BITS }
  }
  return { network: address, bits }
}

/** Whether a range contains the address; false for an invalid address. */
export function includesAddress(ranges: readonly AddressRange[], address: string): boolean {
  const [withoutZone = ''] = address.split('%', 1)
  const single = parseAddressRange(withoutZone)
  return single !== undefined && ranges.some((range) => isWithin(single, range))
}

/** Whether every address of `inner` is also one of `outer`. */
export function isWithin(inner: AddressRange, outer: AddressRange): boolean {
  if (inner.bits < outer.bits) return false
  if (inner.network instanceof ipaddr.IPv4) {
    return outer.network instanceof ipaddr.IPv4 && inner.network.match(outer.network, outer.bits)
  }
  return outer.network instanceof ipaddr.IPv6 && inner.network.match(outer.network, outer.bits)
}

/** Parts of 16 bits: a subscriber's /64, and the /48 that a site gets at most. */
const SUBSCRIBER_PARTS = 4
const SITE_PARTS = 3

/**
 * Returns the key under which attempts of an address are counted: the IPv4 address, or the /64 of IPv6, which one subscriber
 * owns as a whole. Invalid addresses are returned unchanged.
 */
export function addressGroup(address: string): string {
  return networkOf(address, SUBSCRIBER_PARTS)
}

/** The same with the /48 of IPv6, which has 65 536 groups. */
export function addressSite(address: string): string {
  return networkOf(address, SITE_PARTS)
}

function networkOf(address: string, ipv6Parts: number): string {
  const [withoutZone = ''] = address.split('%', 1)
  const network = parseAddressRange(withoutZone)?.network
  if (network === undefined) return address
  if (network instanceof ipaddr.IPv4) return network.toString()
  const parts = network.parts.slice(0, ipv6Parts)
  return `${parts.map((part) => part.toString(16)).join(':')}::/${16 * ipv6Parts}`
}

/** Excludes `10.1`, `0x7f.1` and zones, which `ipaddr.js` accepts. */
function parseAddress(text: string): Address | undefined {
  const isPlain = IPV4.test(text) || IPV6.test(text)
  return isPlain && ipaddr.isValid(text) ? ipaddr.parse(text) : undefined
}

const IPV4_LOOPBACK = /^127(?:\.\d{1,3}){3}$/

/** Whether a URL is of the local machine: plain text to it passes no network. */
export function isLoopbackUrl(url: URL): boolean {
  return url.hostname === 'localhost' || url.hostname === '[::1]' || IPV4_LOOPBACK.test(url.hostname)
}

/*
 * Targets that users other than the operator may choose (SSRF). Pure: callers resolve names and check every address.
 * Invalid ones are rejected.
 */

/** `private`: networks that an operator may allow, and the local machine. `forbidden`: never allowed. */
export type AddressKind = 'public' | 'private' | 'forbidden'

export interface TargetRule {
  /** Also admits private and loopback addresses, and there `http:` and any port. */
  readonly allowPrivateNetworks: boolean
}

/** Which kinds of address a connection may go to. */
export type Reach = 'public' | 'private' | 'both'

/** Names in `ipaddr.js` of private networks. Without link-local, which has metadata services. */
const PRIVATE_RANGES: ReadonlySet<string> = new Set(['private', 'uniqueLocal', 'loopback', 'carrierGradeNat'])
/** Internal services of cloud platforms that the ranges do not exclude. */
const PLATFORM_SERVICES = [
  '168.63.129.16', // Azure
  '100.100.100.200', // Alibaba Cloud
  'fd00:ec2::/32', // AWS
  'fd20:ce::254', // Google Cloud
  'fd00:c1::a9fe:a9fe', // Oracle Cloud
  'fd00:42::42', // Scaleway
].flatMap((text) => parseAddressRange(text) ?? [])
/** IPv4-compatible, RFC 4291 2.5.5.1; `ipaddr.js` would read it as `::ffff:a.b.c.d`, which is another address. */
const IPV4_COMPATIBLE = /^::\d+\./
/** Global unicast, RFC 4291 2.4: others include forms with embedded IPv4 addresses. */
const GLOBAL_IPV6 = { first: 0x2000, mask: 0xe000 }
/** RFC 5214, 6.1: `…:0000:5efe:a.b.c.d` or `…:0200:5efe:a.b.c.d`, a tunnel to that IPv4 address. */
const ISATAP = { first: 0, mask: 0xfdff, second: 0x5efe }

/** @param text As a resolver or `URL` writes addresses, without brackets; anything else, zones too, is `forbidden`. */
export function addressKind(text: string): AddressKind {
  const single = text.includes('/') || IPV4_COMPATIBLE.test(text) ? undefined : parseAddressRange(text)
  if (single === undefined || PLATFORM_SERVICES.some((range) => isWithin(single, range))) return 'forbidden'
  const address = single.network
  const range = address.range()
  if (PRIVATE_RANGES.has(range)) return 'private'
  if (range !== 'unicast') return 'forbidden'
  return address instanceof ipaddr.IPv6 && !isPlainGlobal(address) ? 'forbidden' : 'public'
}

function isPlainGlobal({ parts }: ipaddr.IPv6): boolean {
  const [start = 0, , , , fifth = 0, sixth = 0] = parts
  const isTunnel = (fifth & ISATAP.mask) === ISATAP.first && sixth === ISATAP.second
  return (start & GLOBAL_IPV6.mask) === GLOBAL_IPV6.first && !isTunnel
}

/**
 * @param endpoint `port` as in `URL`: empty where it is the scheme's own.
 * @returns undefined: nowhere.
 */
export function reachOf(endpoint: { protocol: string; port: string }, rule: TargetRule): Reach | undefined {
  const { protocol, port } = endpoint
  if (port === '0' || (protocol !== 'https:' && protocol !== 'http:')) return undefined
  const mayBePublic = protocol === 'https:' && (port === '' || port === '443' || port === '8443')
  if (mayBePublic) return rule.allowPrivateNetworks ? 'both' : 'public'
  return rule.allowPrivateNetworks ? 'private' : undefined
}

export function isWithinReach(address: string, reach: Reach): boolean {
  const kind = addressKind(address)
  return kind === reach || (reach === 'both' && kind !== 'forbidden')
}

type TargetVerdict = { readonly url: URL } | { readonly refusal: string }

const MAX_TARGET_LENGTH = 2048
/** Scheme, two slashes, and all up to the path: `URL` would also read `https:host`, `https:/host` and `https:///host`. */
const START = /^https?:\/\/([^/?#]+)/i
/** White space, invisible characters and the backslash, for a class of characters. */
const UNSEEN = String.raw`\u0000-\u0020\u007f-\u00a0\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u2064\ufeff\\`
const UNSEEN_OR_BACKSLASH = new RegExp(`[${UNSEEN}]`)
/** Regular expression of the texts that `readTarget` may accept, for schemas. */
export const TARGET_PATTERN = `^[Hh][Tt][Tt][Pp][Ss]?://[^${UNSEEN}]+$`
const LABEL = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'
const HOST_NAME = new RegExp(`^(?=.{1,253}$)${LABEL}(?:\\.${LABEL})*$`)
/** A single label, or a domain without public name servers. */
const LOCAL_NAME = /^[^.]+$|(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home\.arpa)$/

/**
 * Parses a URL of a tenant. Connect only to the resulting `url`, which is normalized, never to the text. Its name is not
 * resolved yet.
 * @returns The URL, or a refusal to follow `The target`, which repeats nothing of the text.
 */
export function readTarget(text: string, rule: TargetRule): TargetVerdict {
  const misspelt = spellingRefusal(text)
  if (misspelt !== undefined) return { refusal: misspelt }
  const url = URL.parse(text)
  if (url === null) return { refusal: 'is not a valid URL' }
  const refusal = endpointRefusal(url, rule)
  return refusal === undefined ? { url } : { refusal }
}

/** Rejects what `URL` would silently repair, and other parsers read differently. */
function spellingRefusal(text: string): string | undefined {
  if (text.length > MAX_TARGET_LENGTH) return `is longer than ${MAX_TARGET_LENGTH} characters`
  if (UNSEEN_OR_BACKSLASH.test(text)) return 'contains white space, an invisible character or a backslash'
  const authority = START.exec(text)?.[1]
  if (authority === undefined) return 'is not a whole URL'
  if (authority.includes('@')) return 'contains a user name or a password'
  if (authority.includes('%')) return 'has a host that is percent-encoded or has a zone'
  return text.includes('#') ? 'has a fragment' : undefined
}

function endpointRefusal(url: URL, rule: TargetRule): string | undefined {
  const { hostname } = url
  const reach = reachOf(url, rule)
  if (reach === undefined)
    return url.protocol === 'https:' || url.port === '0' ? 'has a port that is not allowed' : 'is not https'
  const literal = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  if (parseAddressRange(literal) !== undefined) {
    return isWithinReach(literal, reach) ? undefined : `is at an address that is not ${reachInWords(reach)}`
  }
  if (!HOST_NAME.test(hostname)) return 'has a host that is not a host name; it may not end in a dot either'
  return !rule.allowPrivateNetworks && LOCAL_NAME.test(hostname) ? 'has a host that is not public' : undefined
}

/** For messages: `an address that is not …`. */
export function reachInWords(reach: Reach): string {
  return reach === 'both' ? 'public, private or loopback' : reach === 'private' ? 'private or loopback' : 'public'
}

/** Describes allowed targets, for messages. */
export function allowedTargets(rule: TargetRule): string {
  const plain = 'https:// URLs of public hosts on port 443 or 8443'
  const all = rule.allowPrivateNetworks ? `${plain}, http:// and https:// URLs of private or loopback hosts` : plain
  return `${all}, all without user name, password or fragment`
}
