import { gemini } from '../protocols/gemini/index.ts'
import { obtainCredential } from './credentials/obtain.ts'
import { type Authorize, bearer, type Provider, type ProviderSettings } from './provider.ts'
import { createTokenSource } from './vertex/tokens.ts'

/** Serves from wherever there is room, and has all current models. */
const ANYWHERE = 'global'
const NAME = /^[a-z0-9:.-]{1,80}$/

/**
 * Google's models on Vertex AI. The address is made of project and region; an address of one's own may have them in its
 * path (`…/v1/projects/P/locations/R`, with or without `/publishers/google`).
 */
export const vertex: Provider = {
  id: 'vertex',
  name: 'Google Vertex AI',
  protocol: gemini({ pathPrefix: '', serviceTier: false }),
  authorize: bearer,
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
    return { authorize, protocol: gemini({ pathPrefix, serviceTier: false }) }
  }
  const { project, region = ANYWHERE } = place
  if (project === undefined) throw new Error('Google Vertex AI needs a project: set project, or GOOGLE_CLOUD_PROJECT.')
  for (const name of [project, region]) if (!NAME.test(name)) throw new Error(`'${name}' is no project or region.`)
  const pathPrefix = `/v1/projects/${project}/locations/${region}/publishers/google`
  const host = region === ANYWHERE ? 'aiplatform.googleapis.com' : `${region}-aiplatform.googleapis.com`
  return { authorize, baseUrl: `https://${host}`, protocol: gemini({ pathPrefix, serviceTier: false }) }
}

/** A key in the configuration is an access token; without one, tokens are asked for. */
function createAuthorize(file: string | undefined): Authorize {
  const tokens = createTokenSource(file)
  return async (call, credential) => bearer(call, credential === '' ? await obtainCredential(tokens) : credential)
}
