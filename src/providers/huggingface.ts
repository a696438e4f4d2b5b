import { openaiChat } from '../protocols/openai-chat/index.ts'
import { bearer, type Provider } from './provider.ts'

/** A router over many hosts; a model's name may end in the host's, after a colon. */
export const huggingface: Provider = {
  id: 'huggingface',
  name: 'Hugging Face',
  baseUrl: 'https://router.huggingface.co/v1',
  apiKeyVariable: 'HF_TOKEN',
  protocol: openaiChat({
    severalChoices: false,
    reasoningEfforts: { max: 'xhigh' },
    dropped: ['user', 'metadata', 'store', 'prediction'],
    refused: ['logit_bias', 'modalities'],
    serviceTiers: {},
    forwards: {
      fields: ['top_k', 'min_p', 'repetition_penalty', 'chat_template_kwargs'],
      source: { url: 'https://huggingface.co/docs/inference-providers/tasks/chat-completion', read: '2026-11-23' },
    },
  }),
  authorize: bearer,
  source: { url: 'https://huggingface.co/docs/inference-providers/tasks/chat-completion', read: '2026-11-20' },
}
