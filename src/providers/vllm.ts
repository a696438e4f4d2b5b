import type { ForwardedFields } from '../protocols/body-fields.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import { openaiCompletions } from '../protocols/openai-completions.ts'
import { openaiEmbeddings } from '../protocols/openai-embeddings.ts'
import { rerank } from '../protocols/rerank.ts'
import { bearer, type Provider } from './provider.ts'

const FORWARDS: ForwardedFields = {
  fields: [
    'top_k',
    'min_p',
    'repetition_penalty',
    'length_penalty',
    'stop_token_ids',
    'include_stop_str_in_output',
    'ignore_eos',
    'min_tokens',
    'skip_special_tokens',
    'spaces_between_special_tokens',
    'truncate_prompt_tokens',
    'prompt_logprobs',
    'allowed_token_ids',
    'bad_words',
    'echo',
    'add_generation_prompt',
    'continue_final_message',
    'add_special_tokens',
    'documents',
    'chat_template',
    'chat_template_kwargs',
    'include_reasoning',
    'structured_outputs',
    'guided_json',
    'guided_regex',
    'guided_choice',
    'guided_grammar',
    'guided_decoding_backend',
    'guided_whitespace_pattern',
    'priority',
    'request_id',
    'return_tokens_as_token_ids',
    'return_token_ids',
    'cache_salt',
  ],
  source: { url: 'https://docs.vllm.ai/en/stable/serving/openai_compatible_server/', read: '2026-11-23' },
}

/** Runs on one's own machines. Tools and reasoning depend on the flags the server was started with. */
export const vllm: Provider = {
  id: 'vllm',
  name: 'vLLM',
  baseUrl: 'http://127.0.0.1:8000/v1',
  protocol: openaiChat({
    maxStops: 64,
    reasoningField: 'reasoning',
    serviceTiers: {},
    dropped: ['metadata', 'store', 'prediction'],
    forwards: FORWARDS,
  }),
  tasks: {
    completion: openaiCompletions({ maxStops: 64, forwards: FORWARDS }),
    embedding: openaiEmbeddings({
      tokenIds: true,
      user: true,
      forwards: {
        fields: ['truncate_prompt_tokens', 'add_special_tokens', 'priority', 'request_id'],
        source: { url: 'https://docs.vllm.ai/en/stable/serving/openai_compatible_server/', read: '2026-11-23' },
      },
    }),
    rerank: rerank(),
  },
  authorize: bearer,
  source: { url: 'https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html', read: '2026-11-20' },
}
