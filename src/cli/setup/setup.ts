/** `turnpike setup`: the configuration of a coding client for a gateway, printed, or applied to the client's own file. */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { processEnvironment } from '../../config/environment.ts'
import { note, plainText, print } from '../output.ts'
import { firstForChat } from '../remote/account.ts'
import { createClient } from '../remote/client.ts'
import { chooseTarget, type TargetOptions } from '../remote/target.ts'
import { CLIENTS, type ClientSettings } from './clients.ts'
import type { ClientName } from './names.ts'

export interface SetupOptions extends TargetOptions {
  readonly model?: string
  readonly smallModel?: string
  readonly keyVariable: string
  readonly write?: boolean
  readonly yes?: boolean
}

/** Prints what would be in the client's file, or changes the file. Rejects without effect where it cannot be read. */
export async function setup(name: ClientName, options: SetupOptions): Promise<void> {
  const client = CLIENTS[name]
  const settings = await settingsOf(options)
  const path = client.path({ env: processEnvironment, home: homedir() })
  const before = await readText(path)
  const page = `${settings.url}/docs/clients/${client.page}`
  const hint = plainText(`${client.hint(settings)} More: ${page}`)
  if (options.write !== true) {
    await print(client.edit('', settings))
    note(`Add this to ${path}, or run this command with --write. ${hint}`)
    return
  }
  const after = edited(path, () => client.edit(before ?? '', settings))
  if (after === before) return note(`${path} has these settings already. ${hint}`)
  await print(plainText(`${path}\n${lineDiff(before ?? '', after)}`))
  if (options.yes !== true && !(await confirm(`Change ${path}? [y/N] `))) return note('Nothing was changed.')
  await replaceFile(path, after)
  note(`Changed ${path}. ${hint}`)
}

async function settingsOf(options: SetupOptions): Promise<ClientSettings> {
  const { url, model, keyVariable } = options
  if (url !== undefined && model !== undefined) {
    return { url, model, smallModel: options.smallModel ?? model, keyVariable }
  }
  const target = await chooseTarget(options)
  const chosen = model ?? firstForChat(await createClient(target).get('/models'))
  if (chosen === undefined) throw new Error(`${target.url} has no model for chat. Name one with --model.`)
  return { url: target.url, model: chosen, smallModel: options.smallModel ?? chosen, keyVariable }
}

function edited(path: string, edit: () => string): string {
  try {
    return edit()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${path} was not changed, since it cannot be read: ${plainText(reason)}`)
  }
}

/** @returns undefined when there is no such file. */
async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')))
  try {
    return /^y(?:es)?$/i.test((await Promise.race([terminal.question(question), ended])).trim())
  } finally {
    terminal.close()
  }
}

/** Replaces the file at once, with its permissions; a symbolic link stays one. */
async function replaceFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const target = await realpath(path).catch(() => path)
  const mode = await stat(target).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  )
  const draft = `${target}.${randomBytes(6).toString('hex')}`
  try {
    await writeFile(draft, text, { mode, flag: 'wx', flush: true })
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

const CONTEXT_LINES = 2

/**
 * Compares two texts for people who confirm a change: returns the lines that differ, `-` before and `+` after, with two lines
 * around them. One hunk: everything between the first and the last difference. Linear in the length of the texts.
 */
export function lineDiff(before: string, after: string): string {
  const [old, changed] = [linesOf(before), linesOf(after)]
  const shorter = Math.min(old.length, changed.length)
  let start = 0
  while (start < shorter && old[start] === changed[start]) start++
  let end = 0
  while (end < shorter - start && old.at(-1 - end) === changed.at(-1 - end)) end++
  const lead = old.slice(Math.max(0, start - CONTEXT_LINES), start)
  const trail = end === 0 ? [] : old.slice(-end).slice(0, CONTEXT_LINES)
  const lines = [
    ...lead.map((line) => `  ${line}`),
    ...old.slice(start, old.length - end).map((line) => `- ${line}`),
    ...changed.slice(start, changed.length - end).map((line) => `+ ${line}`),
    ...trail.map((line) => `  ${line}`),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}
