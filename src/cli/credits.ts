/** `turnpike credits`: credit and debit accounts, show balances and reprice charges, directly in the database. */
import type { CatalogueEntry } from '../../catalogue/entry.ts'
import { catalogueInForce } from '../app/catalogue.ts'
import type { Config } from '../config/schema.ts'
import type { EnteredKind } from '../domain/credit.ts'
import type { Model } from '../domain/model.ts'
import { type NanoUsd, usdNumber, usdText } from '../domain/money.ts'
import type { Price } from '../domain/price/tariff.ts'
import { type Account, listAccounts } from '../features/accounts/queries.ts'
import { renderEntry } from '../features/credit/entries.ts'
import { addUp, type RerateSummary, rerate } from '../features/credit/rerate.ts'
import { buildModelBook } from '../features/models/book.ts'
import { markupOf, withMarkup } from '../features/models/price.ts'
import { storedCatalogue } from '../features/stored-settings/published-catalogue.ts'
import { recordPriceVersions } from '../features/usage/queries.ts'
import { ALL_TIME } from '../http/period.ts'
import {
  type AccountOption,
  auditCommand,
  type CommandContext,
  chosenAccount,
  EVERYTHING,
  withDatabase,
} from './database.ts'
import { wrongUsage } from './option-values.ts'
import { grouped, jsonLine, plainLine, printLine, progress } from './output.ts'

export interface CreditsEntryOptions extends AccountOption {
  /** Positive. */
  readonly usd: NanoUsd
  readonly note?: string
  readonly idempotencyKey?: string
}

export interface CreditsRerateOptions extends AccountOption {
  readonly model: string
  /** Unix milliseconds. */
  readonly from?: number
  readonly to?: number
  readonly since?: number
  readonly until?: number
  readonly allAccounts?: boolean
  readonly dryRun?: boolean
}

export async function creditsEnter(kind: EnteredKind, options: CreditsEntryOptions): Promise<void> {
  await withDatabase(async (context) => printLine(await addCreditEntry(context, kind, options)))
}

/** Creates a ledger entry, which takes effect with the next request, and returns the output of the command. */
export async function addCreditEntry(
  context: CommandContext,
  kind: EnteredKind,
  { account: id, usd, note, idempotencyKey, json }: CreditsEntryOptions,
): Promise<string> {
  const account = await chosenAccount(context, id)
  const requested = { kind, nanoUsd: usd, note, adjusts: undefined } as const
  const { entry, isReplay } = await context.credit.enter(account, requested, idempotencyKey)
  const details = { kind, usd: usdNumber(usd), note: note ?? null }
  const action = kind === 'debit' ? 'credit.taken' : 'credit.given'
  if (!isReplay)
    await auditCommand(context, context.db, { accountId: account.id, action, subject: account.id, details })
  if (json === true) return jsonLine(renderEntry({ ...entry, adjustedAt: undefined })).trimEnd()
  const balance = dollars(entry.balanceNanoUsd)
  const name = plainLine(account.name)
  if (isReplay) return `This idempotency key was used before: account ${name} had a balance of ${balance} then.`
  return `Account ${name} has a balance of ${balance}.`
}

export async function creditsShow({ account: id, json }: AccountOption): Promise<void> {
  await withDatabase(async (context) => {
    const account = await chosenAccount(context, id)
    const { balanceNanoUsd, heldNanoUsd, remainingNanoUsd } = await context.credit.read(account)
    const available = balanceNanoUsd - heldNanoUsd
    if (json === true) {
      const amounts = { balance_usd: usdNumber(balanceNanoUsd), held_usd: usdNumber(heldNanoUsd) }
      return void process.stdout.write(
        jsonLine({ account: account.id, ...amounts, available_usd: usdNumber(available) }),
      )
    }
    const limit = remainingNanoUsd === undefined ? ' Its plan is postpaid and has no credit limit.' : ''
    const amounts = `${dollars(balanceNanoUsd)}, ${dollars(heldNanoUsd)} of it held, ${dollars(available)} available`
    printLine(`Account ${plainLine(account.name)} has a balance of ${amounts}.${limit}`)
  })
}

export function dollars(amount: NanoUsd): string {
  return `${grouped(usdText(amount))} USD`
}

