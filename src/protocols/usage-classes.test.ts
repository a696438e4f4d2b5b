import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent, Usage } from '../domain/chat.ts'
import { usageOf as anthropicUsageOf, readCounts } from './anthropic-messages/response.ts'
import { parseUsage as parseBedrock } from './bedrock-converse/response.ts'
import { parseUsage as parseGemini } from './gemini/response.ts'
import { parseUsage as parseOpenAi, parseResponse } from './openai-chat/response.ts'
import { streamParser } from './openai-chat/stream.ts'

const usageOf = (events: readonly ChatEvent[]): Usage | undefined =>
  events.reduce<Usage | undefined>((last, event) => (event.type === 'usage' ? event.usage : last), undefined)

test('openai-chat: audio, images, cache writes by lifetime and uses of tools are read', () => {
  const wire = {
    prompt_tokens: 1000,
    completion_tokens: 200,
    prompt_tokens_details: {
      cached_tokens: 100,
      audio_tokens: 50,
      cached_tokens_details: { audio_tokens: 10 },
      cache_write_tokens: 300,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
    },
    completion_tokens_details: { reasoning_tokens: 20, audio_tokens: 30, image_tokens: 40 },
    server_tool_use: { web_search_requests: 2, tool_calls: 0 },
    server_side_tool_usage_details: { x_search_calls: 1 },
    num_sources_used: 7,
    num_search_queries: 3,
  }
  assert.deepEqual(parseOpenAi(wire, 'Priority'), {
    promptTokens: 1000,
    completionTokens: 200,
    cachedTokens: 100,
    cachedAudioTokens: 10,
    audioInputTokens: 50,
    cacheWriteTokens: 300,
    cacheWrite1hTokens: 200,
    reasoningTokens: 20,
    audioOutputTokens: 30,
    imageOutputTokens: 40,
    serverToolUses: { web_search: 5, x_search: 1, live_search: 7 },
    serviceTier: 'priority',
  })
  assert.deepEqual(parseOpenAi({ prompt_tokens: 1, completion_tokens: 1 }, 'default'), {
    promptTokens: 1,
    completionTokens: 1,
  })
})

test('openai-chat: whole and streamed answers name the service tier beside the usage', () => {
  const usage = { prompt_tokens: 1, completion_tokens: 1 }
  const choices = [{ index: 0, message: { content: 'a' }, finish_reason: 'stop' }]
  assert.equal(usageOf(parseResponse(JSON.stringify({ choices, usage, service_tier: 'flex' })))?.serviceTier, 'flex')
  const events: ChatEvent[] = []
  const data = JSON.stringify({ choices: [], usage, service_tier: 'flex' })
  streamParser().push({ event: '', data } as Parameters<ReturnType<typeof streamParser>['push']>[0], events)
  assert.equal(usageOf(events)?.serviceTier, 'flex')
})

test('anthropic-messages: cache writes by lifetime, uses of tools, service tier and fast mode are read', () => {
  const wire = {
    input_tokens: 10,
    cache_read_input_tokens: 20,
    cache_creation_input_tokens: 300,
    cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
    output_tokens: 5,
    server_tool_use: { web_search_requests: 2, web_fetch_requests: 0 },
    service_tier: 'priority',
  }
  assert.deepEqual(anthropicUsageOf(readCounts(wire)), {
    promptTokens: 330,
    completionTokens: 5,
    cachedTokens: 20,
    cacheWriteTokens: 300,
    cacheWrite1hTokens: 200,
    serverToolUses: { web_search: 2 },
    serviceTier: 'priority',
  })
  const plain = { input_tokens: 1, output_tokens: 1, service_tier: 'standard' }
  assert.deepEqual(anthropicUsageOf(readCounts(plain)), { promptTokens: 1, completionTokens: 1 })
  assert.equal(anthropicUsageOf(readCounts({ ...plain, speed: 'fast' }))?.serviceTier, 'fast')
})

test('gemini: modalities of prompt, cache, tool results and candidates are read, thoughts are within the output', () => {
  const tokens = (modality: string, tokenCount: number) => ({ modality, tokenCount })
  const wire = {
    promptTokenCount: 1000,
    promptTokensDetails: [tokens('TEXT', 600), tokens('AUDIO', 400)],
    cachedContentTokenCount: 300,
    cacheTokensDetails: [tokens('TEXT', 200), tokens('AUDIO', 100)],
    toolUsePromptTokenCount: 50,
    toolUsePromptTokensDetails: [tokens('AUDIO', 5), tokens('TEXT', 45)],
    candidatesTokenCount: 1300,
    candidatesTokensDetails: [tokens('IMAGE', 1290), tokens('AUDIO', 4), tokens('TEXT', 6)],
    thoughtsTokenCount: 70,
    trafficType: 'ON_DEMAND_PRIORITY',
  }
  assert.deepEqual(parseGemini(wire, true), {
    promptTokens: 1050,
    completionTokens: 1370,
    cachedTokens: 300,
    reasoningTokens: 70,
    audioInputTokens: 405,
    cachedAudioTokens: 100,
    audioOutputTokens: 4,
    imageOutputTokens: 1290,
    serviceTier: 'priority',
  })
  const tierOf = (fields: object) => parseGemini({ promptTokenCount: 1, ...fields }, true)?.serviceTier
  assert.deepEqual(
    [{ trafficType: 'ON_DEMAND' }, { serviceTier: 'standard' }, { serviceTier: 'FLEX' }, { trafficType: 1 }].map(
      tierOf,
    ),
    [undefined, undefined, 'flex', undefined],
  )
  assert.equal(tierOf({ trafficType: 'PROVISIONED_THROUGHPUT' }), 'provisioned_throughput')
})

test('bedrock-converse: cache writes by lifetime and the service tier are read', () => {
  const wire = {
    inputTokens: 10,
    outputTokens: 5,
    cacheReadInputTokens: 0,
    cacheWriteInputTokens: 600,
    cacheDetails: [
      { ttl: '5m', inputTokens: 100 },
      { ttl: '1h', inputTokens: 200 },
      { ttl: '12h', inputTokens: 300 },
    ],
  }
  assert.deepEqual(parseBedrock(wire, { type: 'flex' }), {
    promptTokens: 610,
    completionTokens: 5,
    cachedTokens: 0,
    cacheWriteTokens: 600,
    cacheWrite1hTokens: 200,
    cacheWrite12hTokens: 300,
    serviceTier: 'flex',
  })
  assert.equal(parseBedrock(wire, { type: 'default' })?.serviceTier, undefined)
})
