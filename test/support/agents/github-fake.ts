/** GitHub as far as a sign-in sees it, on loopback, under the paths of an Enterprise server. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { TestContext } from 'node:test'
import { freePort } from '../process/free-port.ts'

export interface GithubFake {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly requests: string[]
  user: unknown
  emails: unknown
  /** Status of the API's answers. */
  apiStatus: number
}

const TOKEN = 'gho_canary-access-token'

export async function startGithubFake(test: Pick<TestContext, 'after'>): Promise<GithubFake> {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const challenges = new Map<string, string>()
  const github: GithubFake = {
    issuer,
    clientId: 'Iv1.0123456789abcdef',
    clientSecret: 'a secret between the two, of tests',
    requests: [],
    user: { id: 1815, login: 'ada', name: 'Ada Lovelace' },
    emails: [
      { email: 'old@example.org', primary: false, verified: true },
      { email: 'ada@example.com', primary: true, verified: true },
    ],
    apiStatus: 200,
  }
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', issuer)
    github.requests.push(url.pathname)
    const json = (body: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
    switch (url.pathname) {
      case '/login/oauth/authorize': {
        const code = `code-${challenges.size}`
        challenges.set(code, url.searchParams.get('code_challenge') ?? '')
        const back = new URL(url.searchParams.get('redirect_uri') ?? '')
        back.search = new URLSearchParams({ code, state: url.searchParams.get('state') ?? '' }).toString()
        return response.writeHead(302, { location: back.href }).end()
      }
      case '/login/oauth/access_token':
        return json(await redeem(request, { github, challenges }))
      case '/api/v3/user':
      case '/api/v3/user/emails': {
        if (request.headers.authorization !== `Bearer ${TOKEN}`) return json({ message: 'Bad credentials' }, 401)
        return json(url.pathname.endsWith('emails') ? github.emails : github.user, github.apiStatus)
      }
      default:
        return json({ message: 'Not Found' }, 404)
    }
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  test.after(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return github
}

interface Fixture {
  readonly github: GithubFake
  readonly challenges: Map<string, string>
}

/** Its errors come with the status 200. */
async function redeem(request: IncomingMessage, { github, challenges }: Fixture): Promise<unknown> {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  const form = new URLSearchParams(body)
  if (form.get('client_id') !== github.clientId || form.get('client_secret') !== github.clientSecret) {
    return { error: 'incorrect_client_credentials' }
  }
  const challenge = challenges.get(form.get('code') ?? '')
  challenges.delete(form.get('code') ?? '')
  const verifier = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url')
  if (challenge === undefined || challenge !== verifier) return { error: 'bad_verification_code' }
  return { access_token: TOKEN, scope: 'read:user,user:email', token_type: 'bearer' }
}
