import type { ForwardedFields } from '../protocols/body-fields.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { openaiCompletions } from '../protocols/openai-completions.ts'
import { openaiEmbeddings } from '../protocols/openai-embeddings.ts'
import { rerank } from '../protocols/rerank.ts'
import { bearer, type Provider } from './provider.ts'

const SOURCE = {
  url: 'https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md',
  read: '2026-11-29',
}

const FORWARDS: ForwardedFields = {
  fields: [
    'top_k',
    'min_p',
    'top_n_sigma',
    'typical_p',
    'dynatemp_range',
    'dynatemp_exponent',
    'repeat_penalty',
    'repeat_last_n',
    'dry_multiplier',
    'dry_base',
    'dry_allowed_length',
    'dry_penalty_last_n',
    'dry_sequence_breakers',
    'xtc_probability',
    'xtc_threshold',
    'mirostat',
    'mirostat_tau',
    'mirostat_eta',
    'samplers',
    'grammar',
    'json_schema',
    'ignore_eos',
    'n_probs',
    'post_sampling_probs',
    'min_keep',
    'n_keep',
    'n_indent',
    'n_cache_reuse',
    'cache_prompt',
    'id_slot',
    't_max_predict_ms',
    'lora',
    'return_tokens',
    'timings_per_token',
    'return_progress',
    'sse_ping_interval',
    'reasoning_format',
    'chat_template_kwargs',
  ],
  source: SOURCE,
}

/** Runs on one's own machine. Tools and reasoning depend on the chat template of the model. */
export const llamaCpp: Provider = {
  id: 'llama-cpp',
  name: 'llama.cpp',
  baseUrl: 'http://127.0.0.1:8080/v1',
  protocol: openaiChat({
    maxStops: 64,
    serviceTiers: {},
    toolChoices: ['none', 'required'],
    dropped: ['user', 'metadata', 'store', 'prediction'],
    refused: ['modalities'],
    refusedParts: ['file'],
    forwards: FORWARDS,
  }),
  tasks: {
    completion: openaiCompletions({ maxStops: 64, forwards: FORWARDS }),
    embedding: openaiEmbeddings({ tokenIds: true }),
    rerank: rerank(),
  },
  authorize: bearer,
  source: SOURCE,
}
