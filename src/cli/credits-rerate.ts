/** `turnpike credits rerate`: what was charged at a wrong price, corrected to the configuration's of today. */
import { CATALOGUE } from '../../catalogue/index.ts'
import type { Config } from '../config/schema.ts'
import type { Model } from '../domain/model.ts'
import { usdNumber } from '../domain/money.ts'
import type { Price } from '../domain/price.ts'
import { type Account, listAccounts } from '../features/accounts/queries.ts'
import { addUp, type RerateSummary, rerate } from '../features/credit/rerate.ts'
import { buildModelBook, type ModelBook } from '../features/models/book.ts'
import { recordPriceVersions } from '../features/usage/queries.ts'
import { ALL_TIME } from '../http/period.ts'
import { dollars } from './credits.ts'
import { type CommandContext, chosenAccount, EVERYTHING, withDatabase } from './database.ts'
import type { CreditsRerateOptions } from './program.ts'
import { wrongUsage } from './wrong-usage.ts'

interface PricedModel extends Model {
  readonly price: Price
  readonly priceVersion: string
}

/** Safe to repeat, and while the service runs: what stands at today's price already is left alone. */
export async function creditsRerate(options: CreditsRerateOptions): Promise<void> {
  const period = { start: options.since, end: options.until ?? ALL_TIME.end }
  if (period.end <= period.start) throw wrongUsage('--until: after --since.')
  if (options.allAccounts === true && options.account !== undefined)
    throw wrongUsage('--all-accounts: not together with --account.')
  await withDatabase(async (context) => {
    const { db, commit, termsOf, now } = context
    const priced = pricedModel(context.config, options.model)
    const { id: model, price, priceVersion } = priced
    const dryRun = options.dryRun === true
    if (!dryRun) await recordPriceVersions(db, [priced], now())
    const summaries: RerateSummary[] = []
    for (const { id: accountId, plan } of await chosenAccounts(context, options)) {
      const terms = termsOf(plan)
      summaries.push(await rerate({ db, commit }, { accountId, terms, model, price, priceVersion, period, dryRun }))
    }
    tell(addUp(summaries), { ...options, model, priceVersion, dryRun })
  })
}

async function chosenAccounts(context: CommandContext, options: CreditsRerateOptions): Promise<readonly Account[]> {
  if (options.allAccounts === true) return listAccounts(context.db, EVERYTHING)
  return [await chosenAccount(context, options.account)]
}

/** Also of a model whose providers are not configured any more. */
function pricedModel({ models }: Config, name: string): PricedModel {
  const deployments = [...CATALOGUE, ...models].flatMap((entry) => entry.deployments ?? [])
  const providers = new Set(deployments.map(({ provider }) => provider))
  const book: ModelBook = buildModelBook({ catalogue: CATALOGUE, models, providers, now: Date.now })
  const found = book.find(name)
  if (found === undefined)
    throw new Error(`There is no model '${name}'; near it are ${book.nearest(name, 3).join(', ')}.`)
  const model = book.find(found.aliasOf ?? found.id) ?? found
  const { price, priceVersion } = model
  if (price === undefined || priceVersion === undefined) throw new Error(`The model '${name}' has no price.`)
  return { ...model, price, priceVersion }
}

function tell(
  summary: RerateSummary,
  { model, priceVersion, dryRun, json }: { model: string; priceVersion: string; dryRun: boolean; json?: boolean },
): void {
  const { charges, corrected, withoutUsage, refused } = summary
  const [charged, refunded] = [summary.chargedNanoUsd, summary.refundedNanoUsd]
  if (json === true) {
    const counts = { charges, corrected, without_usage: withoutUsage, refused }
    const amounts = { charged_usd: usdNumber(charged), refunded_usd: usdNumber(refunded) }
    print(JSON.stringify({ model, price_version: priceVersion, dry_run: dryRun, ...counts, ...amounts }))
  } else {
    const done = dryRun ? 'would be corrected' : 'were corrected'
    print(
      `${corrected} of ${charges} charges of ${model} ${done}: ${dollars(refunded)} back, ${dollars(charged)} more.`,
    )
    if (withoutUsage > 0) print(`${withoutUsage} are too old: their usage rows are deleted.`)
  }
  if (refused > 0)
    throw new Error(`${refused} corrections were refused: they were made by somebody else. Run it again.`)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
