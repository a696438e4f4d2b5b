/** `turnpike models`: what a server lets one use, and what it costs. */
import { isRecord, type Json, textOf } from '../lib/json.ts'
import { textTable } from '../lib/text-table.ts'
import { createClient } from './remote/client.ts'
import { listedModels } from './remote/listed-models.ts'
import { dollars } from './remote/money-text.ts'
import { jsonLine, plainLine } from './remote/plain-text.ts'
import { chooseTarget, type TargetOptions } from './remote/target.ts'

export interface ModelsOptions extends TargetOptions {
  readonly json?: boolean
}

export async function models(options: ModelsOptions): Promise<void> {
  const answer = await createClient(await chooseTarget(options)).get('/models')
  if (options.json === true) return void process.stdout.write(jsonLine(answer))
  const header = ['MODEL', 'OWNER', 'CONTEXT', 'MAX OUTPUT', 'INPUT $/M', 'OUTPUT $/M', 'CAN']
  process.stdout.write(textTable(header, listedModels(answer).map(rowOf)))
}

function rowOf(model: Json): readonly string[] {
  const pricing = isRecord(model['pricing']) ? model['pricing'] : {}
  const abilities = isRecord(model['capabilities']) ? Object.entries(model['capabilities']) : []
  return [
    textOf(model['id']),
    textOf(model['owned_by']),
    countText(model['context_window']),
    countText(model['max_output_tokens']),
    priceText(pricing['input_per_million']),
    priceText(pricing['output_per_million']),
    abilities.flatMap(([name, has]) => (has === true ? [name] : [])).join(','),
  ].map(plainLine)
}

const countText = (value: unknown) => (typeof value === 'number' ? String(value) : '-')
const priceText = (value: unknown) => (typeof value === 'number' ? dollars(value).slice(1) : '-')
