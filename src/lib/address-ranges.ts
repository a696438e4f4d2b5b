/**
 * IP addresses against lists of addresses and CIDR blocks. An IPv4 address written as IPv6 (`::ffff:a.b.c.d`, RFC 4291,
 * 2.5.5.2) is that IPv4 address, in lists as well as on the wire.
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

/** Whether any of the ranges holds the address. An address that cannot be read is in none. */
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

const HOUSEHOLD_PARTS = 4 // of 16 bits each

/**
 * Under what name attempts from an address are counted: an IPv4 address itself, of IPv6 the /64, all of which belongs to
 * whoever has one address of it. What cannot be read stands for itself.
 */
export function addressGroup(address: string): string {
  const [withoutZone = ''] = address.split('%', 1)
  const network = parseAddressRange(withoutZone)?.network
  if (network === undefined) return address
  if (network instanceof ipaddr.IPv4) return network.toString()
  const parts = network.parts.slice(0, HOUSEHOLD_PARTS)
  return `${parts.map((part) => part.toString(16)).join(':')}::/64`
}

/** `ipaddr.js` alone would also take `10.1`, `0x7f.1` and zones. */
function parseAddress(text: string): Address | undefined {
  const isPlain = IPV4.test(text) || IPV6.test(text)
  return isPlain && ipaddr.isValid(text) ? ipaddr.parse(text) : undefined
}
