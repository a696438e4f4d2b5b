/** Reads the values of flags and arguments of `turnpike agents`. What is not allowed is wrong usage: exit 2. */
import { InvalidArgumentError } from 'commander'
import { parseNanoUsd } from '../domain/money.ts'

export function parseAgentId(text: string): string {
  if (isAgentId(text)) return text
  throw new InvalidArgumentError("Allowed: the ID of an agent, agt_…; 'turnpike agents list' shows them.")
}

export function isAgentId(text: string): boolean {
  return /^agt_[0-9A-Za-z]+$/.test(text)
}

/** Its form alone: which ones there may be is the server's business. */
export function parseRepository(text: string): string {
  if (isRepository(text)) return text
  throw new InvalidArgumentError('Allowed: organisation/repository, such as example/website.')
}

export function isRepository(text: string): boolean {
  return /^[\w.-]+\/[\w.-]+$/.test(text)
}

/** @returns Dollars, above zero, as written with at most 9 decimals. */
export function parseMaxCost(text: string): number {
  const cost = parseNanoUsd(text)
  if (cost !== undefined && cost > 0n) return Number(text)
  throw new InvalidArgumentError('Allowed: dollars above 0 with at most 9 decimals, such as 2.50.')
}

export function parseMaxSteps(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Allowed: a whole number above 0.')
}
