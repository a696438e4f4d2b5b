/** Composes identities: keys, tokens of devices, sessions, sign-in, and the dispatch of credentials. */
import type { FastifyInstance } from 'fastify'
import { asTyped, invocation } from '../cli/invocation.ts'
import type { Config } from '../config/schema.ts'
import { deriveKey } from '../config/secret.ts'
import type { OpenedDatabase } from '../db/database.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Caller } from '../domain/identity/caller.ts'
import { redeemSignInLink } from '../features/accounts/bootstrap.ts'
import { auditWriter } from '../features/audit/log.ts'
import { auditRoutes } from '../features/audit/routes.ts'
import type { BudgetPort, FeatureDeps, WriteAudit } from '../features/deps.ts'
import { type Authenticator, createAuthenticator, loadKeyById, readBearer } from '../features/keys/authenticator.ts'
import { createPeople, type People, type RightsOfKey } from '../features/members/people.ts'
import { membersRoutes } from '../features/members/routes.ts'
import { groupMappingsRoutes } from '../features/members/scim/mapping-routes.ts'
import type { ProvisionedAccounts } from '../features/members/scim/provision.ts'
import { addScimRoutes } from '../features/members/scim/routes.ts'
import { type Activation, createActivation } from '../features/oauth/activation.ts'
import { type Authority, createClients, DATABASE_TIME } from '../features/oauth/authority.ts'
import { devicesRoutes } from '../features/oauth/devices.ts'
import { oauthRoutes } from '../features/oauth/routes.ts'
import { createTokenAuthenticator, type TokenAuthenticator } from '../features/oauth/token-authenticator.ts'
import { authRoutes } from '../features/sessions/auth-routes.ts'
import { createSessionAuthenticator, type SessionAuthenticator } from '../features/sessions/authenticator.ts'
import { meRoutes, sessionsRoutes } from '../features/sessions/routes.ts'
import { createSessions, type Sessions } from '../features/sessions/sessions.ts'
import { createTokenSigner, type TokenSigner } from '../features/sessions/token.ts'
import { localPath } from '../features/sign-in/local-path.ts'
import { choices } from '../features/sign-in/provider.ts'
import { isNewerRelease } from '../features/stored-settings/published-catalogue.ts'
import { inTeam, putTeamMember, removeTeamMember } from '../features/teams/queries.ts'
import { teamsRoutes } from '../features/teams/routes.ts'
import { contentEraser } from '../features/usage/content/deletion.ts'
import type { Gateway } from '../gateway/pipeline.ts'
import { type Authenticate, callerOf, type InTeam, limitUnknownKeys, requireCaller } from '../http/caller.ts'
import { DASHBOARD_FOLDER, readDashboard } from '../http/dashboard.ts'
import { renderOutcome } from '../http/pages/layout.ts'
import { pageRoutes } from '../http/pages/routes.ts'
import { type Log, logError } from '../telemetry/log.ts'
import type { Runtime } from './runtime.ts'

interface IdentityInput {
  readonly config: Config
  readonly database: OpenedDatabase
  readonly log: Log
  /** The installation's secret. */
  readonly secret: Uint8Array
  readonly version: string
  readonly runtime: Runtime
  readonly interrupt: Gateway['interrupt']
  /** Folder of the built dashboard; the package's own unless set. */
  readonly dashboardFolder?: string | undefined
}

interface ApiDeps extends FeatureDeps {
  readonly cursorKey: Uint8Array
  readonly budgets: BudgetPort
}

export interface Identity {
  readonly authentication: Authentication
  readonly inTeam: InTeam
  readonly writeAudit: WriteAudit
  /** Sign-in, activation and the authorization server, at the root. */
  addRoutes(server: FastifyInstance): Promise<void>
  /** Sessions and devices, below `/v1`. */
  addApiRoutes(app: FastifyInstance, deps: ApiDeps): Promise<void>
}

export async function createIdentity(input: IdentityInput): Promise<Identity> {
  const { database, runtime, interrupt } = input
  const signer = await createTokenSigner({ keys: signingKeys(input), now: runtime.now })
  const authentication = createAuthentication({ database, signer, interrupt, now: runtime.now, clock: runtime.clock })
  const { db } = database
  const changed = authentication.refresh
  const writeAudit = auditWriter(runtime)
  const sessions = createSessions({ db, now: runtime.now, ids: runtime.ids, writeAudit, changed })
  const authority = createAuthority(input, { writeAudit, changed })
  const activation = createActivation({ ...authority, log: input.log })
  const parts: Parts = {
    authentication,
    signer,
    sessions,
    authority,
    activation,
    people: createPeople({
      ...provisioning(input, { writeAudit, authentication }),
      rightsOfKey: rightsOfKeyAt(runtime.now),
      provisionedAccounts: provisionedAccountsOf(input.config.auth),
    }),
    writeAudit,
  }
  return {
    authentication,
    inTeam: (caller, teamId) => inTeam(db, caller, teamId),
    writeAudit,
    addRoutes: (server) => addRoutes(server, input, parts),
    async addApiRoutes(app, deps) {
      const { sessionOf, tokenExpiresAt } = authentication
      const { accountsOf } = parts.people
      await app.register(meRoutes({ ...deps, ...installationOf(input), sessionOf, tokenExpiresAt, accountsOf }))
      await app.register(sessionsRoutes({ ...deps, sessions, sessionOf }))
      const { publicUrl, eraseContent } = provisioning(input, parts)
      await app.register(membersRoutes({ ...deps, publicUrl, writeAudit, eraseContent, changed }))
      await app.register(teamsRoutes({ ...deps, writeAudit, changed }))
      await app.register(groupMappingsRoutes({ ...deps, ...provisioning(input, parts) }))
      await app.register(auditRoutes(deps))
      await app.register(devicesRoutes({ ...authority, callerOf: deps.callerOf, cursorKey: deps.cursorKey }))
    },
  }
}

