/**
 * Usage blocks that users of other gateways published because they were billed wrongly, each through the codec, the meter
 * and the price. The expected cost is computed by hand in the comment, in micro-dollars.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CatalogueTariff } from '../../catalogue/entry.ts'
import { gatewayNanoUsd, meteredUsage } from '../support/providers/gateway-price.ts'

interface Vector {
  /** What went wrong, and where it was reported. */
  readonly name: string
  readonly provider: 'anthropic' | 'bedrock' | 'google' | 'openai'
  /** The usage of the provider's answer, as it was published. */
  readonly usage: unknown
  /** Dollars per million tokens at the time of the report. */
  readonly tariff: CatalogueTariff
  readonly nanoUsd: bigint
}

const CLAUDE_SONNET = {
  input_per_million: 3,
  output_per_million: 15,
  cached_input_per_million: 0.3,
  cache_write_per_million: 3.75,
  cache_write_1h_per_million: 6,
} as const

const CLAUDE_OPUS_4_5 = {
  input_per_million: 5,
  output_per_million: 25,
  cached_input_per_million: 0.5,
  cache_write_per_million: 6.25,
  cache_write_1h_per_million: 10,
} as const

const GEMINI_2_5_PRO: CatalogueTariff = {
  input_per_million: 1.25,
  output_per_million: 10,
  cached_input_per_million: 0.125,
  tiers: [
    {
      above_prompt_tokens: 200_000,
      input_per_million: 2.5,
      output_per_million: 15,
      cached_input_per_million: 0.25,
    },
  ],
}

