import { createSignInLink, signInUrl } from '../features/accounts/sign-in-link.ts'
import { chosenAccount, withDatabase } from './database.ts'

/** Prints a sign-in link for the owner of the first account, good once and for 15 minutes, and nothing else. */
export async function loginLink(_options: object = {}): Promise<void> {
  await withDatabase(async (context) => {
    const { id: accountId } = await chosenAccount(context, undefined)
    const token = await createSignInLink(context.db, accountId, context.now())
    process.stdout.write(`${signInUrl(context.config.server.public_url, token)}\n`)
  })
}