/** What `GET /v1/me` has of it. */
function installationOf({ version, config, runtime }: IdentityInput) {
  return {
    version,
    newerRelease(): string | undefined {
      const release = runtime.stored.publishedRelease()
      return release !== undefined && isNewerRelease(release, version) ? release : undefined
    },
    commandLine: invocation(),
    hasIdentityProviders: config.auth.providers.length > 0,
  }
}

const GITHUB = 'https://github.com'

function provisionedAccountsOf({ providers }: Config['auth']): ProvisionedAccounts {
  const named = providers.flatMap(({ issuer = GITHUB, scim_accounts: accounts }) =>
    accounts.map((account) => [issuer, account] as const),
  )
  const byIssuer = Map.groupBy(named, ([issuer]) => issuer)
  const accounts = new Map(
    [...byIssuer].map(([issuer, pairs]) => [issuer, new Set(pairs.map(([, account]) => account))]),
  )
  return (issuer) => accounts.get(issuer)
}

function rightsOfKeyAt(now: () => number): RightsOfKey {
  return async (db, key) => {
    const known = await loadKeyById(db, key)
    return known !== undefined && known.expiresAt > now() ? known.caller.scopes : undefined
  }
}

function provisioning(
  { config, database, runtime }: IdentityInput,
  { writeAudit, authentication }: Pick<Parts, 'writeAudit' | 'authentication'>,
) {
  return {
    db: database.db,
    now: runtime.now,
    ids: runtime.ids,
    publicUrl: config.server.public_url,
    writeAudit,
    eraseContent: contentEraser({ ...runtime, writeAudit }),
    changed: authentication.refresh,
    teams: { put: putTeamMember, remove: removeTeamMember },
  }
}

interface Parts {
  readonly authentication: Authentication
  readonly signer: TokenSigner
  readonly sessions: Sessions
  readonly authority: Authority
  readonly activation: Activation
  readonly people: People
  readonly writeAudit: WriteAudit
}

/** The current key, and the previous one during a rotation of the installation's secret. */
function signingKeys({ secret, config }: IdentityInput): readonly [Uint8Array, ...Uint8Array[]] {
  const current = deriveKey(secret, 'sessions')
  const previous = config.secret_previous
  return previous === undefined ? [current] : [current, deriveKey(Buffer.from(previous, 'utf8'), 'sessions')]
}

function createAuthority(
  { config, database, secret, runtime }: IdentityInput,
  { writeAudit, changed }: Pick<Authority, 'writeAudit' | 'changed'>,
): Authority {
  return {
    db: database.db,
    ids: runtime.ids,
    clients: createClients(config.auth.clients),
    writeAudit,
    time: DATABASE_TIME,
    rotationKey: deriveKey(secret, 'oauth rotation'),
    changed,
  }
}

async function addRoutes(server: FastifyInstance, input: IdentityInput, parts: Parts): Promise<void> {
  const { config, database, log, runtime } = input
  const { signer, sessions, authority, people } = parts
  const { public_url: publicUrl } = config.server
  const onError: Parameters<typeof oauthRoutes>[0]['onError'] = (error, id) => logError(log, error, { id })
  await server.register(oauthRoutes({ ...authority, publicUrl, clock: runtime.clock, onError }))
  const { db } = database
  await server.register(
    async (app) => {
      requireCaller(app, parts.authentication.authenticate)
      addScimRoutes(app, {
        ...provisioning(input, parts),
        callerOf,
        onError,
      })
    },
    { prefix: '/scim/v2' },
  )
  await server.register(
    authRoutes({
      sessions,
      signer,
      publicUrl,
      redeemLink: (token) => redeemSignInLink(db, token, runtime.now()),
      linkRefused: () => renderOutcome({ ...LINK_REFUSED, text: asTyped(LINK_REFUSED.text) }),
      localPath,
      accountsOf: people.accountsOf,
      ownerOf: people.ownerOf,
    }),
  )
  await server.register(
    pageRoutes({
      publicUrl,
      now: runtime.now,
      sessions,
      people,
      activation: parts.activation,
      choices: choices(config.auth.providers),
      commandLine: invocation(),
      localPath,
      dashboard: await readDashboard(input.dashboardFolder ?? DASHBOARD_FOLDER),
      onError,
    }),
  )
  await addSignIn(server, input, parts)
}

