/**
 * Amazon Bedrock, through its Converse API. A key may be written in the configuration as `ACCESS_KEY_ID:SECRET` with
 * `:SESSION_TOKEN` behind it where there is one, or as a Bedrock API key; without any, the machine's own credentials are
 * used, as by every AWS tool (environment, shared files, single sign-on, container and instance roles).
 */
import { createHash } from 'node:crypto'
import type { ChatEvent, ChatRequest, EmbeddingTask } from '../domain/chat.ts'
import { GatewayError } from '../domain/errors.ts'
import { isRecord, type Json } from '../lib/json.ts'
import { failureOf, parseError } from '../protocols/bedrock-converse/errors.ts'
import { bedrockConverse } from '../protocols/bedrock-converse/index.ts'
import { count, type Fields, forwardedFields } from '../protocols/body-fields.ts'
import { vectorEvents } from '../protocols/openai-embeddings.ts'
import { unsupportedParameter } from '../protocols/parameters.ts'
import { brokenAnswer, type RenderTarget, type UpstreamProtocol, type WireRequest } from '../protocols/protocol.ts'
import { rerank } from '../protocols/rerank.ts'
import { parseAnswerObject, taskOf, textInputs, wholeAnswers } from '../protocols/whole-answers.ts'
import {
  type Authorize,
  bearer,
  obtainCredential,
  type Provider,
  type ProviderSettings,
  type UpstreamCall,
} from './provider.ts'

// Embeddings and ranking by InvokeModel, whose bodies are those of each maker: Titan (one text a call) and Cohere; Amazon's
// Rerank has the body of Cohere's.
//
// Sources, read 2026-11-24: https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html,
// https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed.html,
// https://docs.aws.amazon.com/bedrock/latest/userguide/rerank-supported.html

const FORWARDS = { fields: ['input_type', 'truncate', 'normalize'] } as const
const KNOWN: ReadonlySet<string> = new Set(FORWARDS.fields)

function bedrockEmbeddings(): UpstreamProtocol {
  return wholeAnswers({ id: 'bedrock-embeddings', forwards: FORWARDS, parseError, renderRequest, parseResponse })
}

function renderRequest(request: ChatRequest, target: RenderTarget): WireRequest {
  const warnings = new Set<string>()
  const task = taskOf(request, 'embedding')
  const fields = forwardedFields(request, { known: KNOWN, target, warnings })
  if (request.user !== undefined) warnings.add('user')
  const body = bodyOf(target.model, task, fields)
  return { path: invokePath(target.model), body: JSON.stringify(body), warnings: [...warnings] }
}

function invokePath(model: string): string {
  return `/model/${encodeURIComponent(model)}/invoke`
}

/** @param model May begin with a region, or be the name of a profile. */
function bodyOf(model: string, task: EmbeddingTask, fields: Fields): object {
  const texts = textInputs(task)
  const { dimensions } = task
  const { input_type: inputType = 'search_document', truncate, normalize, ...others } = fields
  if (model.includes('cohere.')) {
    return { ...others, texts, input_type: inputType, truncate, output_dimension: dimensions }
  }
  if (!model.includes('titan-embed-text')) throw unsupportedParameter('model', 'The format of this model is not known.')
  const [inputText] = texts
  if (texts.length !== 1) {
    const message = `\`input\` must have one entry for this model, not ${texts.length}. Send several requests.`
    throw new GatewayError('out_of_range', message, { param: 'input' })
  }
  return { ...others, inputText, dimensions, normalize }
}

function parseResponse(body: string): ChatEvent[] {
  const answer = parseAnswerObject(body, (error, status) => failureOf({ status, type: '', body: error }))
  const { embedding, embeddings, inputTextTokenCount: tokens } = answer
  if (embedding !== undefined) return vectorEvents([embedding], count(tokens))
  const floats = isRecord(embeddings) ? embeddings['float'] : embeddings
  if (!Array.isArray(floats)) throw brokenAnswer('The provider answered without embeddings.')
  return vectorEvents(floats, undefined)
}

function bedrockRerank(): UpstreamProtocol {
  return { ...rerank({ searches: 'counted', request: invocation }), id: 'bedrock-rerank', parseError }
}

/** @param model May begin with a region, or be the name of a profile. */
function invocation({ model, ...body }: Json): { readonly path: string; readonly body: Json } {
  const name = String(model)
  const version = name.includes('cohere.') ? { api_version: 2 } : {}
  return { path: invokePath(name), body: { ...body, ...version } }
}

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
