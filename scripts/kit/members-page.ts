/** Renders `docs/members.md` from the table of rights and the routes of the application. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IMPLIED, MEMBER_RIGHTS, RIGHTS, type Right, ROLES } from '../../src/domain/identity/caller.ts'
import { API_SCOPES } from '../../src/features/oauth/scopes.ts'
import { readRoutes, type TableRow } from '../../test/support/http/routes.ts'
import { markdownTable } from './providers-page.ts'

const HEAD = `# Accounts, members, rights

An account has members, API keys and credit; accounts share nothing. A person can be a member of several accounts and
switches between them in the dashboard. \`npm run generate:docs\` writes the tables of this page from
\`src/domain/identity/caller.ts\` and the routes; a test sends every kind of credential to every route and compares.

\`\`\`sh
curl -H "Authorization: Bearer $TURNPIKE_API_KEY" http://localhost:7575/v1/me      # the rights of a credential
\`\`\`

## Rights

A route needs one right. A member has the current rights of their role. An API key has the rights of its scopes or,
without scopes, all but \`operator\`; a key with a budget, models, a rate or an expiry never has \`keys\` and \`members\`. A
device has those approved rights that its person has.

`

const BETWEEN = `
\`operator\` covers the whole installation. Owners of the first account have it in the dashboard, and keys that
\`turnpike keys create --operator\` creates.

Nobody grants more than they have. Owners grant every role, admins every role but \`owner\`, and only owners change or
remove owners. Nobody raises their own role. A key manages members as an admin does, an operator's key as an owner; it
needs \`members\`, no limits, and all rights of the role that it grants. A key has at most the rights of its creator,
see [keys](keys.md#keys-that-create-keys).

## Routes

Everything outside this table needs no right: pages, sign-in, the [device flow](devices.md), documentation and probes.
\`GET /v1/me\` answers any credential. Without a valid credential the answer is 401, without the right 403
\`insufficient_scope\`. Objects of other accounts answer 404, exactly like objects that do not exist.

`

const FOOT = `
\`DELETE /v1/members/{id}\` of another person also needs \`members\`; every member may leave. Device routes cover the
caller's own devices; owners and admins reach all with \`all=true\`.

## Becoming a member

- **First sign-in.** The first person who signs in with an [identity provider](sign-in.md) becomes the owner of the
  first account. The link of \`turnpike login-link\` signs in that account's first owner, and creates one,
  \`owner@localhost\`, if there is none. Once an account has an owner, nobody becomes one by signing in: only by an
  invitation, or as the person whom the link signs in.
- **Invitation.** \`POST /v1/invitations\` returns a link, once. It is valid for 7 days and one person, who receives the
  invitation's role; \`email\` is a note, and no mail is sent. It becomes invalid when its creator leaves or loses the
  right to create it, or when the key that created it is revoked, expires or is limited. A member who opens it keeps
  their role, and the invitation stays valid.
- **Nothing else.** A person is identified by the issuer and subject of their provider, never by an e-mail address. A
  person without an invitation is refused at sign-in, and nothing about them is stored.

## Leaving

Removing a member, and leaving, ends their sessions in the account, disconnects their devices and revokes the API keys
that they created, within a second and also for requests in flight. Webhooks that they or their keys created are
disabled, with an audit entry each, until another member enables and thereby adopts them. Rejoining restores none of
this. Create keys of programs on the command line, or with such a key: they have no creator. The last owner can
neither leave nor lose the role (409 \`conflict\`).

## Audit log

Changes of keys, members, invitations, devices, sessions, names and plans are recorded in the same transaction, with
actor, object, address and result. Budgets, alerts and credit are committed by the ledger; their entries follow right
after. Refused attempts to exceed one's rights on keys and members are recorded, too: equal ones within an hour as one
entry with \`attempts\`, \`at\` and \`last_at\`. \`GET /v1/audit\` lists entries, newest first; \`action\`, \`actor_id\`, \`from\`
and \`to\` filter. Nobody can change or delete entries; they are kept as long as the account, and refused attempts for
400 days. Actions of the command line have the actor \`command_line\` with the name of the system's user. Actions of an
operator on another account are in both accounts' logs; the other account's log does not name the operator.
`

export async function membersPage(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-docs-'))
  try {
    const { routes, close } = await readRoutes(folder, join(folder, 'turnpike.db'))
    await close()
    return `${HEAD}${rightsTable()}${BETWEEN}${routesTable(routes)}${FOOT}`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function rightsTable(): string {
  const header = ['right', 'allows to', ...ROLES, 'key', 'device']
  const api = new Set<Right>(API_SCOPES)
  const rows = (Object.keys(RIGHTS) as Right[]).map((right) => {
    const { may, roles } = RIGHTS[right]
    const isMembers = MEMBER_RIGHTS.some((one) => one === right)
    const implied = Object.values(IMPLIED).some((rights) => rights.includes(right))
    const key = isMembers ? `with full access${implied ? ' or `members`' : ''}` : 'as scope'
    const byRole = ROLES.map((role) => (roles.includes(role) ? 'yes' : '–'))
    return [`\`${right}\``, may, ...byRole, key, api.has(right) ? 'yes' : '–']
  })
  return markdownTable(header, rows)
}

function routesTable(routes: readonly TableRow[]): string {
  const rows = routes
    .filter(({ method, path, scope }) => method !== 'HEAD' && path.startsWith('/v1/') && scope !== undefined)
    .filter(({ path }) => !path.includes('*'))
    .map(({ method, path, scope = '' }) => [`\`${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}\``, `\`${scope}\``])
  return markdownTable(['route', 'right'], rows)
}
