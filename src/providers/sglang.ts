import type { ForwardedFields } from '../protocols/body-fields.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { openaiCompletions } from '../protocols/openai-completions.ts'
import { openaiEmbeddings } from '../protocols/openai-embeddings.ts'
import { bearer, type Provider } from './provider.ts'

/** Read from the server's request model, which has more fields than its guides. */
const SOURCE = {
  url: 'https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/entrypoints/openai/protocol.py',
  read: '2026-11-29',
}

/** Fields that select a worker, a session or a host of the cluster are left to the operator. */
const FORWARDS: ForwardedFields = {
  fields: [
    'top_k',
    'min_p',
    'min_tokens',
    'repetition_penalty',
    'regex',
    'ebnf',
    'stop_token_ids',
    'stop_regex',
    'no_stop_trim',
    'ignore_eos',
    'skip_special_tokens',
    'continue_final_message',
    'chat_template_kwargs',
    'separate_reasoning',
    'stream_reasoning',
    'lora_path',
    'custom_logit_processor',
    'custom_params',
    'max_dynamic_patch',
    'min_dynamic_patch',
    'use_audio_in_video',
    'return_token_ids',
    'return_prompt_token_ids',
    'rid',
    'cache_salt',
    'priority',
  ],
  source: SOURCE,
}

/** Runs on one's own machines. Tools and reasoning depend on the parsers the server was started with. */
export const sglang: Provider = {
  id: 'sglang',
  name: 'SGLang',
  baseUrl: 'http://127.0.0.1:30000/v1',
  protocol: openaiChat({
    maxStops: 64,
    serviceTiers: {},
    dropped: ['metadata', 'store', 'prediction'],
    refused: ['modalities'],
    refusedParts: ['input_audio', 'file'],
    forwards: FORWARDS,
  }),
  tasks: {
    completion: openaiCompletions({ maxStops: 64, forwards: FORWARDS }),
    embedding: openaiEmbeddings({ tokenIds: true, user: true }),
  },
  authorize: bearer,
  source: SOURCE,
}