/** Loads its libraries only with identity providers, so that other starts are quick. */
async function addSignIn(server: FastifyInstance, input: IdentityInput, parts: Parts): Promise<void> {
  const { config, database, log, runtime, secret } = input
  const { providers } = config.auth
  if (providers.length === 0) return
  const { signInRoutes } = await import('../features/sign-in/routes.ts')
  await server.register(
    signInRoutes({
      db: database.db,
      now: runtime.now,
      people: parts.people,
      sessions: parts.sessions,
      writeAudit: parts.writeAudit,
      providers,
      publicUrl: config.server.public_url,
      key: deriveKey(secret, 'sign-in'),
      log,
      page: renderOutcome,
    }),
  )
}

const LINK_REFUSED = {
  title: 'This link is no longer valid',
  text: "It is incorrect, older than 15 minutes, or already used. The command 'turnpike login-link' prints another one.",
  action: { href: '/sign-in', label: 'Sign in' },
}

/*
 * Authentication: dispatches a credential, by its form alone, to the authenticator of its kind. API keys come first, which
 * nearly all requests have.
 */

interface AuthenticationInput {
  readonly database: Pick<OpenedDatabase, 'db' | 'batch' | 'onChange'>
  readonly signer: TokenSigner
  /** Ends the requests in flight of a credential that is no longer valid. */
  readonly interrupt: Gateway['interrupt']
  /** Unix milliseconds. */
  readonly now: () => number
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

interface Authentication {
  /** Returns synchronously for a cached credential. See the authenticators of the kinds for what it throws. */
  readonly authenticate: Authenticate
  readonly sessionOf: SessionAuthenticator['sessionOf']
  /**
   * Returns the Unix milliseconds at which a device's token expires that was just authenticated. Undefined for other
   * credentials.
   */
  tokenExpiresAt(authorization: string | undefined): number | undefined
  /** Resolves when all changes that were committed earlier are in force in this process. */
  refresh(): Promise<void>
  close(): Promise<void>
}

function createAuthentication({ database, signer, interrupt, now, clock }: AuthenticationInput): Authentication {
  const { db, batch, onChange } = database
  const interruptWith = (reason: GatewayError) => (isEnded: (caller: Caller) => boolean) => interrupt(reason, isEnded)
  const keys = createAuthenticator({ db, batch, onChange, now, onEnded: interruptWith(REVOKED_KEY) })
  const tokens = createTokenAuthenticator({ db, batch, onChange, now, onEnded: interruptWith(REVOKED_DEVICE) })
  const sessions = createSessionAuthenticator({ db, signer, onChange, now, onEnded: interruptWith(SIGNED_OUT) })
  return {
    // Expired tokens and sessions are no brute-force attempts: clients send one before they renew it.
    authenticate: createDispatcher({
      keys: { authenticate: limitUnknownKeys(keys.authenticate, clock) },
      tokens,
      sessions,
    }),
    sessionOf: sessions.sessionOf,
    tokenExpiresAt(authorization) {
      const token = authorization === undefined ? undefined : readBearer(authorization)
      return token?.startsWith(TOKEN_PREFIX) === true ? tokens.expiresAt(token) : undefined
    },
    async refresh() {
      await Promise.all([keys.refresh(), tokens.refresh(), sessions.refresh()])
    },
    async close() {
      sessions.close()
      await Promise.all([keys.close(), tokens.close()])
    },
  }
}

/** Start of the header for an API key, as SDKs write it. */
const KEY_START = 'Bearer tp_'
const BASIC_START = 'Basic '
const TOKEN_PREFIX = 'tpa_'

/** Credentials of no other kind go to the keys, which reject them as invalid. */
export function createDispatcher({
  keys,
  tokens,
  sessions,
}: {
  readonly keys: Pick<Authenticator, 'authenticate'>
  readonly tokens: Pick<TokenAuthenticator, 'authenticate'>
  readonly sessions: Pick<SessionAuthenticator, 'authenticate'>
}): Authenticate {
  return (authorization, address) => {
    if (authorization === undefined) return keys.authenticate(authorization, address)
    if (authorization.startsWith(KEY_START) || authorization.startsWith(BASIC_START)) {
      return keys.authenticate(authorization, address)
    }
    const credential = readBearer(authorization)
    if (credential?.startsWith(TOKEN_PREFIX) === true) return tokens.authenticate(credential)
    if (credential !== undefined && hasThreeParts(credential)) return sessions.authenticate(credential)
    return keys.authenticate(authorization, address)
  }
}

function hasThreeParts(text: string): boolean {
  const first = text.indexOf('.')
  if (first < 0) return false
  const second = text.indexOf('.', first + 1)
  return second >= 0 && text.indexOf('.', second + 1) < 0
}

/** Errors of requests in flight when their credential ends. */
const REVOKED_KEY = new GatewayError('invalid_credential', 'The API key was revoked or disabled.')
const REVOKED_DEVICE = new GatewayError('invalid_credential', 'The device was disconnected.')
const SIGNED_OUT = new GatewayError('invalid_credential', 'The session has ended.')
