/** The whole application on a socket at `http://localhost`, for browsers: with a provider of models, and one of identities. */
import { access, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import * as oauth from 'oauth4webapi'
import type { AccountId } from '../../../src/domain/ids.ts'
import { createSignInLink, ensureFirstAccount, signInUrl } from '../../../src/features/accounts/bootstrap.ts'
import { DASHBOARD_FOLDER } from '../../../src/http/dashboard.ts'
import { testIds } from '../database.ts'
import { oneModel } from '../gateway.ts'
import { startOidcProvider } from '../identity/oidc.ts'
import { freePort } from '../process/free-port.ts'
import { ordinary } from '../providers/answers.ts'
import { startFakeProvider } from '../providers/fake-provider.ts'
import { temporaryPath } from '../sqlite-file.ts'
import { type AppForTests, openApp } from './signed-in.ts'

export interface Site extends AppForTests {
  /** Without trailing slash. */
  readonly url: string
  readonly firstAccount: AccountId
  /** The address of a one-time link. */
  readonly link: () => Promise<string>
  /** A device that asks to be let in. */
  readonly device: (options?: DeviceOptions) => Promise<WaitingDevice>
}

export interface DeviceOptions {
  readonly scope?: string
  readonly userAgent?: string
}

export interface WaitingDevice {
  /** `XXXX-XXXX`. */
  readonly userCode: string
  readonly uriComplete: string
  /** Asks once for tokens. Rejects with the errors of RFC 8628. */
  readonly poll: () => Promise<oauth.TokenEndpointResponse>
  readonly revoke: (token: string) => Promise<void>
}

export interface SiteOptions {
  /** Whether there is an identity provider, called `Example Works`, where `ada` can sign in. */
  readonly withProvider?: boolean
  /** Whether `/app/` is the built dashboard, which has to be there; else it is the plain page. */
  readonly withDashboard?: boolean
}

const ADA = { email: 'ada@example.com', email_verified: true, name: 'Ada Lovelace' }

export async function startSite(t: TestContext, options: SiteOptions = {}): Promise<Site> {
  const { withProvider = false, withDashboard = false } = options
  const port = await freePort()
  const url = `http://localhost:${port}`
  const redirectUris = [`${url}/auth/example-works/callback`]
  const identity = withProvider ? await startOidcProvider(t, { redirectUris, users: { ada: ADA } }) : undefined
  const providers = identity === undefined ? [] : [{ name: 'Example Works', kind: 'oidc', ...settingsOf(identity) }]
  const models = await startFakeProvider(ordinary)
  t.after(() => models.close())
  const file = join(dirname(await temporaryPath(t)), 'turnpike.yaml')
  await writeFile(file, JSON.stringify(oneModel(models.url, {}, { auth: { providers } })))
  const dashboardFolder = process.env['TURNPIKE_TEST_DASHBOARD'] ?? DASHBOARD_FOLDER
  if (withDashboard) await access(join(dashboardFolder, 'index.html')) // `npm run build:dashboard` makes it
  const dashboard = withDashboard ? { dashboardFolder } : {}
  const app = await openApp(t, { settings: { TURNPIKE_CONFIG: file, PORT: String(port) }, ...dashboard })
  const { db } = app.database
  const firstAccount = await ensureFirstAccount(db, 'unlimited', { now: Date.now, ids: testIds })
  await app.app.server.listen({ host: '127.0.0.1', port })
  return {
    ...app,
    url,
    firstAccount,
    link: async () => signInUrl(url, await createSignInLink(db, firstAccount, Date.now())),
    device: (options) => beginDevice(url, options),
  }
}

function settingsOf({ issuer, clientId, clientSecret }: Awaited<ReturnType<typeof startOidcProvider>>) {
  return { issuer, client_id: clientId, client_secret: clientSecret }
}

const CLIENT: oauth.Client = { client_id: 'turnpike-ide' }

async function beginDevice(url: string, options: DeviceOptions = {}): Promise<WaitingDevice> {
  const { scope = 'api offline_access', userAgent = 'Zed/0.200.1 (linux; x64)' } = options
  const none = oauth.None()
  const http = { [oauth.allowInsecureRequests]: true, headers: new Headers({ 'user-agent': userAgent }) }
  const found = await oauth.discoveryRequest(new URL(url), { algorithm: 'oauth2', ...http })
  const server = await oauth.processDiscoveryResponse(new URL(url), found)
  const asked = await oauth.deviceAuthorizationRequest(server, CLIENT, none, { scope }, http)
  const begun = await oauth.processDeviceAuthorizationResponse(server, CLIENT, asked)
  return {
    userCode: begun.user_code,
    uriComplete: begun.verification_uri_complete ?? begun.verification_uri,
    async poll() {
      const response = await oauth.deviceCodeGrantRequest(server, CLIENT, none, begun.device_code, http)
      return oauth.processDeviceCodeResponse(server, CLIENT, response)
    },
    async revoke(token) {
      await oauth.processRevocationResponse(await oauth.revocationRequest(server, CLIENT, none, token, http))
    },
  }
}
