/** `turnpike provider-credentials`: the account's own credentials at providers. Their keys are never arguments. */
import { text as readAll } from 'node:stream/consumers'
import { type Json, textOf } from '../../lib/json.ts'
import { wrongUsage } from '../option-values.ts'
import { itemsOf, jsonLine, note, plainLine, plainTable, print, recordOf, timeText } from '../output.ts'
import { clientOf } from './client.ts'
import { type RemoteOptions, readVariable } from './target.ts'

const PATH = '/provider-credentials'
/** Has the key of a provider, where it is not piped in. */
const KEY_VARIABLE = 'TURNPIKE_PROVIDER_API_KEY'

export interface AddOptions extends RemoteOptions {
  readonly name?: string
  /** ID of an API key. */
  readonly key?: string
  readonly allowFallback?: boolean
}

/** Standard output gets the ID and nothing else. */
export async function credentialsAdd(provider: string, options: AddOptions): Promise<void> {
  const { name, key, allowFallback, json } = options
  const optional = {
    ...(name === undefined ? {} : { name }),
    ...(key === undefined ? {} : { key_id: key }),
    ...(allowFallback === undefined ? {} : { allow_fallback: allowFallback }),
  }
  const body = { provider, api_key: await readProviderKey(), ...optional }
  const added = recordOf(await (await clientOf(options)).send('POST', PATH, body))
  if (json === true) return print(jsonLine(added))
  await print(`${plainLine(textOf(added['id']))}\n`)
  note(`The credential for ${plainLine(provider)} is ${statusText(added)}.`)
}

export async function credentialsList(options: RemoteOptions): Promise<void> {
  const page = await (await clientOf(options)).get(`${PATH}?limit=100`)
  if (options.json === true) return print(jsonLine(page))
  const rows = itemsOf(page).map((credential) => [
    textOf(credential['id']),
    textOf(credential['provider']),
    `…${textOf(credential['last4'])}`,
    textOf(credential['key_id']) || 'all keys',
    credential['allow_fallback'] === true ? 'yes' : 'no',
    textOf(credential['status']),
    timeText(credential['created_at']),
    textOf(credential['name']),
  ])
  await print(plainTable(['ID', 'PROVIDER', 'KEY', 'FOR', 'FALLBACK', 'STATUS', 'CREATED', 'NAME'], rows))
}

export async function credentialsRotate(id: string, options: RemoteOptions): Promise<void> {
  const body = { api_key: await readProviderKey() }
  const rotated = recordOf(await (await clientOf(options)).send('PATCH', `${PATH}/${id}`, body))
  if (options.json === true) return print(jsonLine(rotated))
  await print(`Rotated ${id}; the new key is ${statusText(rotated)}.\n`)
}

export async function credentialsRemove(id: string, options: RemoteOptions): Promise<void> {
  await (await clientOf(options)).send('DELETE', `${PATH}/${id}`)
  await print(
    options.json === true ? jsonLine({ id, object: 'provider_credential', deleted: true }) : `Removed ${id}.\n`,
  )
}

/** From the environment, else piped in: arguments are visible to other processes and in the history of shells. */
async function readProviderKey(): Promise<string> {
  const key = readVariable(KEY_VARIABLE)
  if (key !== undefined) return key
  if (process.stdin.isTTY) throw wrongUsage(`no key: pipe it in, or set ${KEY_VARIABLE}.`)
  const piped = (await readAll(process.stdin)).trim()
  if (piped === '') throw wrongUsage('the key from standard input is empty.')
  return piped
}

function statusText({ status }: Json): string {
  return status === 'untested' ? 'untested: the provider could not say whether it is valid' : plainLine(textOf(status))
}
