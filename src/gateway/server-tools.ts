/** Fees of tools that run at the provider: what is held for them, and what is charged. */
import type { ChatRequest } from '../domain/chat.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Price } from '../domain/price/tariff.ts'
import {
  refuseUnpricedTools,
  requestedToolUses,
  type ToolUses,
  toolFee,
  unpricedTool,
} from '../protocols/server-tools.ts'
import type { Target } from './upstream/registry.ts'
import type { CallUsage } from './usage/meter.ts'

type Addressed = Pick<Target, 'upstream' | 'model'>

export interface ToolWorst {
  /** Most uses of all calls together, by name in prices. */
  readonly uses: Readonly<Record<string, number>>
  /** What a tool finds is read by the model: prompts may grow to the window. */
  readonly growsPrompt: boolean
}

const NONE: ToolWorst = { uses: {}, growsPrompt: false }

/**
 * The most that tools can be used, whatever target answers.
 * @throws GatewayError `unsupported_parameter` for a tool without a price, or with a fee and without a limit.
 */
export function worstOfTools(
  request: ChatRequest,
  { price, targets, calls }: { readonly price: Price; readonly targets: readonly Addressed[]; readonly calls: number },
): ToolWorst {
  if (price.serverToolNanoUsd === undefined && request.serverTools === undefined) return NONE
  refuseUnpricedTools(request, price)
  const uses: Record<string, number> = {}
  let growsPrompt = false
  for (const target of targets) {
    for (const [name, { limit, param = 'tools' }] of Object.entries(usesAt(request, target))) {
      growsPrompt = true
      const fee = toolFee(name, price)
      if (fee === undefined) throw unpricedTool(name, param)
      if (limit === undefined && fee > 0) throw unlimited(request, name)
      uses[name] = Math.max(uses[name] ?? 0, (limit ?? 0) * calls)
    }
  }
  return growsPrompt ? { uses, growsPrompt } : NONE
}

function usesAt(request: ChatRequest, { upstream, model }: Addressed): ToolUses {
  const { toolUses } = upstream.provider.protocol
  return toolUses === undefined ? requestedToolUses(request) : toolUses(request, model)
}

function unlimited({ serverTools = [] }: ChatRequest, name: string): GatewayError {
  const param = serverTools.find((tool) => tool.name === name)?.param ?? name
  const message = `\`${param}\` is not supported: nothing limits how often the provider uses it, and each use has a fee. Send \`max_uses\`.`
  return new GatewayError('unsupported_parameter', message, { param })
}

interface UsedTools {
  readonly price: Price
  readonly request: ChatRequest
  /** Of the last attempt. */
  readonly target: Addressed | undefined
  /** Of its calls. */
  readonly usages: readonly CallUsage[]
}

/** The most uses, by name, that a provider may report; undefined: the price has no fees, so any number. */
export function believedUses({
  price,
  request,
  target,
  usages,
}: UsedTools): Readonly<Record<string, number>> | undefined {
  if (price.serverToolNanoUsd === undefined || target === undefined) return undefined
  const calls = Math.max(1, usages.length)
  const believed = Object.entries(usesAt(request, target)).map(([name, { limit: max, counted = 'uses' }]) => {
    const limit = counted === 'uses' ? (max ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY
    return [name, limit * calls] as const
  })
  return Object.fromEntries(believed)
}

/** Uses to charge for: the reported ones, or as many as the provider bills whatever it reports. */
export function chargedUses(
  { price, request, target, usages }: UsedTools,
  reported: Readonly<Record<string, number>> | undefined,
): Readonly<Record<string, number>> | undefined {
  if (price.serverToolNanoUsd === undefined || target === undefined) return reported
  let charged = reported
  for (const [name, { counted }] of Object.entries(usesAt(request, target))) {
    if (counted === 'always') charged = { ...charged, [name]: Math.max(1, usages.length) }
    if (counted === 'calls' && reported?.[name] !== undefined) {
      charged = { ...charged, [name]: usages.filter(({ usage }) => (usage.serverToolUses?.[name] ?? 0) > 0).length }
    }
  }
  return charged
}
