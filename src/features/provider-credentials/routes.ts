/** `/provider-credentials`: the credentials of an account's own at providers (bring your own key). */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import type { ProviderCredentialStatus } from '../../db/schema/schema.ts'
import type { KeyId, ProviderCredentialId } from '../../domain/ids.ts'
import { byId, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import { requesterOf } from '../../http/request-origin.ts'
import { closed, idParams, isoTime, oneOf, textOrNull } from '../../http/wire-fields.ts'
import { isoTimeOrNull } from '../../lib/time.ts'
import type { FeatureDeps } from '../deps.ts'
import { addCredential, changeCredential, type ManageDeps, removeCredential } from './manage.ts'
import { type CredentialRow, listCredentials, requireCredential } from './store.ts'

export interface ProviderCredentialsDeps extends FeatureDeps, ManageDeps {
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
}

const STATUSES = ['verified', 'untested', 'refused'] as const satisfies readonly ProviderCredentialStatus[]

const ApiKey = Type.String({
  minLength: 8,
  maxLength: 4_096,
  pattern: '^[\\x21-\\x7e]+$',
  description: 'The key of the provider, which is tested with one call. It is stored sealed and never returned.',
})
const Name = Type.String({ maxLength: 100, pattern: '^[^\\u0000]*$', description: 'A label.' })
const AllowFallback = Type.Boolean({
  description:
    'Whether the operator’s credentials may be used, at the full price, when this one is refused, limited or failing.',
})

const CredentialCreate = closed({
  provider: Type.String({ minLength: 1, maxLength: 200, description: 'Name of the provider in the configuration.' }),
  api_key: ApiKey,
  name: Type.Optional(Name),
  key_id: Type.Optional(
    textOrNull(
      'Only for requests of this API key and of the keys that it created. Null: for all requests of the account.',
    ),
  ),
  allow_fallback: Type.Optional(AllowFallback),
})
const CredentialPatch = closed({
  api_key: Type.Optional(ApiKey),
  name: Type.Optional(Name),
  allow_fallback: Type.Optional(AllowFallback),
})

const Creator = Type.Object({ user_id: Type.String(), email: Type.String(), name: Type.String() })
const CredentialView = Type.Object({
  id: Type.String(),
  object: Type.Literal('provider_credential'),
  provider: Type.String({ description: 'Name of the provider in the configuration.' }),
  name: Type.String(),
  last4: Type.String({ description: 'Last characters of the key.' }),
  key_id: textOrNull('The API key whose requests it is for. Null: all requests of the account.'),
  allow_fallback: AllowFallback,
  status: oneOf(STATUSES, {
    description:
      'verified: the provider accepted the key. untested: the provider could not be reached, or its answer does not show whether the key is valid. refused: the provider refused the key in the last request.',
  }),
  last_tested_at: textOrNull('Time of the last test of the key, ISO 8601 UTC.'),
  rotated_at: textOrNull('Time of the last rotation, ISO 8601 UTC. Null: never.'),
  created_at: Type.String({ description: 'ISO 8601 UTC.' }),
  created_by: Type.Unsafe<Static<typeof Creator> | null>({
    anyOf: [Creator, { type: 'null' }],
    description: 'The person who added it. Null: no person did.',
  }),
})

const config = { scope: 'keys' } as const
const tags = ['Provider credentials']
const params = idParams<ProviderCredentialId>()

const listSchema = {
  summary: 'List provider credentials',
  description: 'Returns the account’s own credentials at providers, never their keys.',
  tags,
  querystring: Type.Object(PAGE_QUERY),
  response: { 200: pageSchema(CredentialView) },
}
const readSchema = { summary: 'Get a provider credential', tags, params, response: { 200: CredentialView } }
const createSchema = {
  summary: 'Add a provider credential',
  description:
    'Stores the account’s own key at a provider, after a test call of at most 10 s. Requests to models of the provider then use it in place of the operator’s, and are charged `byok_fee_percent` of the price. A key that the provider rejects is not stored (400); one whose provider cannot be reached is stored as `untested`. Returns 404 for a provider that is not configured or takes no key.',
  tags,
  body: CredentialCreate,
  response: { 201: CredentialView },
}
const updateSchema = {
  summary: 'Change a provider credential',
  description:
    'Changes only the fields that are sent. A new `api_key` is tested, and replaces the old one in every process within a second.',
  tags,
  params,
  body: CredentialPatch,
  response: { 200: CredentialView },
}
const removeSchema = {
  summary: 'Delete a provider credential',
  description: 'Takes effect in every process within a second. Requests then use the operator’s credentials again.',
  tags,
  params,
  response: { 204: Type.Null() },
}

export function providerCredentialsRoutes(deps: ProviderCredentialsDeps): FastifyPluginAsyncTypebox {
  const { db, callerOf, cursorKey } = deps
  return async (app) => {
    app.get('/provider-credentials', { config, schema: listSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const binding = { key: cursorKey, account: accountId, list: 'provider-credentials' }
      const read = (page: PageRequest<ProviderCredentialId>) => listCredentials(db, accountId, page)
      return listPage({ query: request.query, binding, read, position: byId, render: renderCredential })
    })
    app.get('/provider-credentials/:id', { config, schema: readSchema }, async (request) => {
      const { accountId } = callerOf(request)
      return renderCredential(await requireCredential(db, { accountId, id: request.params.id }))
    })
    app.post('/provider-credentials', { config, schema: createSchema }, async (request, reply) => {
      const {
        provider,
        api_key: apiKey,
        name = '',
        key_id: keyId,
        allow_fallback: allowFallback = false,
      } = request.body
      const credential = { provider, apiKey, name, keyId: (keyId ?? undefined) as KeyId | undefined, allowFallback }
      const row = await addCredential(deps, requesterOf(request, callerOf(request)), credential)
      return reply.code(201).send(renderCredential(row))
    })
    app.patch('/provider-credentials/:id', { config, schema: updateSchema }, async (request) => {
      const { api_key: apiKey, name, allow_fallback: allowFallback } = request.body
      const change = { id: request.params.id, apiKey, name, allowFallback }
      return renderCredential(await changeCredential(deps, requesterOf(request, callerOf(request)), change))
    })
    app.delete('/provider-credentials/:id', { config, schema: removeSchema }, async (request, reply) => {
      await removeCredential(deps, requesterOf(request, callerOf(request)), request.params.id)
      return reply.code(204).send(null)
    })
  }
}

function renderCredential(row: CredentialRow): Static<typeof CredentialView> {
  const { created_by: userId, email, person_name: name } = row
  const isKnown = userId !== null && email !== null && name !== null
  return {
    id: row.id,
    object: 'provider_credential',
    provider: row.provider,
    name: row.name,
    last4: row.last4,
    key_id: row.key_id,
    allow_fallback: row.allow_fallback === 1,
    status: row.status,
    last_tested_at: isoTimeOrNull(row.last_tested_at),
    rotated_at: isoTimeOrNull(row.rotated_at),
    created_at: isoTime(row.created_at),
    created_by: isKnown ? { user_id: userId, email, name } : null,
  }
}
