/**
 * Amazon Bedrock, through its Converse API. A key may be written in the configuration as `ACCESS_KEY_ID:SECRET` with
 * `:SESSION_TOKEN` behind it where there is one, or as a Bedrock API key; without any, the machine's own credentials are
 * looked for as every AWS tool does it (environment, shared files, single sign-on, container and instance roles).
 */
import { bedrockConverse } from '../protocols/bedrock-converse/index.ts'
import { type AwsIdentity, signCall } from './bedrock/signature.ts'
import { obtainCredential } from './credentials/obtain.ts'
import { type Authorize, bearer, type Provider, type ProviderSettings } from './provider.ts'

const REGION = /^[a-z]{2,4}(?:-[a-z]+)+-\d+$/

export const bedrock: Provider = {
  id: 'bedrock',
  name: 'Amazon Bedrock',
  protocol: bedrockConverse(),
  authorize: bearer,
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
  return { baseUrl: `https://bedrock-runtime.${region}.${domain}`, authorize: createAuthorize(region) }
}

function createAuthorize(region: string): Authorize {
  const machine = createMachineSource()
  return async (call, credential) => {
    const identity = credential === '' ? await obtainCredential(machine) : parseIdentity(credential)
    if (identity === undefined) await bearer(call, credential)
    else await signCall(call, { region, service: 'bedrock', identity })
  }
}

/** @returns undefined for a Bedrock API key, which has no colon. */
function parseIdentity(credential: string): AwsIdentity | undefined {
  const [accessKeyId = '', secretAccessKey, sessionToken] = credential.split(':')
  if (secretAccessKey === undefined) return undefined
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) }
}

/** The library's own chain of sources, which keeps what it found and renews it in time. */
function createMachineSource(): () => Promise<AwsIdentity> {
  let chain: Promise<() => Promise<AwsIdentity>> | undefined
  return async () => {
    chain ??= import('@aws-sdk/credential-provider-node').then(({ defaultProvider }) => defaultProvider())
    return (await chain)()
  }
}
