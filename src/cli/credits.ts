/** `turnpike credits`: credit, given, taken and shown directly in the database, by the same ledger as the service's. */
import { type NanoUsd, usdNumber, usdText } from '../domain/money.ts'
import type { EnteredKind } from '../features/credit/entry-limits.ts'
import { renderEntry } from '../features/credit/ledger-shapes.ts'
import { auditCommand } from './audit.ts'
import { chosenAccount, withDatabase } from './database.ts'
import type { AccountOption, CreditsEntryOptions } from './program.ts'

/** The service acts on it at once: it asks the database with every request. */
export async function creditsEnter(kind: EnteredKind, options: CreditsEntryOptions): Promise<void> {
  const { account: id, usd, note, idempotencyKey, json } = options
  await withDatabase(async (context) => {
    const account = await chosenAccount(context, id)
    const asked = { kind, nanoUsd: usd, note, adjusts: undefined } as const
    const { entry, isReplay } = await context.credit.enter(account, asked, idempotencyKey)
    const details = { kind, usd: usdNumber(usd), note: note ?? null }
    const action = kind === 'debit' ? 'credit.taken' : 'credit.given'
    if (!isReplay)
      await auditCommand(context, context.db, { accountId: account.id, action, subject: account.id, details })
    if (json === true) print(JSON.stringify(renderEntry({ ...entry, adjustedAt: undefined })))
    else if (isReplay) print(`This key was used before: the entry left ${account.id} ${dollars(entry.balanceNanoUsd)}.`)
    else print(`${account.id} has a balance of ${dollars(entry.balanceNanoUsd)}.`)
  })
}

export async function creditsShow({ account: id, json }: AccountOption): Promise<void> {
  await withDatabase(async (context) => {
    const account = await chosenAccount(context, id)
    const { balanceNanoUsd, heldNanoUsd, remainingNanoUsd } = await context.credit.read(account)
    const available = balanceNanoUsd - heldNanoUsd
    if (json === true) {
      const amounts = { balance_usd: usdNumber(balanceNanoUsd), held_usd: usdNumber(heldNanoUsd) }
      return print(JSON.stringify({ account: account.id, ...amounts, available_usd: usdNumber(available) }))
    }
    const limit = remainingNanoUsd === undefined ? ' Its plan has no limit: it is billed after the fact.' : ''
    const amounts = `${dollars(balanceNanoUsd)}, ${dollars(heldNanoUsd)} of it held, ${dollars(available)} available`
    print(`${account.id} has a balance of ${amounts}.${limit}`)
  })
}

export function dollars(amount: NanoUsd): string {
  return `${usdText(amount)} USD`
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
