/** `turnpike credits`: credit, given and shown directly in the database, by the same ledger as the service's. */
import { type NanoUsd, usdNumber, usdText } from '../domain/money.ts'
import { renderEntry } from '../features/credit/ledger-shapes.ts'
import { auditCommand } from './audit.ts'
import { chosenAccount, withDatabase } from './database.ts'
import type { AccountOption, CreditsGrantOptions } from './program.ts'

/** The service acts on it at once: it asks the database with every request. */
export async function creditsGrant({ account: id, usd, note, json }: CreditsGrantOptions): Promise<void> {
  await withDatabase(async (context) => {
    const account = await chosenAccount(context, id)
    const given = { kind: 'grant', nanoUsd: usd, note, adjusts: undefined } as const
    const entry = await context.credit.enter(account, given)
    const details = { kind: 'grant', usd: usdNumber(usd), note: note ?? null }
    const change = { accountId: account.id, action: 'credit.given', subject: account.id, details }
    await auditCommand(context, context.db, change)
    if (json === true) print(JSON.stringify(renderEntry({ ...entry, adjustedAt: undefined })))
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
