/** The answer of `GET /v1/models`. */
import { isRecord, type Json, textOf } from '../../lib/json.ts'

export function listedModels(answer: unknown): readonly Json[] {
  const data = isRecord(answer) ? answer['data'] : undefined
  return Array.isArray(data) ? data.filter(isRecord) : []
}

/** The first that answers in text and may be called; one without a price may not. */
export function firstForChat(answer: unknown): string | undefined {
  const found = listedModels(answer).find((model) => {
    const { architecture, pricing } = model
    const modalities = isRecord(architecture) ? architecture['output_modalities'] : undefined
    return pricing !== null && (!Array.isArray(modalities) || modalities.includes('text'))
  })
  return found === undefined ? undefined : textOf(found['id']) || undefined
}