interface PricedModel extends Model {
  readonly price: Price
  readonly priceVersion: string
}

/** Reprices past charges at the current price. Charges at that price stay as they are, so that it is safe to repeat. */
export async function creditsRerate(options: CreditsRerateOptions): Promise<void> {
  const period = periodOf(options)
  if (options.allAccounts === true && options.account !== undefined)
    throw wrongUsage('--all-accounts and --account exclude each other.')
  await withDatabase(async (context) => {
    const { db, commit, termsOf, now } = context
    const priced = pricedModel(context.config, catalogueInForce(await storedCatalogue(db)), options.model)
    const { id: model } = priced
    const dryRun = options.dryRun === true
    const summaries: RerateSummary[] = []
    for (const { id: accountId, name, plan } of await chosenAccounts(context, options)) {
      const terms = termsOf(plan)
      const sold = soldBy(context.config.plans[plan], priced)
      const { price, priceVersion } = sold
      if (!dryRun) await recordPriceVersions(db, [priced, sold], now())
      if (options.allAccounts === true) progress(`${grouped(summaries.length)} accounts done, now ${name}`)
      summaries.push(await rerate({ db, commit }, { accountId, terms, model, price, priceVersion, period, dryRun }))
    }
    report(addUp(summaries), { ...options, model, priceVersion: priced.priceVersion, dryRun })
  })
}

function periodOf({ from, to, since, until }: CreditsRerateOptions) {
  const start = from ?? since
  if (start === undefined) throw wrongUsage("required option '--from <time>' not specified")
  const end = to ?? until ?? ALL_TIME.end
  if (end <= start) throw wrongUsage('--to must be after --from.')
  return { start, end }
}

/** At the price of a plan. */
function soldBy(plan: Config['plans'][string] | undefined, priced: PricedModel): PricedModel {
  const markup = plan && markupOf(plan)
  return markup === undefined ? priced : withMarkup(priced, markup)
}

async function chosenAccounts(context: CommandContext, options: CreditsRerateOptions): Promise<readonly Account[]> {
  if (options.allAccounts === true) return listAccounts(context.db, EVERYTHING)
  return [await chosenAccount(context, options.account)]
}

/** Finds the price of a model, even if its providers are no longer configured. */
function pricedModel({ models }: Config, catalogue: readonly CatalogueEntry[], name: string): PricedModel {
  const deployments = [...catalogue, ...models].flatMap((entry) => entry.deployments ?? [])
  const providers = new Set(deployments.map(({ provider }) => provider))
  const book = buildModelBook({ catalogue, models, providers, now: Date.now })
  const found = book.find(name)
  if (found === undefined)
    throw new Error(`Model '${name}' does not exist. Similar names: ${book.nearest(name, 3).join(', ')}.`)
  const model = book.find(found.aliasOf ?? found.id) ?? found
  const { price, priceVersion } = model
  if (price === undefined || priceVersion === undefined) throw new Error(`Model '${name}' has no price.`)
  return { ...model, price, priceVersion }
}

function report(
  summary: RerateSummary,
  { model, priceVersion, dryRun, json }: { model: string; priceVersion: string; dryRun: boolean; json?: boolean },
): void {
  const { charges, corrected, withoutUsage, refused } = summary
  const [charged, refunded] = [summary.chargedNanoUsd, summary.refundedNanoUsd]
  if (json === true) {
    const counts = { charges, corrected, without_usage: withoutUsage, refused }
    const amounts = { charged_usd: usdNumber(charged), refunded_usd: usdNumber(refunded) }
    process.stdout.write(jsonLine({ model, price_version: priceVersion, dry_run: dryRun, ...counts, ...amounts }))
  } else {
    const corrections = dryRun ? 'would be corrected' : 'corrected'
    printLine(
      `${grouped(corrected)} of ${grouped(charges)} charges of ${model} ${corrections}: ${dollars(refunded)} refunded, ${dollars(charged)} charged.`,
    )
    if (withoutUsage > 0) printLine(`${grouped(withoutUsage)} skipped: their usage records are past retention.`)
  }
  if (refused > 0)
    throw new Error(
      `${grouped(refused)} corrections were rejected because another process made them at the same time. Run the command again.`,
    )
}
