import { readFile } from 'node:fs/promises'
import type { AuthClient, GoogleAuth, JWTInput } from 'google-auth-library'
import { predictEmbeddings } from '../protocols/gemini/embeddings.ts'
import { gemini } from '../protocols/gemini/index.ts'
import { type Authorize, bearer, obtainCredential, type Provider, type ProviderSettings } from './provider.ts'

/** Google chooses the region; all current models are available. */
const ANYWHERE = 'global'
const NAME = /^[a-z0-9:.-]{1,80}$/

/**
 * Google's models on Vertex AI. The address consists of project and region; an operator's own may have them in its
 * path (`…/v1/projects/P/locations/R`, with or without `/publishers/google`).
 */
export const vertex: Provider = {
  id: 'vertex',
  telemetryName: 'gcp.vertex_ai',
  name: 'Google Vertex AI',
  ...protocolsAt(''),
  authorize: bearer,
  hiddenReasoning: 'unasked',
  // 400, "the supported range is from 1 (inclusive) to 65536 (exclusive)" (quoted in BerriAI/litellm, 10548).
  outputLimit: { refusesMore: true },
  settings: ['region', 'project', 'credentials_file'],
  settingVariables: { project: 'GOOGLE_CLOUD_PROJECT', region: 'GOOGLE_CLOUD_LOCATION' },
  configure,
  source: {
    url: 'https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference',
    read: '2026-11-20',
  },
}

function configure({ base_url: baseUrl, credentials_file: file, ...place }: ProviderSettings): Partial<Provider> {
  const authorize = createAuthorize(file)
  if (baseUrl !== undefined && /\/projects\//.test(baseUrl)) {
    const pathPrefix = baseUrl.endsWith('/publishers/google') ? '' : '/publishers/google'
    return { authorize, ...protocolsAt(pathPrefix) }
  }
  const { project, region = ANYWHERE } = place
  if (project === undefined) throw new Error('Google Vertex AI needs a project: set project, or GOOGLE_CLOUD_PROJECT.')
  for (const name of [project, region]) if (!NAME.test(name)) throw new Error(`'${name}' is no project or region.`)
  const pathPrefix = `/v1/projects/${project}/locations/${region}/publishers/google`
  const host = region === ANYWHERE ? 'aiplatform.googleapis.com' : `${region}-aiplatform.googleapis.com`
  return { authorize, baseUrl: `https://${host}`, regionOf: () => region, ...protocolsAt(pathPrefix) }
}

/** @param pathPrefix Up to the publisher. */
function protocolsAt(pathPrefix: string): Pick<Provider, 'protocol' | 'tasks'> {
  return {
    protocol: gemini({ pathPrefix, serviceTier: false }),
    tasks: { embedding: predictEmbeddings(pathPrefix) },
  }
}

/** A key in the configuration is an access token; without one, tokens are obtained. */
function createAuthorize(file: string | undefined): Authorize {
  const tokens = createTokenSource(file)
  return async (call, credential) => bearer(call, credential === '' ? await obtainCredential(tokens) : credential)
}

const SCOPES = ['https://www.googleapis.com/auth/cloud-platform']
const STANDARD_TOKEN_ADDRESS = 'https://oauth2.googleapis.com/token'

/**
 * Obtains access tokens by a file (a service account's key, or any other kind that the library reads), else by the
 * machine's own credentials. Loads the library at the first call, which caches and renews tokens.
 * @param file Path of the credentials file.
 */
function createTokenSource(file: string | undefined): () => Promise<string> {
  let auth: Promise<GoogleAuth> | undefined
  return async () => {
    auth ??= createAuth(file).catch((error: unknown) => {
      auth = undefined // the next call reads the file again
      throw error
    })
    const token = await (await auth).getAccessToken()
    if (!token) throw new Error('the token service gave no token')
    return token
  }
}

async function createAuth(file: string | undefined): Promise<GoogleAuth> {
  const { GoogleAuth } = await import('google-auth-library')
  if (file === undefined) return new GoogleAuth({ scopes: SCOPES })
  const credentials: JWTInput & { readonly token_uri?: unknown } = JSON.parse(await readFile(file, 'utf8'))
  const auth = new GoogleAuth({ credentials, scopes: SCOPES })
  const { token_uri: address } = credentials
  if (typeof address === 'string' && address !== STANDARD_TOKEN_ADDRESS) redirect(await auth.getClient(), address)
  return auth
}

/** Redirects the library, which ignores the file's `token_uri`, to that token service. */
function redirect({ transporter }: AuthClient, address: string): void {
  transporter.interceptors.request.add({
    resolved: async (options) => {
      if (options.url?.toString() === STANDARD_TOKEN_ADDRESS) options.url = new URL(address)
      return options
    },
  })
}
