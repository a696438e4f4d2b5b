/** `turnpike whoami`: as whom commands speak, and to which server. */
import { isRecord, type Json, textOf } from '../lib/json.ts'
import { createClient } from './remote/client.ts'
import { jsonLine, plainLine } from './remote/plain-text.ts'
import { chooseTarget, type Target, type TargetOptions } from './remote/target.ts'

export interface WhoamiOptions extends TargetOptions {
  readonly json?: boolean
}

export async function whoami(options: WhoamiOptions): Promise<void> {
  const target = await chooseTarget(options)
  const me = await createClient(target).get('/me')
  if (options.json === true) return void process.stdout.write(jsonLine(me))
  const lines = describe(isRecord(me) ? me : {}, target)
  process.stdout.write(lines.map(([name, text]) => `${name.padEnd(9)} ${plainLine(text)}\n`).join(''))
}

function describe(me: Json, { url, profile }: Target): readonly (readonly [name: string, text: string])[] {
  const [user, account, credential] = ['user', 'account', 'credential'].map((name) => partOf(me, name))
  const person = textOf(user?.['email'])
  const role = textOf(me['role'])
  const expires = textOf(credential?.['expires_at'])
  const scopes: readonly unknown[] = Array.isArray(credential?.['scopes']) ? credential['scopes'] : []
  return [
    ['server', url],
    ['profile', profile?.name ?? 'none: the key in TURNPIKE_API_KEY'],
    ['user', person === '' ? 'none: a key of the account' : `${person}${role === '' ? '' : ` (${role})`}`],
    ['account', `${textOf(account?.['name'])} (${textOf(account?.['id'])}), plan ${textOf(account?.['plan'])}`],
    [
      'with',
      `${textOf(credential?.['kind'])} ${textOf(credential?.['id'])}${expires === '' ? '' : `, until ${expires}`}`,
    ],
    ['may', scopes.map(textOf).join(', ')],
  ]
}

function partOf(me: Json, name: string): Json {
  const part = me[name]
  return isRecord(part) ? part : {}
}
