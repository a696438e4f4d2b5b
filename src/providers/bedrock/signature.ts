/**
 * Signatures of version 4 over the very bytes that are sent. The libraries are loaded when the first call is signed.
 *
 * Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
import { createHash } from 'node:crypto'
import type { UpstreamCall } from '../provider.ts'

export interface AwsIdentity {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

export interface Signing {
  readonly region: string
  /** The signing name of the service. */
  readonly service: string
  readonly identity: AwsIdentity
}

/** Adds the headers of a signature that covers host, body and content type. */
export async function signCall({ url, headers, body }: UpstreamCall, signing: Signing): Promise<void> {
  const [{ SignatureV4 }, { Sha256 }] = await Promise.all([
    import('@smithy/signature-v4'),
    import('@aws-crypto/sha256-js'),
  ])
  const { protocol, host, hostname, pathname } = new URL(url)
  const { identity: credentials, region, service } = signing
  const signer = new SignatureV4({ credentials, region, service, sha256: Sha256 })
  const signed = await signer.sign({
    method: 'POST',
    protocol,
    hostname,
    path: pathname,
    headers: {
      host,
      'content-type': headers['content-type'] ?? 'application/json',
      // Said beforehand, since the library's own hash is slow on large bodies.
      'x-amz-content-sha256': createHash('sha256').update(body).digest('hex'),
    },
    body,
  })
  // The host is the transport's to say, and says the same.
  const { host: _, ...added } = signed.headers
  Object.assign(headers, added)
}
