/**
 * The Open Responses contract (openresponses.org), against which answers and events are checked. It is
 * `TURNPIKE_OPEN_RESPONSES`, else `../shared/reference/open-responses/openapi.json` beside the project.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Compile, type Validator } from 'typebox/schema'

const FILE =
  process.env['TURNPIKE_OPEN_RESPONSES'] ??
  join(import.meta.dirname, '../../../shared/reference/open-responses/openapi.json')

interface Contract {
  readonly components: { readonly schemas: Readonly<Record<string, { readonly properties?: Fields }>> }
}
type Fields = Readonly<Record<string, { readonly enum?: readonly string[] }>>

const contract: Contract | undefined = existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : undefined
const validators = new Map<string, Validator>()
/** Names of schemas, by the type of their event. */
const EVENTS = new Map(
  Object.entries(contract?.components.schemas ?? {}).flatMap(([name, { properties }]) =>
    name.endsWith('StreamingEvent') ? (properties?.['type']?.enum ?? []).map((type) => [type, name] as const) : [],
  ),
)

/** Undefined: the contract is not there, and nothing is checked. */
export const missing = contract === undefined ? `${FILE} is missing` : undefined

export function checkResponse(response: unknown): void {
  check('ResponseResource', response)
}

/** @param event Of a type that the contract has. */
export function checkEvent(event: { readonly type: string }): void {
  if (contract === undefined) return
  check(EVENTS.get(event.type) ?? assert.fail(`The contract has no event ${event.type}.`), event)
}

function check(name: string, value: unknown): void {
  if (contract === undefined) return
  let validator = validators.get(name)
  if (validator === undefined) {
    validator = Compile({ $ref: `#/components/schemas/${name}`, components: contract.components })
    validators.set(name, validator)
  }
  if (validator.Check(value)) return
  const [, faults] = validator.Errors(value)
  assert.fail(`${name}: ${JSON.stringify(faults.slice(0, 3))} in ${JSON.stringify(value)}`)
}
