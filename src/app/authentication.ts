/**
 * Dispatches a credential, by its form alone, to the authenticator of its kind: API keys first, which nearly all requests
 * have.
 */
import type { OpenedDatabase } from '../db/database.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Caller } from '../domain/identity/caller.ts'
import { type Authenticator, createAuthenticator, readBearer } from '../features/keys/authenticator.ts'
import { createTokenAuthenticator, type TokenAuthenticator } from '../features/oauth/token-authenticator.ts'
import { createSessionAuthenticator, type SessionAuthenticator } from '../features/sessions/authenticator.ts'
import type { TokenSigner } from '../features/sessions/token.ts'
import type { Gateway } from '../gateway/pipeline.ts'
import { type Authenticate, limitUnknownKeys } from '../http/caller.ts'

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

export interface Authentication {
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

export function createAuthentication({ database, signer, interrupt, now, clock }: AuthenticationInput): Authentication {
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
