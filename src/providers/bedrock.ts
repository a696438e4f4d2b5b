/**
 * Amazon Bedrock, through its Converse API. A key may be written in the configuration as `ACCESS_KEY_ID:SECRET` with
 * `:SESSION_TOKEN` behind it where there is one, or as a Bedrock API key; without any, the machine's own credentials are
 * used, as by every AWS tool (environment, shared files, single sign-on, container and instance roles).
 */

import { createHash } from 'node:crypto'
import { bedrockConverse } from '../protocols/bedrock-converse/index.ts'
import { bedrockEmbeddings, bedrockRerank } from '../protocols/bedrock-converse/invoke-model.ts'
import {
  type Authorize,
  bearer,
  obtainCredential,
  type Provider,
  type ProviderSettings,
  type UpstreamCall,
} from './provider.ts'

const REGION = /^[a-z]{2,4}(?:-[a-z]+)+-\d+$/

export const bedrock: Provider = {
  id: 'bedrock',
  telemetryName: 'aws.bedrock',
  name: 'Amazon Bedrock',
  protocol: bedrockConverse(),
  tasks: { embedding: bedrockEmbeddings(), rerank: bedrockRerank() },
  authorize: bearer,
  hiddenReasoning: 'asked',
  // 400, "The maximum tokens you requested exceeds the model limit" (quoted in aws-samples/bedrock-access-gateway, issue 41).
  outputLimit: { refusesMore: true },
  settings: ['region'],
  settingVariables: { region: 'AWS_REGION', api_key: 'AWS_BEARER_TOKEN_BEDROCK' },
  configure,
  source: {
    url: 'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html',
    read: '2026-11-20',
  },
}

function configure({ region: said, base_url: baseUrl = '' }: ProviderSettings): Partial<Provider> {
  const region = said ?? /(?<=[./])[a-z]{2,4}(?:-[a-z]+)+-\d+(?=\.)/.exec(baseUrl)?.[0]
  if (region === undefined) throw new Error('Amazon Bedrock needs a region: set region, or AWS_REGION.')
  if (!REGION.test(region)) throw new Error(`'${region}' is no region of AWS; one is written like us-east-1.`)
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  const baseUrlOfRegion = `https://bedrock-runtime.${region}.${domain}`
  return {
    baseUrl: baseUrlOfRegion,
    authorize: createAuthorize(region),
    regionOf: (model) => placeOf(model, region),
  }
}

/**
 * Where requests to a model may run: at the address's region, or in the area of its inference profile (`eu.…`, `global.…`).
 * What stands behind an ARN is known to the account alone.
 */
function placeOf(model: string, region: string): string | undefined {
  if (model.startsWith('arn:')) return undefined
  return /^(global|us-gov|us|eu|apac|jp|au|ca|in|kr|sa|uk|me|af|mx|il)\./.exec(model)?.[1] ?? region
}

function createAuthorize(region: string): Authorize {
  const machine = createMachineSource()
  return async (call, credential) => {
    const identity = credential === '' ? await obtainCredential(machine) : parseIdentity(credential)
    if (identity === undefined) await bearer(call, credential)
    else await signCall({ ...call, method: 'POST' }, { region, service: 'bedrock', identity })
  }
}

/** @returns undefined for a Bedrock API key, which has no colon. */
function parseIdentity(credential: string): AwsIdentity | undefined {
  const [accessKeyId = '', secretAccessKey, sessionToken] = credential.split(':')
  if (secretAccessKey === undefined) return undefined
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) }
}

/** The library's own chain of sources, which caches and renews credentials. */
function createMachineSource(): () => Promise<AwsIdentity> {
  let chain: Promise<() => Promise<AwsIdentity>> | undefined
  return async () => {
    chain ??= import('@aws-sdk/credential-provider-node').then(({ defaultProvider }) => defaultProvider())
    return (await chain)()
  }
}

interface AwsIdentity {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

interface Signing {
  readonly region: string
  /** The signing name of the service. */
  readonly service: string
  readonly identity: AwsIdentity
}

interface SignedCall extends Pick<UpstreamCall, 'url' | 'headers'> {
  readonly method: 'POST' | 'PUT'
  readonly body: string | Uint8Array
}

/**
 * Adds the headers of a version 4 signature over host, body and content type. Loads the libraries at the first call.
 *
 * Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
async function signCall({ method, url, headers, body }: SignedCall, signing: Signing): Promise<void> {
  const [{ SignatureV4 }, { Sha256 }] = await Promise.all([
    import('@smithy/signature-v4'),
    import('@aws-crypto/sha256-js'),
  ])
  const { protocol, host, hostname, pathname } = new URL(url)
  const { identity: credentials, region, service } = signing
  const uriEscapePath = service !== 's3' // every other service wants the encoded path encoded again
  const signer = new SignatureV4({ credentials, region, service, sha256: Sha256, uriEscapePath })
  const signed = await signer.sign({
    method,
    protocol,
    hostname,
    path: pathname,
    headers: {
      host,
      'content-type': headers['content-type'] ?? 'application/json',
      // Computed here, since the library's own hash is slow on large bodies.
      'x-amz-content-sha256': createHash('sha256').update(body).digest('hex'),
    },
    body,
  })
  // The transport sends the same host.
  const { host: _, ...added } = signed.headers
  Object.assign(headers, added)
}

/** Returns a function that signs requests to other services of AWS. Without `credential` the machine's own is used. */
export function createAwsSigner() {
  const machine = createMachineSource()
  return async (
    call: SignedCall,
    { credential, ...signing }: Omit<Signing, 'identity'> & { readonly credential: string },
  ): Promise<void> => {
    const identity = credential === '' ? await obtainCredential(machine) : parseIdentity(credential)
    if (identity === undefined) throw new Error('The credential has no secret.')
    await signCall(call, { ...signing, identity })
  }
}
