/** Guardrails as the gateway tells of them, and what is done to them. */
import { useQueryClient } from '@tanstack/react-query'
import { api, take } from '../../../api/client.ts'
import type { paths } from '../../../api/schema.d.ts'
import { type Pages, usePages } from '../../../ui/table/paged.tsx'

const GUARDRAILS = '/v1/guardrails'
const ONE = '/v1/guardrails/{id}'
const PAGE_SIZE = 50

interface Found {
  readonly action: 'mask' | 'block'
  readonly applies_to?: readonly ('prompt' | 'answer')[]
}

/** As the API's description has it, whose alternatives of required fields the generated type loses. */
export type Rule =
  | (Found & { readonly kind: 'secrets' })
  | (Found & { readonly kind: 'pii'; readonly types?: readonly string[] })
  | (Found & { readonly kind: 'regex'; readonly pattern?: string; readonly words?: readonly string[] })
  | {
      readonly kind: 'max_prompt'
      readonly action?: 'block'
      readonly max_characters?: number
      readonly max_tokens?: number
    }
  | { readonly kind: 'tools'; readonly action?: 'block'; readonly allowed: readonly string[] }
  | {
      readonly kind: 'http'
      readonly url: string
      readonly action?: 'mask' | 'block'
      readonly stages?: readonly ('pre' | 'stream' | 'post')[]
      readonly timeout_ms?: number
      readonly fail?: 'open' | 'closed'
    }

type Listed = paths[typeof GUARDRAILS]['get']['responses'][200]['content']['application/json']['data'][number]
export interface Guardrail extends Omit<Listed, 'rules'> {
  readonly rules: readonly Rule[]
}

export interface GuardrailBody {
  readonly name: string
  readonly rules: readonly Rule[]
  readonly keys: readonly string[] | null
  readonly teams: readonly string[] | null
}

export function useGuardrails(): Pages<Guardrail> {
  return usePages([GUARDRAILS], async (cursor) => {
    const query = { limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) }
    const page = await take(api.GET(GUARDRAILS, { params: { query } }))
    return { ...page, data: page.data as Guardrail[] }
  })
}

export function useGuardrailActions() {
  const queries = useQueryClient()
  const changed = () => queries.invalidateQueries({ queryKey: [GUARDRAILS] })
  return {
    async add(guardrail: GuardrailBody): Promise<void> {
      const body =
        guardrail as unknown as paths[typeof GUARDRAILS]['post']['requestBody']['content']['application/json']
      await take(api.POST(GUARDRAILS, { body }))
      await changed()
    },
    async change(id: string, changes: Partial<GuardrailBody> & { readonly enabled?: boolean }): Promise<void> {
      const body = changes as paths[typeof ONE]['patch']['requestBody']['content']['application/json']
      await take(api.PATCH(ONE, { params: { path: { id } }, body }))
      await changed()
    },
    async remove(id: string): Promise<void> {
      await take(api.DELETE(ONE, { params: { path: { id } } }))
      await changed()
    },
  }
}
