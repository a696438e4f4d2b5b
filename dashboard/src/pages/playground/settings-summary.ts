import { plural } from '../../lib/format.ts'
import { type Settings, stopsOf, toolsOf } from './settings.ts'

/** What is set, in one line; empty when nothing is. */
export function summaryOf(settings: Settings): string {
  const { format, temperature, topP, maxTokens, seed, effort } = settings
  const tools = toolsOf(settings.tools)?.length ?? 0
  const stops = stopsOf(settings.stop).length
  const parts = [
    tools > 0 && plural(tools, 'tool'),
    format === 'json_object' && 'JSON object',
    format === 'json_schema' && 'JSON schema',
    temperature !== undefined && `temperature ${temperature}`,
    topP !== undefined && `top P ${topP}`,
    maxTokens !== undefined && plural(maxTokens, 'token at most', 'tokens at most'),
    seed !== undefined && `seed ${seed}`,
    stops > 0 && plural(stops, 'stop sequence'),
    effort !== '' && `${effort} effort`,
  ]
  return parts.filter((part) => part !== false).join(' · ')
}
