/** `docs/members.md`: who may do what, out of the table of rights and the routes of the composed application. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MEMBER_RIGHTS, RIGHTS, type Right, ROLES } from '../../src/domain/rights.ts'
import { API_SCOPES } from '../../src/features/oauth/scopes.ts'
import { readRoutes, type TableRow } from '../../test/support/routes.ts'
import { markdownTable } from './providers-page.ts'

const HEAD = `# Accounts, members, rights

An account has members, API keys, credit and everything else; nothing is shared between accounts. A person can be a member of
several accounts and goes from one to another in the dashboard. The tables here are written by
\`npm run generate:docs\` out of \`src/domain/rights.ts\` and the routes; the matrix test asks every route with every
kind of credential for what they say.

## Rights

A route asks for one right. A member has those of the role, as it is at that moment. An API key has those of its scopes, or with none
given all but \`operator\`; a device has those that were approved and that its person has.

`

const BETWEEN = `
\`operator\` is beyond any account. The owners of the installation's first account have it in the dashboard, and keys that
\`turnpike keys create --operator\` makes.

Nobody gives more than they have. Owners give every role, admins every role but \`owner\`, and only owners change or remove owners.
Nobody raises themselves. A key of full access manages members as an admin does, and the operator's as an owner. A key gets at
most the rights of whoever makes it, see [keys](keys.md).

## Routes

What is not in the table needs no right: pages, sign-in, the [device flow](devices.md), documentation and probes. \`GET /v1/me\` answers any credential.
Without a valid credential the answer is 401, without the right 403 \`insufficient_scope\`. What belongs to another account
is answered exactly as what does not exist: 404.

`

const FOOT = `
\`DELETE /v1/members/{id}\` of somebody else also needs \`members\`; everybody may leave. Devices are one's own, for owners and admins everybody's
with \`all=true\`.

## Coming in

- **The first.** Whoever is the first to sign in with an [identity provider](sign-in.md) becomes the owner of the first account. The link
  of \`turnpike login-link\` signs in the account's first owner; where there is none yet, it makes one, called \`owner@localhost\`.
  That one does not count as the first: who signs in with a provider afterwards becomes an owner beside it, and may remove it. So whoever sets up a
  provider should be the first to use it.
- **By invitation.** \`POST /v1/invitations\` answers with a link, once. It is good for 7 days and for one person, who becomes what it says; \`email\` is a note, nothing
  is sent. It is worth nothing once whoever made it has left or could not make it any more. A member who opens it stays what they are, and it stays good.
- **By nothing else.** People are known by what their provider calls them (issuer and subject), never by their e-mail address. A stranger
  who signs in without an invitation is told so, and nothing is kept of them.

## Going out

Removing a member, and leaving, ends their sessions in the account, disconnects their devices and revokes the API keys they made within a second, also for
requests under way. None of it comes back if the person does. Keys that a program is to keep are made on the command line, or with
such a key: they belong to nobody. The last owner can neither leave nor be made less (409 \`conflict\`).

## Audit log

Changes of keys, members, invitations, devices, sessions, names and plans are written in the same transaction as the change, with who, what, from where
and the result. Budgets, alerts and credit belong to the ledger, which commits by itself: their rows follow right after its commit. Changes of keys and members
that ask for more than the asker has are written, too, as refused. \`GET /v1/audit\` lists them, the newest first; \`action\`, \`actor_id\`, \`from\` and
\`to\` filter. Rows cannot be changed or deleted, by nobody, and are kept as long as the account, at least 400 days. What the command line does is there as \`command_line\`, with the
name of the system's user. What an operator does to another account is in both accounts' logs; there, the operator is named no further.
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
    const key = isMembers ? 'with full access' : 'as scope'
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
