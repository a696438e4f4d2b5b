/** What an agent may be asked for. */
import { GatewayError } from '../../domain/errors.ts'
import type { Caller, Right } from '../../domain/identity/caller.ts'
import { type Model, notPriced } from '../../domain/model.ts'
import { type NanoUsd, parseNanoUsd } from '../../domain/money.ts'
import { isRepositoryName } from '../../runner/git/address.ts'
import { isBranchName } from '../../runner/git/checkout.ts'
import type { AgentBody } from './shapes.ts'

/** The price list, as far as agents need it. */
export interface AgentModels {
  /** By ID or alias. */
  find(id: string): Model | undefined
  /** The `count` nearest IDs, nearest first. */
  nearest(id: string, count: number): readonly string[]
}

/** Whether agents can be run at all. */
export type Availability = { readonly ok: true } | { readonly ok: false; readonly reason: string }

export interface AgentOrder {
  readonly name: string
  readonly repository: string
  readonly prompt: string
  /** Undefined: the operator's choice. */
  readonly model: string | undefined
  readonly baseBranch: string | undefined
  readonly maxCostNanoUsd: NanoUsd | undefined
  readonly maxSteps: number | undefined
}

/** Throws 400 with `param`. */
export function parseOrder(body: AgentBody): AgentOrder {
  const { name, repository, prompt, model, branch, max_cost_usd: maxCostUsd, max_steps: maxSteps } = body
  return {
    name,
    repository: parseRepository(repository),
    prompt,
    model: model ?? undefined,
    baseBranch: parseBranch(branch ?? undefined, 'branch'),
    maxCostNanoUsd: parseCost(maxCostUsd ?? undefined),
    maxSteps: maxSteps ?? undefined,
  }
}

export function parseRepository(text: string): string {
  if (isRepositoryName(text)) return text
  const message =
    "'repository' must be organisation/repository: letters, digits, '-', '_' and single dots, without '.git'."
  throw new GatewayError('invalid_value', message, { param: 'repository' })
}

/** The ID that the run is to use. Throws 422, or 403 for a model that the caller may not use. */
export function chooseModel(
  asked: string | undefined,
  { caller, models, standard }: { caller: Caller; models: AgentModels; standard: string | undefined },
): string {
  const id = asked ?? standard
  if (id === undefined) {
    const message =
      "No model was named, and the operator has set none for agents ('agents.model'). Name one in 'model'."
    throw new GatewayError('model_not_found', message, { param: 'model' })
  }
  const model = models.find(id)
  if (model === undefined) throw unknownModel(id, models)
  if (caller.models !== undefined && !caller.models.has(model.id) && !caller.models.has(model.aliasOf ?? model.id)) {
    throw new GatewayError('model_not_allowed', `This key may not use the model '${model.id}'.`, { param: 'model' })
  }
  if (model.price === undefined) throw notPriced(model)
  if (!model.capabilities.function_calling) {
    const message = `The model '${model.id}' cannot call functions, which agents need. GET /v1/models?capability=function_calling lists those that can.`
    throw new GatewayError('unsupported_parameter', message, { param: 'model' })
  }
  return id
}

/** What a run works with. */
const RUN_RIGHTS: readonly Right[] = ['chat', 'agents:read', 'agents:write']

/**
 * Throws 403 where a message to a run would be carried out with more than its author has: rights that the author lacks, or
 * without the author's limits, unless what the run spends counts against them.
 */
export function assertMayJoin(author: Caller, run: Caller): void {
  const isOwn = author.kind === run.kind && author.keyId === run.keyId
  if (isOwn || (author.kind === 'key' && run.ancestors?.some(({ keyId }) => keyId === author.keyId) === true)) return
  if (author.teamId !== undefined && author.teamId !== run.teamId) throw ofAnotherTeam()
  const missing = RUN_RIGHTS.find((right) => run.scopes.has(right) && !author.scopes.has(right))
  if (missing === undefined && author.isLimited !== true) return
  const why = missing === undefined ? 'a budget, models, a rate or an expiry' : `no right '${missing}'`
  const message = `This agent works for somebody who may do more: your credential has ${why}. Wait until it has ended; then a follow-up begins a run of your own.`
  throw new GatewayError('insufficient_scope', message)
}

function ofAnotherTeam(): GatewayError {
  const message =
    'This agent works with the limits of another team. Wait until it has ended; then a follow-up begins a run of your own.'
  return new GatewayError('insufficient_scope', message)
}

export function requireAgents(availability: Availability): void {
  if (availability.ok) return
  const message = `Agents cannot be run here at the moment: ${availability.reason}`
  throw new GatewayError('agents_unavailable', message, { retryAfterMs: 60_000 })
}

function unknownModel(id: string, models: AgentModels): GatewayError {
  const nearest = models.nearest(id, 3).map((one) => `'${one}'`)
  const hint = nearest.length === 0 ? '' : ` Did you mean ${nearest.join(', ')}?`
  const message = `The model '${id.slice(0, 100)}' does not exist.${hint} GET /v1/models lists all.`
  return new GatewayError('model_not_found', message, { param: 'model' })
}

/** @param param The field that it is of. */
export function parseBranch(text: string | undefined, param: string): string | undefined {
  if (text === undefined || isBranchName(text)) return text
  throw new GatewayError('invalid_value', `'${param}' must be the name of a branch, such as main.`, { param })
}

function parseCost(usd: number | undefined): NanoUsd | undefined {
  if (usd === undefined) return undefined
  const cost = parseNanoUsd(usd)
  if (cost !== undefined && cost > 0n) return cost
  const message = "'max_cost_usd' must be an amount of at most 9 decimals, above 0."
  throw new GatewayError('invalid_value', message, { param: 'max_cost_usd' })
}
