/** The address of a server as people write it. */
import { InvalidArgumentError } from 'commander'
import { isLoopbackUrl } from '../../lib/loopback.ts'

/** @returns Without trailing slash and without the `/v1` of the API; `https://` where no scheme was written. */
export function parseServerUrl(text: string): string {
  const url = readUrl(text.trim())
  if (url === undefined || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new InvalidArgumentError('Allowed: an http or https address, such as https://ai.example.com.')
  }
  return url.href.replace(/\/+$/, '').replace(/\/v1$/, '')
}

function readUrl(text: string): URL | undefined {
  if (/^https?:\/\//i.test(text)) return URL.parse(text) ?? undefined
  if (text.includes('://')) return undefined
  const plain = URL.parse(`http://${text}`)
  if (plain === null || plain.hostname === '') return undefined
  return isLoopbackUrl(plain) ? plain : (URL.parse(`https://${text}`) ?? undefined)
}

/** Whether what is sent there can be read on the way. */
export function isReadableOnTheWay(address: string): boolean {
  const url = new URL(address)
  return url.protocol === 'http:' && !isLoopbackUrl(url)
}
