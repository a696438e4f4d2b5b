import { createSignInLink, signInUrl } from '../features/accounts/sign-in-link.ts'
import { auditCommand } from './audit.ts'
import { chosenAccount, withDatabase } from './database.ts'

/** Prints a sign-in link for the owner of the first account, good once and for 15 minutes, and nothing else. */
export async function loginLink(_options: object = {}): Promise<void> {
  await withDatabase(async (context) => {
    const { id: accountId } = await chosenAccount(context, undefined)
    const token = await context.db.transaction().execute(async (inside) => {
      const change = { accountId, action: 'sign_in_link.created', subject: undefined, details: {} }
      await auditCommand(context, inside, change)
      return createSignInLink(inside, accountId, context.now())
    })
    process.stdout.write(`${signInUrl(context.config.server.public_url, token)}\n`)
  })
}
