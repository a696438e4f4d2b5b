/** Configuration of the measured gateways: models of one upstream on loopback, and limits that no load reaches. */

export const CHUNKS = 300
export const MODELS = ['json', 'idle', `stream-${CHUNKS}`, `paced-${CHUNKS}`]

/** @param models IDs, each a model of the upstream with the same name. */
export function configOf(upstreamPort: number, models: readonly string[] = MODELS) {
  return {
    providers: { up: { protocol: 'openai', base_url: `http://127.0.0.1:${upstreamPort}/v1`, api_key: 'sk-up' } },
    models: models.map((id) => ({
      id,
      owned_by: 'up',
      capabilities: { streaming: true, function_calling: true },
      context_window: 128_000,
      max_output_tokens: 4096,
      pricing: { input_per_million: 1, output_per_million: 2 },
      deployments: [{ provider: 'up', model: id }],
    })),
    plans: { bench: { billing: 'postpaid', requests_per_minute: 100_000_000, max_in_flight: 10_000 } },
    accounts: { default_plan: 'bench' },
  }
}