const VECTORS: readonly Vector[] = [
  {
    // 3 × 3 + 12304 × 3.75 + 550 × 15 = 9 + 46140 + 8250 = 54399; the provider's console said $0.05439.
    name: 'cache writes are not charged as input too (litellm 9812)',
    provider: 'anthropic',
    usage: { input_tokens: 3, cache_creation_input_tokens: 12304, cache_read_input_tokens: 0, output_tokens: 550 },
    tariff: CLAUDE_SONNET,
    nanoUsd: 54_399_000n,
  },
  {
    // 56322 × 1 + 72960 × 0.1 + 87 × 5 = 56322 + 7296 + 435 = 64053, as the reporter computed.
    name: 'more cached than fresh input is no negative input (new-api 5003)',
    provider: 'anthropic',
    usage: { input_tokens: 56322, cache_read_input_tokens: 72960, output_tokens: 87 },
    tariff: { input_per_million: 1, output_per_million: 5, cached_input_per_million: 0.1 },
    nanoUsd: 64_053_000n,
  },
  {
    // The text of 15055 is in no stored copy: the block is that of 15056, its author's report of the same day on the
    // same request, with the provider's split by lifetime. 31 × 3 + 1253 × 6 + 467 × 15 = 93 + 7518 + 7005 = 14616.
    name: 'an hour of caching costs twice the input (litellm 15055, by way of 15056)',
    provider: 'anthropic',
    usage: {
      input_tokens: 31,
      cache_creation_input_tokens: 1253,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 1253 },
      output_tokens: 467,
    },
    tariff: CLAUDE_SONNET,
    nanoUsd: 14_616_000n,
  },
  {
    // 17 × 0.05 + 482 × 0.4 = 0.85 + 192.8 = 193.65; with the 448 reasoning tokens alone it was 180.05.
    name: 'reasoning is part of the output, not all of it (litellm 18599)',
    provider: 'openai',
    usage: {
      completion_tokens: 482,
      prompt_tokens: 17,
      total_tokens: 499,
      completion_tokens_details: {
        rejected_prediction_tokens: 0,
        accepted_prediction_tokens: 0,
        audio_tokens: 0,
        reasoning_tokens: 448,
      },
      prompt_tokens_details: { audio_tokens: 0, cached_tokens: 0 },
    },
    tariff: { input_per_million: 0.05, output_per_million: 0.4, cached_input_per_million: 0.005 },
    nanoUsd: 193_650n,
  },
  {
    // 10 × 5 + 66360 × 0.5 + 32435 × 6.25 + 5120 × 25 = 50 + 33180 + 202718.75 + 128000 = 363948.75.
    name: 'reads and writes of the cache in one answer, with thinking (litellm 11364)',
    provider: 'anthropic',
    usage: {
      input_tokens: 10,
      cache_creation_input_tokens: 32435,
      cache_read_input_tokens: 66360,
      output_tokens: 5120,
      output_tokens_details: { thinking_tokens: 1710 },
    },
    tariff: CLAUDE_OPUS_4_5,
    nanoUsd: 363_948_750n,
  },
  {
    // The text of 18988 is in no stored copy: the block is that of 17410, of image output charged as text. The provider
    // counts 225 thoughts and 1120 tokens of image: 10 × 2 + 225 × 12 + 1120 × 120 = 20 + 2700 + 134400 = 137120.
    name: 'image output costs its own rate (litellm 18988, by way of 17410)',
    provider: 'google',
    usage: {
      promptTokenCount: 10,
      candidatesTokenCount: 1120,
      thoughtsTokenCount: 225,
      totalTokenCount: 1355,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: 10 }],
      candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1120 }],
    },
    tariff: { input_per_million: 2, output_per_million: 12, image_output_per_million: 120 },
    nanoUsd: 137_120_000n,
  },
  {
    // The stored part of 40006 has no counts: these are of 31282, an earlier report of the same sum.
    // 100 × 3 + 200 × 0.3 + 700 × 3.75 = 300 + 60 + 2625 = 2985; with all 1000 tokens at the input rate it was 5685.
    name: 'cached input is not charged as input again under a price of one’s own (litellm 40006, 31282)',
    provider: 'anthropic',
    usage: {
      input_tokens: 100,
      cache_creation_input_tokens: 700,
      cache_read_input_tokens: 200,
      output_tokens: 0,
    },
    tariff: CLAUDE_SONNET,
    nanoUsd: 2_985_000n,
  },
  {
    // 300000 × 10 + 20000 × 45 = 3000000 + 900000 = 3900000, where the short price gave $2.10.
    name: 'a long prompt prices the whole request (opencodex 908)',
    provider: 'openai',
    usage: { prompt_tokens: 300_000, completion_tokens: 20_000, total_tokens: 320_000 },
    tariff: {
      input_per_million: 5,
      output_per_million: 30,
      tiers: [{ above_prompt_tokens: 272_000, input_per_million: 10, output_per_million: 45 }],
    },
    nanoUsd: 3_900_000_000n,
  },
  {
    // The text of Portkey 1511 is in no stored copy: the block is that of its pull request 1211, of the same counts.
    // 368 × 3 + 10536 × 0.3 + 19 × 15 = 1104 + 3160.8 + 285 = 4549.8.
    name: 'Bedrock counts cached input beside the rest (Portkey 1511, by way of 1211)',
    provider: 'bedrock',
    usage: {
      cacheReadInputTokenCount: 10536,
      cacheReadInputTokens: 10536,
      cacheWriteInputTokenCount: 0,
      cacheWriteInputTokens: 0,
      inputTokens: 368,
      outputTokens: 19,
      totalTokens: 10923,
    },
    tariff: CLAUDE_SONNET,
    nanoUsd: 4_549_800n,
  },
  {
    // 300000 × 5 + 50000 × 22.5 = 1500000 + 1125000 = 2625000, as the reporter computed.
    name: 'long prompts of GPT-5.4 (Helicone 5690)',
    provider: 'openai',
    usage: { prompt_tokens: 300_000, completion_tokens: 50_000, total_tokens: 350_000 },
    tariff: {
      input_per_million: 2.5,
      output_per_million: 15,
      tiers: [{ above_prompt_tokens: 272_000, input_per_million: 5, output_per_million: 22.5 }],
    },
    nanoUsd: 2_625_000_000n,
  },
  {
    // (24643 − 24503) × 1.5 + 24503 × 0.15 + 3110 × 9 = 210 + 3675.45 + 27990 = 31875.45, as the reporter computed.
    name: 'cached images are not charged again as images (new-api 7229)',
    provider: 'google',
    usage: {
      promptTokenCount: 24643,
      cachedContentTokenCount: 24503,
      candidatesTokenCount: 3110,
      totalTokenCount: 27753,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 2643 },
        { modality: 'IMAGE', tokenCount: 22000 },
      ],
    },
    tariff: { input_per_million: 1.5, output_per_million: 9, cached_input_per_million: 0.15 },
    nanoUsd: 31_875_450n,
  },
  {
    // Above 200 000 tokens, cached ones included: (262960 − 257955) × 2.5 + 257955 × 0.25 + 1744 × 15
    // = 12512.5 + 64488.75 + 26160 = 103161.25.
    name: 'cached tokens count for the length of the prompt, and once (litellm 14849)',
    provider: 'google',
    usage: {
      promptTokenCount: 262960,
      cachedContentTokenCount: 257955,
      candidatesTokenCount: 1744,
      totalTokenCount: 264704,
    },
    tariff: GEMINI_2_5_PRO,
    nanoUsd: 103_161_250n,
  },
  {
    // (2006 − 1920) × 2.5 + 1920 × 1.25 + 300 × 10 = 215 + 2400 + 3000 = 5615.
    name: 'cached tokens are within the prompt (litellm 6215)',
    provider: 'openai',
    usage: {
      prompt_tokens: 2006,
      completion_tokens: 300,
      total_tokens: 2306,
      prompt_tokens_details: { cached_tokens: 1920 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
    tariff: { input_per_million: 2.5, output_per_million: 10, cached_input_per_million: 1.25 },
    nanoUsd: 5_615_000n,
  },
  {
    // 1000 fresh, 1000 read, 2000 written of 4000, at the rates of the report: 1000 × 5 + 1000 × 0.5 + 2000 × 6.25
    // + 100 × 30 = 5000 + 500 + 12500 + 3000 = 21000.
    name: 'OpenAI’s cache writes have a price (litellm 33772)',
    provider: 'openai',
    usage: {
      prompt_tokens: 4000,
      completion_tokens: 100,
      total_tokens: 4100,
      prompt_tokens_details: { cached_tokens: 1000, cache_write_tokens: 2000 },
    },
    tariff: {
      input_per_million: 5,
      output_per_million: 30,
      cached_input_per_million: 0.5,
      cache_write_per_million: 6.25,
    },
    nanoUsd: 21_000_000n,
  },
]

/** A whole answer of the provider around a usage block. */
function answer({ provider, usage }: Vector): string {
  switch (provider) {
    case 'anthropic':
      return JSON.stringify({
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [{ type: 'text', text: 'x' }],
        stop_reason: 'end_turn',
        stop_sequence: null,
        usage,
      })
    case 'bedrock':
      return JSON.stringify({
        output: { message: { role: 'assistant', content: [{ text: 'x' }] } },
        stopReason: 'end_turn',
        usage,
        metrics: { latencyMs: 1 },
      })
    case 'google':
      return JSON.stringify({
        candidates: [{ content: { role: 'model', parts: [{ text: 'x' }] }, finishReason: 'STOP', index: 0 }],
        usageMetadata: usage,
        modelVersion: 'm',
      })
    case 'openai':
      return JSON.stringify({
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
        usage,
      })
  }
}

for (const vector of VECTORS) {
  test(vector.name, () => {
    const usage = meteredUsage({ provider: vector.provider, stream: false, bytes: Buffer.from(answer(vector)) })
    assert.equal(gatewayNanoUsd(usage, vector.tariff), vector.nanoUsd)
  })
}
