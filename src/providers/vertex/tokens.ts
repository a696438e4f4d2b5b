/**
 * Access tokens of Google Cloud: by a file (a service account's key, or any other kind that the library reads), else by
 * the credentials of the machine. The library is loaded at the first call; it keeps tokens and renews them in time.
 */
import { readFile } from 'node:fs/promises'
import type { AuthClient, GoogleAuth, JWTInput } from 'google-auth-library'

const SCOPES = ['https://www.googleapis.com/auth/cloud-platform']
const STANDARD_TOKEN_ADDRESS = 'https://oauth2.googleapis.com/token'

/** @param file Path of a credentials file; undefined: the machine's own. */
export function createTokenSource(file: string | undefined): () => Promise<string> {
  let auth: Promise<GoogleAuth> | undefined
  return async () => {
    auth ??= createAuth(file).catch((error: unknown) => {
      auth = undefined // what could not be read now may be there the next time
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

/** The library asks the public token service whatever the file's `token_uri` says; private networks have their own. */
function redirect({ transporter }: AuthClient, address: string): void {
  transporter.interceptors.request.add({
    resolved: async (options) => {
      if (options.url?.toString() === STANDARD_TOKEN_ADDRESS) options.url = new URL(address)
      return options
    },
  })
}
